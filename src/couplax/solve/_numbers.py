"""Values as few words: a number as it is, a short array element by element, a long one by what it spans."""

from typing import Any

import jax
import jax.core
import numpy as np

_SHOWN = 8


def text_of(value: Any, digits: int = 12) -> str:
    """Returns `value` in one line.

    Args:
        value: an array, a number, a tracer, or a pytree of them.
        digits: how many significant digits numbers have; arrays have half as many.
    """
    leaves = jax.tree.leaves_with_path(value)
    if len(leaves) == 1 and leaves[0][1] is value:
        return _leaf(value, digits)
    return ", ".join(f"{jax.tree_util.keystr(path)} {_leaf(leaf, digits)}" for path, leaf in leaves) or "none"


def _leaf(value: Any, digits: int) -> str:
    if isinstance(value, jax.core.Tracer):
        return str(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc" or array.size == 0:
        return str(value)
    if array.ndim == 0:
        return number(array[()], digits)
    if array.size <= _SHOWN:
        return np.array2string(array, precision=digits // 2, separator=" ", max_line_width=10_000).replace(
            "\n", ""
        )
    return f"{array.dtype.name}[{','.join(map(str, array.shape))}] {span(array)}"


def number(value: Any, digits: int) -> str:
    """Returns one number with `digits` significant digits."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.{digits}g}"
    if isinstance(value, complex | np.complexfloating):
        return f"{complex(value):.{digits}g}"
    return str(value)


def span(array: np.ndarray[Any, Any]) -> str:
    """Returns the least and the greatest element, and how many are NaN or infinite."""
    if array.dtype.kind == "b":
        return f"{int(array.sum())} true"
    finite = np.isfinite(array)
    good = np.abs(array[finite]) if array.dtype.kind == "c" else array[finite]
    missing = array.size - good.size
    odd = f"{missing} of {array.size} NaN or infinite" if missing else ""
    if not good.size:
        return odd
    sizes = "absolute, " if array.dtype.kind == "c" else ""
    spanned = f"{sizes}min {number(good.min(), 6)}, max {number(good.max(), 6)}"
    return f"{spanned}, {odd}" if odd else spanned


def is_finite(value: Any) -> bool:
    """Returns whether no number in `value`, a pytree, is NaN or infinite."""
    return all(_leaf_is_finite(leaf) for leaf in jax.tree.leaves(value))


def _leaf_is_finite(leaf: Any) -> bool:
    if isinstance(leaf, jax.core.Tracer):
        return True
    array = np.asarray(leaf)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
