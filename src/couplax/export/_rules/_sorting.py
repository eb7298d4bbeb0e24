"""Sorting, and the largest elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from couplax._sizes import is_symbolic
from couplax.export._context import Context
from couplax.export._rules._order import as_ordered, from_ordered
from couplax.export._table import rule_for
from couplax.export._types import TensorType, type_of


@rule_for("sort")
def _sort(context: Context, *values: Any, dimension: int, is_stable: bool, num_keys: int) -> Sequence[Any]:
    """Returns `values` in the order of the first `num_keys` of them.

    The last key is sorted by first; every sort keeps the order of what is equal.
    """
    size = type_of(values[0]).shape[dimension]
    if not is_symbolic(size) and size < 2:
        return values
    for key in reversed(range(num_keys)):
        keys, order = _ordered(context, values[key], dimension)
        values = tuple(
            keys if k == key else _taken(context, value, order, dimension) for k, value in enumerate(values)
        )
    return values


def _ordered(
    context: Context, key: Any, axis: int, count: int | None = None, largest: int = 0
) -> tuple[Any, Any]:
    """Returns the first `count` of `key` in order, and where they stood; NaN come last, equals in order."""
    dtype = type_of(key).dtype
    shape = list(type_of(key).shape)
    shape[axis] = shape[axis] if count is None else count
    wide = context.carried("TopK", as_ordered(context, key))
    outputs = [TensorType(type_of(wide).dtype, tuple(shape)), TensorType(np.dtype(np.int64), tuple(shape))]
    found, order = context.ops(
        "TopK", wide, context.sizes([shape[axis]]), outputs=outputs, axis=axis, largest=largest, sorted=1
    )
    return from_ordered(context, found, dtype), order


def _taken(context: Context, value: Any, order: Any, axis: int) -> Any:
    return context.op("GatherElements", value, order, axis=axis, shape=type_of(order).shape)


@rule_for("top_k")
def _top_k(context: Context, value: Any, k: int, axis: int, is_stable: bool = True) -> Sequence[Any]:
    values, places = _ordered(context, value, axis, count=k, largest=1)
    return [values, context.cast(places, context.outs[1].dtype)]
