"""Equality of values that may hold arrays."""

from typing import Any

import jax
import jax.core
import numpy as np


def same(left: Any, right: Any) -> bool:
    """Returns whether two values, or trees of values, are equal; arrays by shape, dtype and content."""
    if left is right:
        return True
    left_leaves, left_tree = jax.tree.flatten(left)
    right_leaves, right_tree = jax.tree.flatten(right)
    return left_tree == right_tree and all(map(_same_leaf, left_leaves, right_leaves))


def _same_leaf(left: Any, right: Any) -> bool:
    """Returns whether two leaves are equal; an abstract array equals only itself."""
    if left is right:
        return True
    if _is_concrete(left) and _is_concrete(right):
        return _same_array(left, right)
    if isinstance(left, jax.Array | np.ndarray) or isinstance(right, jax.Array | np.ndarray):
        return False
    # `1`, `1.0` and `True` are equal in Python, and arrays of different dtypes in JAX.
    return type(left) is type(right) and (bool(left == right) or _both_nan(left, right))


def _is_concrete(value: Any) -> bool:
    """Returns whether `value` is an array whose numbers can be read."""
    if isinstance(value, jax.core.Tracer):
        return False
    # The dtype of an array of random keys is no numpy dtype.
    return isinstance(value, np.ndarray | np.generic | jax.Array) and isinstance(value.dtype, np.dtype)


def _same_array(left: Any, right: Any) -> bool:
    """Returns whether two arrays hold the same bytes under the same struct."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return np.asarray(left).tobytes() == np.asarray(right).tobytes()


def _both_nan(left: Any, right: Any) -> bool:
    """Returns whether both are not a number, which equals nothing, not even itself."""
    return bool(left != left) and bool(right != right)
