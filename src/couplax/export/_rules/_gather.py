"""`gather` and `scatter`, in all their forms, on the flattened array.

An element of the operand at indices (i, j, ...) lies in the flattened operand at the sum of each index times
its step. JAX's `gather` takes windows: the place of an element is the place where its window starts, which
the indices give at run time, plus where it stands in the window, which is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax._sizes import Size, is_open
from couplax.export._context import Context
from couplax.export._rules._indexing import clipped, offsets, scatter_flat, steps
from couplax.export._table import rule_for
from couplax.export._types import count_of, type_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Windows:
    """Where the windows lie.

    Attributes:
        operand: the operand's shape; `window`: the size of a window along each of its axes.
        indexed: the operand's axes that the last axis of the indices speaks of.
        paired: pairs of (operand's axis, batch axis of the indices) that run together.
        kept: the operand's axes that a window keeps as axes of the result.
        clip: whether a window out of range is moved inside, else it is dropped.
    """

    operand: Sequence[int]
    window: Sequence[int]
    indexed: Sequence[int]
    paired: Sequence[tuple[int, int]]
    kept: Sequence[int]
    clip: bool

    @property
    def limits(self) -> list[int]:
        """The largest start along each indexed axis."""
        return [self.operand[axis] - self.window[axis] for axis in self.indexed]

    @property
    def kept_sizes(self) -> list[int]:
        """The sizes of the axes that a window keeps."""
        return [self.window[axis] for axis in self.kept]


def _places(context: Context, windows: _Windows, indices: Any) -> Any:
    """Returns where in the flattened operand each element lies, shape (batch axes, window's axes)."""
    batch = type_of(indices).shape[:-1]
    step = steps(windows.operand)
    starts = clipped(context, indices, windows.limits)
    first = _weighted(context, starts, [step[axis] for axis in windows.indexed])
    if windows.paired:
        weights = [0] * len(batch)
        for axis, batch_axis in windows.paired:
            weights[batch_axis] = step[axis]
        first = context.op("Add", first, offsets(context, batch, weights))
    kept = windows.kept_sizes
    if count_of(kept) == 1:
        return context.reshape(first, [*batch, *kept])
    within = offsets(context, kept, [step[axis] for axis in windows.kept])
    return context.op("Add", context.reshape(first, [*batch, *[1] * len(kept)]), within)


def _weighted(context: Context, starts: Any, weights: Sequence[Size]) -> Any:
    """Returns the sum over the last axis of `starts` times `weights`."""
    batch = type_of(starts).shape[:-1]
    array = context.known(starts)
    if array is not None and not is_open(weights):
        return context.constant((array * np.asarray(weights, np.int64)).sum(-1))
    if len(weights) == 0:
        return context.full(context.constant(0), batch)
    weighted = starts if list(weights) == [1] else context.op("Mul", starts, context.sizes(weights))
    if len(weights) == 1:
        return context.reshape(weighted, batch)
    return context.op("ReduceSum", weighted, context.constant([len(batch)]), shape=batch, keepdims=0)


def _all_inside(context: Context, windows: _Windows, indices: Any) -> Any:
    """Returns per window whether it lies inside the operand; None where all are known to."""
    batch = type_of(indices).shape[:-1]
    array = context.known(indices)
    if windows.clip or not len(windows.indexed) or (array is not None and _are_inside(array, windows.limits)):
        return None
    if array is not None and not is_open(windows.limits):
        return context.constant(_inside(array, windows.limits).all(-1))
    same = context.op("Equal", clipped(context, indices, windows.limits), indices, dtype=bool)
    if len(windows.indexed) == 1:
        return context.reshape(same, batch)
    flags, axis = context.cast(same, np.uint8), context.constant([len(batch)])
    return context.cast(context.op("ReduceMin", flags, axis, shape=batch, keepdims=0), bool)


def _are_inside(array: np.ndarray, limits: Sequence[Size]) -> bool:
    """Returns whether windows that start at `array` are known to lie inside."""
    if is_open(limits):
        return not array.any()
    return bool(_inside(array, limits).all())


def _inside(array: np.ndarray, limits: Sequence[int]) -> np.ndarray:
    return (array >= 0) & (array <= np.asarray(limits))


def _wide(context: Context, indices: Any) -> Any:
    return context.cast(indices, np.int64)


@rule_for("gather")
def _gather(
    context: Context,
    operand: Any,
    indices: Any,
    dimension_numbers: lax.GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: lax.GatherScatterMode,
    fill_value: Any,
) -> Any:
    numbers = dimension_numbers
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = _Windows(
        operand=type_of(operand).shape,
        window=slice_sizes,
        indexed=numbers.start_index_map,
        paired=list(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)),
        kept=[axis for axis in range(len(slice_sizes)) if axis not in dropped],
        clip=mode != lax.GatherScatterMode.FILL_OR_DROP,
    )
    if 0 in context.out.shape:
        return context.full(context.constant(0, context.out.dtype), context.out.shape)
    if 0 in windows.operand:
        return context.full(_filling(context, fill_value), context.out.shape)
    indices = _wide(context, indices)
    found = _in_order(context, _taken(context, windows, operand, indices), numbers.offset_dims)
    return _filled(context, windows, indices, found, numbers.offset_dims, fill_value)


def _taken(context: Context, windows: _Windows, operand: Any, indices: Any) -> Any:
    """Returns the windows, shape (batch axes, window's axes)."""
    batch = type_of(indices).shape[:-1]
    if _is_whole_rows(windows):
        axis = windows.indexed[0]
        rows = context.reshape(clipped(context, indices, windows.limits), batch)
        before, after = windows.operand[:axis], windows.operand[axis + 1 :]
        taken = context.op("Gather", operand, rows, shape=[*before, *batch, *after], axis=axis)
        middle = [*range(axis, axis + len(batch))]
        rest = [k for k in range(len(before) + len(batch) + len(after)) if k not in middle]
        return context.transpose(taken, [*middle, *rest])
    flat = context.reshape(operand, [count_of(windows.operand)])
    places = _places(context, windows, indices)
    return context.op("Gather", flat, places, shape=type_of(places).shape, axis=0)


def _is_whole_rows(windows: _Windows) -> bool:
    """Returns whether each window is the operand at one index of one axis: ONNX's own `Gather`."""
    if len(windows.indexed) != 1 or windows.paired:
        return False
    others = [axis for axis in range(len(windows.operand)) if axis != windows.indexed[0]]
    return list(windows.kept) == others and all(
        windows.window[axis] == windows.operand[axis] for axis in others
    )


def _in_order(context: Context, taken: Any, offset_dims: Sequence[int]) -> Any:
    """Returns `taken` with the window's axes moved to where the result has them."""
    rank = len(type_of(taken).shape)
    batch_places = [axis for axis in range(rank) if axis not in offset_dims]
    permutation = np.argsort([*batch_places, *offset_dims])
    return context.transpose(taken, permutation.tolist())


def _filled(
    context: Context, windows: _Windows, indices: Any, found: Any, offset_dims: Sequence[int], fill_value: Any
) -> Any:
    inside = _all_inside(context, windows, indices)
    if inside is None:
        return found
    sizes = [1 if axis in offset_dims else size for axis, size in enumerate(type_of(found).shape)]
    inside = context.reshape(inside, sizes)
    if context.out.dtype == np.bool_:
        # Filled with true, as JAX does.
        return context.op("Or", found, context.op("Not", inside))
    return context.where(inside, found, _filling(context, fill_value))


def _filling(context: Context, fill_value: Any) -> Any:
    """Returns what JAX fills with: as asked, else NaN, least signed or largest unsigned integer, true."""
    dtype = context.out.dtype
    if fill_value is not None:
        return context.constant(fill_value, dtype)
    if jnp.issubdtype(dtype, jnp.inexact):
        return context.constant(np.nan, dtype)
    if dtype == np.bool_:
        return context.constant(True)
    limits = np.iinfo(dtype)
    return context.constant(limits.min if dtype.kind == "i" else limits.max, dtype)


_SCATTERS = {
    "scatter": "none",
    "scatter-add": "add",
    "scatter-mul": "mul",
    "scatter-min": "min",
    "scatter-max": "max",
}


def _scatter(
    reduction: str,
    context: Context,
    operand: Any,
    indices: Any,
    updates: Any,
    dimension_numbers: lax.ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: lax.GatherScatterMode,
    update_jaxpr: Any,
    update_consts: Any,
) -> Any:
    if 0 in type_of(updates).shape or 0 in type_of(operand).shape:
        return operand
    windows = _scatter_windows(context, operand, updates, dimension_numbers, mode)
    indices = _wide(context, indices)
    updates = _batch_first(context, updates, dimension_numbers.update_window_dims)
    inside = _all_inside(context, windows, indices)
    places = _places(context, windows, indices)
    if inside is None:
        return scatter_flat(context, operand, places, updates, reduction)
    return _scatter_inside(context, operand, places, updates, inside, reduction)


def _scatter_windows(
    context: Context,
    operand: Any,
    updates: Any,
    numbers: lax.ScatterDimensionNumbers,
    mode: lax.GatherScatterMode,
) -> _Windows:
    sizes = type_of(operand).shape
    dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    kept = [axis for axis in range(len(sizes)) if axis not in dropped]
    window = [1] * len(sizes)
    for axis, place in zip(kept, numbers.update_window_dims, strict=True):
        window[axis] = type_of(updates).shape[place]
    return _Windows(
        operand=sizes,
        window=window,
        indexed=numbers.scatter_dims_to_operand_dims,
        paired=list(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)),
        kept=kept,
        clip=mode != lax.GatherScatterMode.FILL_OR_DROP,
    )


def _batch_first(context: Context, updates: Any, window_dims: Sequence[int]) -> Any:
    batch = [axis for axis in range(len(type_of(updates).shape)) if axis not in window_dims]
    return context.transpose(updates, [*batch, *window_dims])


def _scatter_inside(
    context: Context, operand: Any, places: Any, updates: Any, inside: Any, reduction: str
) -> Any:
    """Returns the scatter of the windows inside; the others go to one more element, cut off at the end."""
    sizes, count = type_of(operand).shape, count_of(type_of(operand).shape)
    batch = type_of(inside).shape
    marks = context.reshape(inside, [*batch, *[1] * (len(type_of(places).shape) - len(batch))])
    places = context.where(marks, places, context.size(count))
    spare = context.constant([0], type_of(operand).dtype)
    longer = context.op("Concat", context.reshape(operand, [count]), spare, shape=[count + 1], axis=0)
    done = scatter_flat(context, longer, places, updates, reduction)
    bounds = [context.sizes([bound]) for bound in (0, count)]
    return context.reshape(context.op("Slice", done, *bounds, shape=[count]), sizes)


for _primitive, _reduction in _SCATTERS.items():
    rule_for(_primitive)(partial(_scatter, _reduction))
