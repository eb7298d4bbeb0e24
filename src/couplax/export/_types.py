"""The types of values, as the rules speak of them."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from couplax._tree import describe


@dataclass(frozen=True, slots=True)
class TensorType:
    """The dtype and shape of a value."""

    dtype: np.dtype
    shape: tuple[int, ...]


def type_of(value: Any) -> TensorType:
    """Returns the dtype and shape of `value`, an `onnx_ir.Value`; every value written here has both."""
    return TensorType(np.dtype(value.dtype.numpy()), tuple(int(size) for size in value.shape))


def tensor_type(aval: Any) -> TensorType:
    """Returns the type of the values of `aval`."""
    return TensorType(np.dtype(aval.dtype), tuple(aval.shape))


def is_plain(aval: Any) -> bool:
    """Returns whether `aval` is of numbers that ONNX Runtime computes with: not complex, not bfloat16."""
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def describe_aval(aval: Any) -> str:
    """Returns `aval` as one word, such as `float64[3]`."""
    return describe(jax.ShapeDtypeStruct(aval.shape, aval.dtype)) if is_plain(aval) else str(aval).lstrip("~")
