"""Unsigned 64-bit integers in order: where ONNX Runtime orders signed ones alone, those stand for them."""

from typing import Any

import numpy as np

from couplax.export._context import Context
from couplax.export._types import type_of

_MIDDLE = np.iinfo(np.int64).min


def as_ordered(context: Context, value: Any) -> Any:
    """Returns 64-bit unsigned integers as signed ones in the same order; anything else as it is."""
    if type_of(value).dtype != np.uint64:
        return value
    return context.op("Add", context.cast(value, np.int64), context.constant(_MIDDLE, np.int64))


def from_ordered(context: Context, value: Any, dtype: np.dtype) -> Any:
    """Returns what `as_ordered` made, or a part of it, in `dtype` again."""
    if dtype == np.uint64:
        value = context.op("Add", value, context.constant(_MIDDLE, np.int64))
    return context.cast(value, dtype)
