"""Indexing with indices that only a run gives.

ONNX Runtime raises where an index is out of range; JAX clips the index, drops the update or fills the
element. So every index is clipped here, and what JAX drops or fills is masked.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from couplax._sizes import Size, is_open, is_symbolic
from couplax.export._context import Context
from couplax.export._rules._shape import concatenate, count_up
from couplax.export._table import rule_for
from couplax.export._types import count_of, type_of


@rule_for("dynamic_slice")
def _dynamic_slice(context: Context, value: Any, *starts: Any, slice_sizes: Sequence[int]) -> Any:
    sizes = type_of(value).shape
    axes = [axis for axis, size in enumerate(sizes) if slice_sizes[axis] != size]
    if not axes:
        return value
    if len(axes) == 1 and slice_sizes[axes[0]] == 1:
        return _element(context, value, starts[axes[0]], axes[0])
    begin = _clipped_starts(context, starts, [sizes[axis] - slice_sizes[axis] for axis in axes], axes)
    lengths = context.sizes([slice_sizes[axis] for axis in axes])
    places = context.constant(axes, np.int64)
    return context.op("Slice", value, begin, context.op("Add", begin, lengths), places, shape=slice_sizes)


def _element(context: Context, value: Any, start: Any, axis: int) -> Any:
    """Returns the one slice at `start`, its axis put back; a `squeeze` that follows takes it away again."""
    sizes = type_of(value).shape
    index = clipped(context, _as_index(context, start), sizes[axis] - 1)
    found = context.op("Gather", value, index, shape=[*sizes[:axis], *sizes[axis + 1 :]], axis=axis)
    return context.reshape(found, [*sizes[:axis], 1, *sizes[axis + 1 :]])


def _clipped_starts(
    context: Context, starts: Sequence[Any], limits: Sequence[Size], axes: Sequence[int]
) -> Any:
    """Returns the starts along `axes` as one int64 vector, each clipped to 0..limit as JAX does."""
    columns = [context.reshape(context.cast(starts[axis], np.int64), [1]) for axis in axes]
    return clipped(context, concatenate(context, columns, 0), limits)


def clipped(context: Context, index: Any, limit: Size | Sequence[Size]) -> Any:
    """Returns `index` clipped to 0..limit."""
    array = context.known(index)
    sizes = [limit] if is_symbolic(limit) or isinstance(limit, int) else list(limit)
    if array is not None and not is_open(sizes):
        return context.constant(np.clip(array, 0, limit).astype(array.dtype))
    if array is not None and not np.any(array):
        return index
    return context.op(
        "Min", context.op("Max", index, context.like(index, 0)), _limits(context, index, limit, sizes)
    )


def _limits(context: Context, index: Any, limit: Any, sizes: Sequence[Size]) -> Any:
    """Returns the largest index in the dtype of `index`, one number or a vector as `limit` is."""
    if not is_open(sizes):
        return context.like(index, limit)
    found = context.sizes(sizes) if isinstance(limit, Sequence) else context.size(limit)
    return context.cast(found, type_of(index).dtype)


def _as_index(context: Context, index: Any) -> Any:
    return index if type_of(index).dtype.name in ("int32", "int64") else context.cast(index, np.int64)


@rule_for("dynamic_update_slice")
def _dynamic_update_slice(context: Context, value: Any, update: Any, *starts: Any) -> Any:
    sizes, parts = type_of(value).shape, type_of(update).shape
    axes = [axis for axis, size in enumerate(sizes) if parts[axis] != size]
    if not axes:
        return update
    if 0 in parts:
        return value
    begin = _clipped_starts(context, starts, [sizes[axis] - parts[axis] for axis in axes], axes)
    if axes == [0]:
        rows = context.op("Add", begin, count_up(context, parts[0]))
        return context.op("ScatterND", value, context.reshape(rows, [parts[0], 1]), update, shape=sizes)
    places = _flat_places(context, begin, sizes, parts, axes)
    return scatter_flat(context, value, places, update, "none")


def _flat_places(
    context: Context, begin: Any, sizes: Sequence[int], parts: Sequence[int], axes: Sequence[int]
) -> Any:
    """Returns where each element of a part lies in the flattened whole."""
    step = steps(sizes)
    moved = context.op("Mul", begin, context.sizes([step[axis] for axis in axes]))
    first = context.op("ReduceSum", moved, context.constant([0]), shape=(), keepdims=0)
    return context.op("Add", offsets(context, parts, step), first)


def steps(sizes: Sequence[Size]) -> list[Size]:
    """Returns how far apart neighbours along each axis lie in the flattened array."""
    return [count_of(sizes[axis + 1 :]) for axis in range(len(sizes))]


def offsets(context: Context, parts: Sequence[Size], weights: Sequence[Size]) -> Any:
    """Returns for each element of an array of shape `parts` the sum of its indices times `weights`."""
    if not is_open((*parts, *weights)):
        return context.constant(_known_offsets(parts, weights))
    result = context.constant(0)
    for axis, (size, weight) in enumerate(zip(parts, weights, strict=True)):
        along = context.op("Mul", count_up(context, size), context.size(weight))
        column = context.reshape(along, [size, *[1] * (len(parts) - axis - 1)])
        result = context.op("Add", result, column)
    return result


def _known_offsets(parts: Sequence[int], weights: Sequence[int]) -> np.ndarray:
    grids = np.indices(parts, dtype=np.int64)
    return (
        np.tensordot(np.asarray(weights, np.int64), grids, axes=1) if len(parts) else np.zeros((), np.int64)
    )


def scatter_flat(context: Context, value: Any, places: Any, updates: Any, reduction: str) -> Any:
    """Returns `value` with `updates` put at `places` of its flattened elements."""
    sizes, count, dtype = type_of(value).shape, count_of(type_of(updates).shape), type_of(value).dtype
    if dtype == np.float16 and reduction != "none":
        # ONNX Runtime has no kernel for it in half precision.
        value, updates = context.cast(value, np.float32), context.cast(updates, np.float32)
    flat = context.reshape(value, [count_of(sizes)])
    parts = context.reshape(places, [count]), context.reshape(updates, [count])
    # Elements are put one after the other, so that those put at one place add up.
    done = context.op("ScatterElements", flat, *parts, shape=type_of(flat).shape, axis=0, reduction=reduction)
    return context.cast(context.reshape(done, sizes), dtype)
