"""Indexing with indices that only a run gives.

ONNX Runtime raises where an index is out of range; JAX clips the index, drops the update or fills the
element. So every index is clipped here, and what JAX drops or fills is masked.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from couplax.export._context import Context
from couplax.export._rules._shape import concatenate
from couplax.export._table import rule_for
from couplax.export._types import type_of


@rule_for("dynamic_slice")
def _dynamic_slice(context: Context, value: Any, *starts: Any, slice_sizes: Sequence[int]) -> Any:
    sizes = type_of(value).shape
    axes = [axis for axis, size in enumerate(sizes) if slice_sizes[axis] < size]
    if not axes:
        return value
    if len(axes) == 1 and slice_sizes[axes[0]] == 1:
        return _element(context, value, starts[axes[0]], axes[0])
    begin = _clipped_starts(context, starts, [sizes[axis] - slice_sizes[axis] for axis in axes], axes)
    lengths = context.constant([slice_sizes[axis] for axis in axes], np.int64)
    places = context.constant(axes, np.int64)
    return context.op("Slice", value, begin, context.op("Add", begin, lengths), places, shape=slice_sizes)


def _element(context: Context, value: Any, start: Any, axis: int) -> Any:
    """Returns the one slice at `start`, its axis put back; a `squeeze` that follows takes it away again."""
    sizes = type_of(value).shape
    index = clipped(context, _as_index(context, start), sizes[axis] - 1)
    found = context.op("Gather", value, index, shape=[*sizes[:axis], *sizes[axis + 1 :]], axis=axis)
    return context.reshape(found, [*sizes[:axis], 1, *sizes[axis + 1 :]])


def _clipped_starts(
    context: Context, starts: Sequence[Any], limits: Sequence[int], axes: Sequence[int]
) -> Any:
    """Returns the starts along `axes` as one int64 vector, each clipped to 0..limit as JAX does."""
    columns = [context.reshape(context.cast(starts[axis], np.int64), [1]) for axis in axes]
    return clipped(context, concatenate(context, columns, 0), limits)


def clipped(context: Context, index: Any, limit: Any) -> Any:
    """Returns `index` clipped to 0..limit."""
    array = context.known(index)
    if array is not None:
        return context.constant(np.clip(array, 0, limit).astype(array.dtype))
    return context.op("Min", context.op("Max", index, context.like(index, 0)), context.like(index, limit))


def _as_index(context: Context, index: Any) -> Any:
    return index if type_of(index).dtype.name in ("int32", "int64") else context.cast(index, np.int64)


@rule_for("dynamic_update_slice")
def _dynamic_update_slice(context: Context, value: Any, update: Any, *starts: Any) -> Any:
    sizes, parts = type_of(value).shape, type_of(update).shape
    axes = [axis for axis, size in enumerate(sizes) if parts[axis] < size]
    if not axes:
        return update
    if 0 in parts:
        return value
    begin = _clipped_starts(context, starts, [sizes[axis] - parts[axis] for axis in axes], axes)
    if axes == [0]:
        rows = context.op("Add", begin, context.constant(np.arange(parts[0])))
        return context.op("ScatterND", value, context.reshape(rows, [parts[0], 1]), update, shape=sizes)
    places = _flat_places(context, begin, sizes, parts, axes)
    return scatter_flat(context, value, places, update, "none")


def _flat_places(
    context: Context, begin: Any, sizes: Sequence[int], parts: Sequence[int], axes: Sequence[int]
) -> Any:
    """Returns where each element of a part lies in the flattened whole."""
    step = steps(sizes)
    moved = context.op("Mul", begin, context.constant([step[axis] for axis in axes]))
    first = context.op("ReduceSum", moved, context.constant([0]), shape=(), keepdims=0)
    return context.op("Add", context.constant(offsets(parts, step)), first)


def steps(sizes: Sequence[int]) -> list[int]:
    """Returns how far apart neighbours along each axis lie in the flattened array."""
    return [int(np.prod(sizes[axis + 1 :], dtype=np.int64)) for axis in range(len(sizes))]


def offsets(parts: Sequence[int], weights: Sequence[int]) -> np.ndarray:
    """Returns for each element of an array of shape `parts` the sum of its indices times `weights`."""
    grids = np.indices(parts, dtype=np.int64)
    return (
        np.tensordot(np.asarray(weights, np.int64), grids, axes=1) if len(parts) else np.zeros((), np.int64)
    )


def flat_size(sizes: Sequence[int]) -> int:
    """Returns the number of elements of an array."""
    return int(np.prod(sizes, dtype=np.int64))


def scatter_flat(context: Context, value: Any, places: Any, updates: Any, reduction: str) -> Any:
    """Returns `value` with `updates` put at `places` of its flattened elements."""
    sizes, count = type_of(value).shape, flat_size(type_of(updates).shape)
    flat = context.reshape(value, [flat_size(sizes)])
    parts = context.reshape(places, [count]), context.reshape(updates, [count])
    # Elements are put one after the other, so that those put at one place add up.
    done = context.op("ScatterElements", flat, *parts, shape=type_of(flat).shape, axis=0, reduction=reduction)
    return context.reshape(done, sizes)
