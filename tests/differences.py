"""How far the numbers of a program that went out are from those of JAX."""

import jax.numpy as jnp
import numpy as np


def difference(came: np.ndarray, wanted: np.ndarray, tolerance: float, *, whole: bool = False) -> str:
    """Returns where `came` is not `wanted` to `tolerance` of its size; nothing where it is.

    Args:
        whole: the size is that of the largest number, not of each.
    """
    if (came.dtype, came.shape) != (wanted.dtype, wanted.shape):
        return f"{came.dtype}{came.shape}, JAX {wanted.dtype}{wanted.shape}"
    floats = jnp.issubdtype(wanted.dtype, jnp.floating)
    wrong = _apart(came, wanted, tolerance, whole) if floats else came != wanted
    return "; ".join(
        f"at {np.argwhere(wrong)[k]}: {came[wrong][k]!r}, JAX {wanted[wrong][k]!r}"
        for k in range(min(4, wrong.sum()))
    )


def _apart(came: np.ndarray, wanted: np.ndarray, tolerance: float, whole: bool) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(wanted)
        if whole:
            size = np.max(size, where=np.isfinite(size), initial=0)
        # JAX on the CPU flushes subnormal numbers to zero; ONNX Runtime keeps them.
        near = np.abs(came - wanted) <= tolerance * size + 2 * jnp.finfo(wanted.dtype).tiny
        same = (came == wanted) | (np.isnan(came) & np.isnan(wanted)) | near
    return ~same | (np.isinf(wanted) & (came != wanted))
