"""Reductions over windows, and the derivatives of pooling, in plain JAX code.

An operand is padded first. Then the elements that stand at one offset in every window are a strided slice of
it, and a reduction over windows combines these slices.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import compose_for

Array = Any

_MOST_SLICES = 8
"""Along an axis with a longer window the elements are gathered, and reduced by one operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Where windows lie in a padded array: per axis their `size`, `stride` and `dilation`."""

    size: Sequence[int]
    stride: Sequence[int]
    dilation: Sequence[int]

    def counts(self, padded: Sequence[int]) -> list[int]:
        """Returns how many windows lie along each axis of an array of shape `padded`."""
        spans = [(size - 1) * step + 1 for size, step in zip(self.size, self.dilation, strict=True)]
        return [
            max(0, (length - span) // stride + 1)
            for length, span, stride in zip(padded, spans, self.stride, strict=True)
        ]

    def at(self, offsets: Sequence[int], padded: Array) -> Array:
        """Returns the elements that stand at `offsets` in every window."""
        starts = [offset * step for offset, step in zip(offsets, self.dilation, strict=True)]
        counts = self.counts(padded.shape)
        limits = [
            start + (count - 1) * stride + 1 if count else start
            for start, count, stride in zip(starts, counts, self.stride, strict=True)
        ]
        return lax.slice(padded, starts, limits, self.stride)

    def offsets(self) -> Iterator[tuple[int, ...]]:
        """Yields the offsets in a window, the last axis first to run."""
        return product(*map(range, self.size))

    def along(self, axis: int) -> "Windows":
        """Returns windows of this size along one axis, of one element along the others."""
        one = [1] * len(self.size)
        return Windows(
            size=_put(one, axis, self.size[axis]),
            stride=_put(one, axis, self.stride[axis]),
            dilation=_put(one, axis, self.dilation[axis]),
        )


def _put(items: Sequence[int], place: int, item: int) -> list[int]:
    return [*items[:place], item, *items[place + 1 :]]


def padded_with(x: Array, filling: Any, padding: Sequence[tuple[int, int]], dilation: Sequence[int]) -> Array:
    """Returns `x` with `filling` around it, and between its elements where it is dilated."""
    config = [(low, high, step - 1) for (low, high), step in zip(padding, dilation, strict=True)]
    return lax.pad(x, jnp.asarray(filling, x.dtype), config)


def gathered(x: Array, axis: int, size: int, stride: int, dilation: int) -> Array:
    """Returns `x` with `axis` replaced by two: the window, and the place in the window."""
    count = max(0, (x.shape[axis] - (size - 1) * dilation - 1) // stride + 1)
    places = np.arange(count)[:, None] * stride + np.arange(size) * dilation
    return jnp.take(x, places.astype(np.int32), axis=axis, mode="clip")


def _reduce_window(
    combine: Callable[[Array, Array], Array],
    reduction: Callable[..., Array],
    neutral: Callable[[Any], Any],
    x: Array,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Array:
    """Returns the reduction of each window, an axis after the other."""
    x = padded_with(x, neutral(x.dtype), padding, base_dilation)
    windows = Windows(size=window_dimensions, stride=window_strides, dilation=window_dilation)
    if 0 in windows.counts(x.shape):
        return jnp.full(windows.counts(x.shape), neutral(x.dtype), x.dtype)
    for axis, size in enumerate(window_dimensions):
        part = windows.along(axis)
        if size > _MOST_SLICES:
            x = reduction(gathered(x, axis, size, window_strides[axis], window_dilation[axis]), axis + 1)
        elif size > 1 or window_strides[axis] > 1:
            x = reduce(combine, [part.at(offsets, x) for offsets in part.offsets()])
    return x


def lowest(dtype: Any) -> Any:
    """Returns what no number of `dtype` is below."""
    if dtype == np.bool_:
        return False
    return -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


def highest(dtype: Any) -> Any:
    """Returns what no number of `dtype` is above."""
    if dtype == np.bool_:
        return True
    return jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).max


def _zero(dtype: Any) -> Any:
    return 0


def _sum(x: Array, axis: int) -> Array:
    return jnp.sum(x, axis, dtype=x.dtype)


compose_for("reduce_window_sum", partial(_reduce_window, jnp.add, _sum, _zero))
compose_for("reduce_window_max", partial(_reduce_window, jnp.maximum, jnp.max, lowest))
compose_for("reduce_window_min", partial(_reduce_window, jnp.minimum, jnp.min, highest))


def _elementwise(jaxpr: Any, consts: Sequence[Any]) -> Callable[..., list[Array]]:
    """Returns the function of arrays that applies a jaxpr of scalars to their elements."""
    closed = jaxpr if isinstance(jaxpr, jec.ClosedJaxpr) else jec.ClosedJaxpr(jaxpr, consts)

    def fn(*arrays: Array) -> list[Array]:
        outputs = jax.vmap(jec.jaxpr_as_fun(closed))(*(array.reshape(-1) for array in arrays))
        return [output.reshape(arrays[0].shape) for output in outputs]

    return fn


def _combined(
    fn: Callable[..., list[Array]], inits: Sequence[Array], terms: list[list[Array]]
) -> list[Array]:
    """Returns what all `terms` combine to, neighbours first, and last of all with `inits`."""
    while len(terms) > 1:
        pairs = [fn(*first, *second) for first, second in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    if not terms:
        return list(inits)
    start = [jnp.broadcast_to(init, term.shape) for init, term in zip(inits, terms[0], strict=True)]
    return fn(*start, *terms[0])


def _reduce_window_by(
    *operands: Array,
    jaxpr: Any,
    consts: Sequence[Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> list[Array]:
    """Returns the reductions of each window by a function that the program brings."""
    count = len(operands) // 2
    arrays, inits = operands[:count], operands[count:]
    windows = Windows(size=window_dimensions, stride=window_strides, dilation=window_dilation)
    padded = [padded_with(x, init, padding, base_dilation) for x, init in zip(arrays, inits, strict=True)]
    terms = [[windows.at(offsets, x) for x in padded] for offsets in windows.offsets()]
    return _combined(_elementwise(jaxpr, consts), inits, terms)


def _reduce(
    *operands: Array, computation: Any, jaxpr: Any, dimensions: Sequence[int], out_sharding: None = None
) -> list[Array]:
    """Returns the reductions over whole axes by a function that the program brings."""
    count = len(operands) // 2
    arrays, inits = operands[:count], operands[count:]
    kept = [axis for axis in range(arrays[0].ndim) if axis not in dimensions]
    rows = [x.transpose([*dimensions, *kept]).reshape(-1, *(x.shape[axis] for axis in kept)) for x in arrays]
    fn = _elementwise(jaxpr, ())
    # By halves of the whole, so that the file stays small.
    while (length := rows[0].shape[0]) > 1:
        half = length // 2
        paired = fn(*(row[:half] for row in rows), *(row[half : 2 * half] for row in rows))
        rows = [jnp.concatenate([pair, row[2 * half :]]) for pair, row in zip(paired, rows, strict=True)]
    starts = [jnp.broadcast_to(init, rows[0].shape[1:]) for init in inits]
    return _combined(fn, starts, [[row[0] for row in rows]] if rows[0].shape[0] else [])


compose_for("reduce_window", _reduce_window_by)
compose_for("reduce", _reduce)


_LEAST = {"ge": lowest, "le": highest}
"""By how a window's element is selected, what is never selected before another."""


def _selected(windows: Windows, select_prim: jec.Primitive, padded: Array, beside: Array) -> Array:
    """Returns the element of `beside` that stands where each window of `padded` selects one.

    The window is run through from its start; what is held is kept where `select_prim(held, other)`.
    """
    held, kept = (windows.at([0] * padded.ndim, x) for x in (padded, beside))
    for offsets in list(windows.offsets())[1:]:
        other, there = windows.at(offsets, padded), windows.at(offsets, beside)
        keeps = select_prim.bind(held, other)
        held, kept = jnp.where(keeps, held, other), jnp.where(keeps, kept, there)
    return kept


def _select_and_scatter_add(
    source: Array,
    operand: Array,
    select_prim: jec.Primitive,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Array:
    """Returns zeros in the shape of `operand`, each element of `source` added where its window selects."""
    one = [1] * operand.ndim
    windows = Windows(size=window_dimensions, stride=window_strides, dilation=one)
    padded = padded_with(operand, _LEAST[select_prim.name](operand.dtype), padding, one)
    places = jnp.arange(padded.size).reshape(padded.shape)
    place = _selected(windows, select_prim, padded, places)
    flat = jnp.zeros(padded.size, source.dtype)
    added = flat.at[place.reshape(-1)].add(source.reshape(-1), mode="promise_in_bounds")
    return padded_with(added.reshape(padded.shape), 0, [(-low, -high) for low, high in padding], one)


def _select_and_gather_add(
    tangents: Array,
    operand: Array,
    select_prim: jec.Primitive,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Array:
    """Returns the element of `tangents` that stands where each window of `operand` selects."""
    windows = Windows(size=window_dimensions, stride=window_strides, dilation=window_dilation)
    padded = padded_with(operand, _LEAST[select_prim.name](operand.dtype), padding, base_dilation)
    moved = padded_with(tangents, 0, padding, base_dilation)
    return _selected(windows, select_prim, padded, moved)


compose_for("select_and_scatter_add", _select_and_scatter_add)
compose_for("select_and_gather_add", _select_and_gather_add)
