"""Running products, extremes and log-sums by doubling, and counts of bits, in plain JAX code."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import lax

from couplax._sizes import is_symbolic
from couplax.export._compositions import compose_for

Array = Any


def _running(
    combine: Callable[[Array, Array], Array],
    neutral: Callable[[Any], Any],
    x: Array,
    axis: int,
    reverse: bool,
) -> Array:
    """Returns along `axis` what each element and all before it combine to.

    In each of log2(n) steps every element takes in the one 1, 2, 4, ... places before it.
    """
    size, distance = x.shape[axis], 1
    if is_symbolic(size):
        return _one_by_one(combine, neutral, x, axis, reverse)
    while distance < size:
        x = combine(_shifted(x, distance, axis, reverse, neutral(x.dtype)), x)
        distance *= 2
    return x


def _one_by_one(
    combine: Callable[[Array, Array], Array],
    neutral: Callable[[Any], Any],
    x: Array,
    axis: int,
    reverse: bool,
) -> Array:
    """Returns the same where the number of elements is open, and so that of the steps of doubling."""

    def take_in(held: Array, element: Array) -> tuple[Array, Array]:
        held = combine(held, element)
        return held, held

    rows = jnp.moveaxis(x, axis, 0)
    start = jnp.full(rows.shape[1:], neutral(x.dtype), x.dtype)
    return jnp.moveaxis(lax.scan(take_in, start, rows, reverse=reverse)[1], 0, axis)


def _shifted(x: Array, distance: int, axis: int, reverse: bool, filling: Any) -> Array:
    edges = (-distance, distance, 0) if reverse else (distance, -distance, 0)
    config = [edges if k == axis else (0, 0, 0) for k in range(x.ndim)]
    return lax.pad(x, jnp.asarray(filling, x.dtype), config)


def _one(dtype: Any) -> Any:
    return 1


def _lowest(dtype: Any) -> Any:
    return -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).max


def _log_add(left: Array, right: Array) -> Array:
    """Returns log(exp(left) + exp(right)) without overflow."""
    high = jnp.maximum(left, right)
    distance = jnp.abs(left - right)
    return jnp.where(jnp.isinf(high), high, high + jnp.log1p(jnp.exp(-distance)))


compose_for("cumprod", partial(_running, jnp.multiply, _one))
compose_for("cummax", partial(_running, jnp.maximum, _lowest))
compose_for("cummin", partial(_running, jnp.minimum, _highest))
compose_for("cumlogsumexp", partial(_running, _log_add, _lowest))


def _population_count(x: Array) -> Array:
    """Returns how many bits are set: added up bit by bit."""
    width = 8 * x.dtype.itemsize
    return sum((_logical_shift(x, k) & 1 for k in range(1, width)), start=x & 1)


def _clz(x: Array) -> Array:
    """Returns how many bits stand before the first that is set: all behind it are set, the rest counted."""
    width, distance = 8 * x.dtype.itemsize, 1
    while distance < width:
        x = x | _logical_shift(x, distance)
        distance *= 2
    return jnp.asarray(width, x.dtype) - _population_count(x)


def _logical_shift(x: Array, places: int) -> Array:
    return lax.shift_right_logical(x, jnp.asarray(places, x.dtype))


compose_for("population_count", _population_count, broadcasts=True)
compose_for("clz", _clz, broadcasts=True)
