"""The types of values, as the rules speak of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._sizes import Size, is_open, is_symbolic
from couplax._tree import describe


@dataclass(frozen=True, slots=True)
class TensorType:
    """The dtype and shape of a value; a size may be one of JAX's that is open until the file runs."""

    dtype: np.dtype
    shape: tuple[Any, ...]


OPEN_SHAPE = "couplax.shape"
"""Where an `onnx_ir.Value` of open sizes keeps them as JAX has them: in its `meta`."""


def type_of(value: Any) -> TensorType:
    """Returns the dtype and shape of `value`, an `onnx_ir.Value`; every value written here has both."""
    shape = value.meta.get(OPEN_SHAPE) or tuple(int(size) for size in value.shape)
    return TensorType(np.dtype(value.dtype.numpy()), shape)


def broadcast_shapes(*shapes: Sequence[Size]) -> tuple[Size, ...]:
    """Returns the shape that all of `shapes` broadcast to.

    Raises:
        ValueError: there is none.
    """
    if not any(map(is_open, shapes)):
        return np.broadcast_shapes(*map(tuple, shapes))
    rank = max(map(len, shapes))
    return tuple(
        map(
            _broadcast_size,
            zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True),
        )
    )


def _broadcast_size(sizes: Sequence[Size]) -> Size:
    wide = [size for size in sizes if is_symbolic(size) or size != 1]
    if any(size != wide[0] for size in wide[1:]):
        raise ValueError(f"the sizes {', '.join(map(str, wide))} do not broadcast")
    return wide[0] if wide else 1


def count_of(shape: Sequence[Size]) -> Size:
    """Returns the number of elements of an array of `shape`."""
    return prod(shape) if is_open(shape) else int(np.prod(shape, dtype=np.int64))


def tensor_type(aval: Any) -> TensorType:
    """Returns the type of the values of `aval`."""
    return TensorType(np.dtype(aval.dtype), tuple(aval.shape))


def is_plain(aval: Any) -> bool:
    """Returns whether `aval` is of numbers that ONNX Runtime computes with: not complex, not bfloat16."""
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def is_bfloat16(aval: Any) -> bool:
    """Returns whether `aval` is of numbers that ONNX Runtime keeps, and computes with in float32."""
    return getattr(aval, "dtype", None) == jnp.bfloat16


def describe_aval(aval: Any) -> str:
    """Returns `aval` as one word, such as `float64[3]`."""
    return (
        describe(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        if is_plain(aval) or is_bfloat16(aval)
        else str(aval).lstrip("~")
    )
