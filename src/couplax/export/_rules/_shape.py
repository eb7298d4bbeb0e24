"""Rules that move numbers about: shapes, axes, parts and joins, at places known beforehand."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from couplax._sizes import Size, is_symbolic
from couplax.export._context import Context
from couplax.export._table import rule_for
from couplax.export._types import type_of


@rule_for("broadcast_in_dim", broadcasts=True)
def _broadcast_in_dim(
    context: Context,
    value: Any,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    sharding: None = None,
) -> Any:
    """Returns `value` with its axes where they belong; what is left to broadcast, broadcasts by itself."""
    sizes = type_of(value).shape
    axes = broadcast_dimensions[len(broadcast_dimensions) - len(sizes) :]
    placed = [1] * len(shape)
    for axis, size in zip(axes, sizes, strict=True):
        placed[axis] = size
    if all(size == 1 for size in sizes):
        return value
    return context.reshape(value, placed[axes[0] :])


@rule_for("reshape", broadcasts=True)
def _reshape(
    context: Context,
    value: Any,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: None = None,
) -> Any:
    if type_of(value).shape == ():
        return value
    value = context.full(value, context.ins[0].shape)
    return context.reshape(value if dimensions is None else context.transpose(value, dimensions), new_sizes)


@rule_for("squeeze", broadcasts=True)
def _squeeze(context: Context, value: Any, dimensions: Sequence[int]) -> Any:
    return _reshape(context, value, context.out.shape)


@rule_for("transpose")
def _transpose(context: Context, value: Any, permutation: Sequence[int]) -> Any:
    return context.transpose(value, permutation)


@rule_for("tile")
def _tile(context: Context, value: Any, reps: Sequence[int]) -> Any:
    return context.op("Tile", value, context.sizes(reps), shape=context.out.shape)


@rule_for("concatenate")
def _concatenate(context: Context, *values: Any, dimension: int) -> Any:
    return concatenate(context, values, dimension)


def concatenate(context: Context, values: Sequence[Any], axis: int) -> Any:
    """Returns `values` joined along `axis`; empty ones are left out."""
    filled = [value for value in values if type_of(value).shape[axis] != 0] or values[:1]
    if len(filled) == 1:
        return filled[0]
    shape = list(type_of(filled[0]).shape)
    shape[axis] = sum(type_of(value).shape[axis] for value in filled)
    return context.op("Concat", *filled, shape=shape, axis=axis)


@rule_for("stack")
def _stack(context: Context, *values: Any, axis: int) -> Any:
    shape = list(context.out.shape)
    shape[axis] = 1
    return concatenate(context, [context.reshape(value, shape) for value in values], axis)


@rule_for("unstack")
def _unstack(context: Context, value: Any, axis: int) -> Sequence[Any]:
    shape = context.outs[0].shape if context.outs else ()
    indices = [context.constant(index, np.int64) for index in range(len(context.outs))]
    return [context.op("Gather", value, index, shape=shape, axis=axis) for index in indices]


@rule_for("split")
def _split(context: Context, value: Any, sizes: Sequence[int], axis: int) -> Sequence[Any]:
    if len(sizes) == 1:
        return [value]
    return context.ops("Split", value, context.sizes(sizes), outputs=context.outs, axis=axis)


@rule_for("slice")
def _slice(
    context: Context,
    value: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
) -> Any:
    steps = strides or [1] * len(start_indices)
    return cut(context, value, start_indices, limit_indices, steps, shape=context.out.shape)


def cut(
    context: Context,
    value: Any,
    starts: Sequence[Size],
    limits: Sequence[Size],
    strides: Sequence[int],
    shape: Sequence[Size] | None = None,
) -> Any:
    """Returns `value[start:limit:stride, ...]`; only the axes that are cut are written.

    Args:
        shape: that of the result, where it is known already.
    """
    sizes = type_of(value).shape
    bounds = list(zip(sizes, starts, limits, strides, strict=True))
    axes = [axis for axis, (size, *bound) in enumerate(bounds) if bound != [0, size, 1]]
    if not axes:
        return value
    if shape is None:
        shape = [max(0, -(-(limit - start) // stride)) for _, start, limit, stride in bounds]
    ends = [[_from_end(bounds[axis][part], bounds[axis][0]) for axis in axes] for part in (1, 2)]
    steps = [int(bounds[axis][3]) for axis in axes]
    parts = [*map(context.sizes, ends), *(context.constant(part, np.int64) for part in (axes, steps))]
    return context.op("Slice", value, *parts, shape=shape)


def _from_end(place: Size, size: Size) -> Size:
    """Returns an open `place` along an axis as ONNX counts it from the axis' end, where that is a number."""
    if not is_symbolic(place):
        return place
    if place == size:
        return np.iinfo(np.int64).max
    distance = place - size
    return place if is_symbolic(distance) else distance


@rule_for("rev")
def _rev(context: Context, value: Any, dimensions: Sequence[int]) -> Any:
    return reverse(context, value, dimensions)


def reverse(context: Context, value: Any, axes: Sequence[int]) -> Any:
    """Returns `value` backwards along `axes`."""
    sizes = type_of(value).shape
    axes = [axis for axis in axes if is_symbolic(sizes[axis]) or sizes[axis] > 1]
    if not axes:
        return value
    count = len(axes)
    first_beyond = np.iinfo(np.int64).min
    parts = ([-1] * count, [first_beyond] * count, axes, [-1] * count)
    arrays = [context.constant(part, np.int64) for part in parts]
    return context.op("Slice", value, *arrays, shape=sizes)


@rule_for("pad")
def _pad(context: Context, value: Any, filling: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    for axis, (_, _, interior) in enumerate(padding_config):
        if interior:
            value = _dilate(context, value, filling, axis, interior)
    sizes = type_of(value).shape
    edges = [(low, high) for low, high, _ in padding_config]
    starts = [max(0, -low) for low, _ in edges]
    limits = [size - max(0, -high) for size, (_, high) in zip(sizes, edges, strict=True)]
    grown = [max(0, low) for low, _ in edges], [max(0, high) for _, high in edges]
    # Padded first: what is cut off may reach into what was padded.
    padded = _padded(context, value, filling, *grown)
    shift = [low for low, _ in zip(grown[0], edges, strict=True)]
    begin = [start if low < 0 else 0 for start, (low, _) in zip(starts, edges, strict=True)]
    end = [
        limit + before if high < 0 else size
        for limit, before, (_, high), size in zip(limits, shift, edges, type_of(padded).shape, strict=True)
    ]
    return cut(context, padded, begin, end, [1] * len(begin))


def _padded(context: Context, value: Any, filling: Any, low: Sequence[int], high: Sequence[int]) -> Any:
    if not any((*low, *high)):
        return value
    sizes = type_of(value).shape
    shape = [size + before + after for size, before, after in zip(sizes, low, high, strict=True)]
    if 0 in sizes:
        return context.full(filling, shape)
    return context.op("Pad", value, context.constant([*low, *high], np.int64), filling, shape=shape)


def _dilate(context: Context, value: Any, filling: Any, axis: int, interior: int) -> Any:
    """Returns `value` with fillings between its elements along `axis`: a new axis is padded and merged."""
    sizes = type_of(value).shape
    if not is_symbolic(sizes[axis]) and sizes[axis] < 2:
        return value
    apart = context.reshape(value, [*sizes[: axis + 1], 1, *sizes[axis + 1 :]])
    nothing, behind = [0] * (len(sizes) + 1), [0] * (len(sizes) + 1)
    behind[axis + 1] = interior
    spread = _padded(context, apart, filling, nothing, behind)
    merged = context.reshape(spread, [*sizes[:axis], sizes[axis] * (1 + interior), *sizes[axis + 1 :]])
    limits = list(type_of(merged).shape)
    limits[axis] -= interior
    return cut(context, merged, [0] * len(limits), limits, [1] * len(limits))


@rule_for("iota", broadcasts=True)
def _iota(context: Context, dtype: Any, shape: Sequence[int], dimension: int, sharding: None = None) -> Any:
    """Returns the numbers along one axis alone; the other axes broadcast."""
    ones = [1] * (len(shape) - dimension - 1)
    if is_symbolic(shape[dimension]):
        numbers = context.cast(count_up(context, shape[dimension]), dtype)
        return context.reshape(numbers, [shape[dimension], *ones])
    return context.constant(np.arange(shape[dimension]).astype(dtype).reshape([-1, *ones]))


def count_up(context: Context, size: Size) -> Any:
    """Returns 0, 1, 2, ... below `size`, as int64."""
    if not is_symbolic(size):
        return context.constant(np.arange(size))
    return context.op("Range", context.constant(0), context.size(size), context.constant(1), shape=[size])


@rule_for("dim_as_value")
def _dim_as_value(context: Context, dim: Size) -> Any:
    return context.cast(context.size(dim), context.out.dtype)


@rule_for("empty", broadcasts=True)
def _empty(context: Context, shape: Sequence[int], dtype: Any, out_sharding: None = None) -> Any:
    return context.constant(0, dtype)
