"""How far the numbers of a program that went out are from those of JAX."""

import numpy as np


def difference(came: np.ndarray, wanted: np.ndarray, tolerance: float) -> str:
    """Returns how far `came` is from `wanted`, where that is more than `tolerance` of the largest number."""
    if (came.dtype, came.shape) != (wanted.dtype, wanted.shape):
        return f"{came.dtype}{came.shape}, JAX {wanted.dtype}{wanted.shape}"
    finite = np.isfinite(wanted)
    if not np.array_equal(came[~finite], wanted[~finite], equal_nan=True):
        return f"{came}, JAX {wanted}: other places are not finite"
    if not np.issubdtype(wanted.dtype, np.floating):
        return "" if np.array_equal(came, wanted) else f"{came}, JAX {wanted}"
    size = np.max(np.abs(wanted), where=finite, initial=0)
    error = np.max(np.abs(came[finite] - wanted[finite]), initial=0)
    return (
        "" if error <= tolerance * size else f"error {error:.1e} of {size:.1e}, allowed {tolerance:.0e} of it"
    )
