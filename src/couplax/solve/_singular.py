"""What a singular Jacobian says: which unknown, which residual, or which of them together."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from couplax._errors import quoted

_LARGE_PART = 0.1
_SHOWN = 5


def singular_parts(
    jacobian: Float[np.ndarray, "residuals unknowns"], unknowns: Sequence[str], residuals: Sequence[str]
) -> str:
    """Returns one sentence on why a Jacobian is singular, naming unknowns and residuals.

    It names columns and rows that are zero or not finite; where there are none, the unknowns along which no
    residual changes and the residuals that a combination makes constant: the large parts of the vectors that
    belong to the smallest singular values.

    Args:
        unknowns: a name for each column, such as `y_2` or `w[3]`.
        residuals: a name for each row.
    """
    matrix = np.asarray(jacobian, float)
    is_finite = np.isfinite(matrix)
    if not is_finite.all():
        return _not_finite(~is_finite, unknowns, residuals)
    columns = _names(unknowns, ~np.any(matrix, axis=0))
    rows = _names(residuals, ~np.any(matrix, axis=1))
    parts = [f"no residual depends on {_some(columns, 'unknown')}"] if columns else []
    parts += [f"{_some(rows, 'residual')} depends on no unknown"] if rows else []
    return " and ".join(parts) if parts else _dependent(matrix, unknowns, residuals)


def _not_finite(
    flaws: Float[np.ndarray, "residuals unknowns"], unknowns: Sequence[str], residuals: Sequence[str]
) -> str:
    columns, rows = _names(unknowns, np.any(flaws, axis=0)), _names(residuals, np.any(flaws, axis=1))
    return (
        f"the derivative of {_some(rows, 'residual')} with respect to {_some(columns, 'unknown')} is "
        "infinite or NaN"
    )


def _dependent(
    matrix: Float[np.ndarray, "residuals unknowns"], unknowns: Sequence[str], residuals: Sequence[str]
) -> str:
    # Units differ from row to row and from column to column: only equilibrated are they comparable.
    scaled = matrix / np.abs(matrix).max(axis=1, keepdims=True)
    widths = np.abs(scaled).max(axis=0, keepdims=True)
    left, values, right = np.linalg.svd(scaled / widths)
    null = values <= max(matrix.shape) * np.finfo(float).eps * values[0] * 10
    null[-1] = True
    columns = _names(unknowns, _large(right[null].T))
    rows = _names(residuals, _large(left[:, null]))
    return (
        f"to first order no residual changes along a combination of {_some(columns, 'unknown')}: the "
        f"equations of {_some(rows, 'residual')} are dependent"
    )


def _large(vectors: Float[np.ndarray, "entries vectors"]) -> np.ndarray:
    sizes = np.linalg.norm(vectors, axis=1)
    return sizes > _LARGE_PART * sizes.max()


def _names(names: Sequence[str], chosen: np.ndarray) -> list[str]:
    return [name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]


def _some(names: Sequence[str], kind: str) -> str:
    """Returns the kind and the names, the first five of them where there are more."""
    more = len(names) - _SHOWN
    plural = "" if len(names) == 1 else "s"
    return f"{kind}{plural} {quoted(names[:_SHOWN])}" + (f" and {more} more" if more > 0 else "")
