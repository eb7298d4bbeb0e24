"""Factorisations and triangular solves, in plain JAX code: written out for small matrices, a loop beyond."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from couplax.export._compositions import compose_for

Array = Any

_LARGEST_WRITTEN_OUT = 8
"""Up to this many rows the steps are written one after the other; the file grows with each."""


def repeated(count: int, step: Callable[[Any, Any], Any], state: Any, *, size: int) -> Any:
    """Returns the state after `step(k, state)` for each k below `count`."""
    if size > _LARGEST_WRITTEN_OUT:
        return lax.fori_loop(0, count, step, state)
    for k in range(count):
        state = step(k, state)
    return state


def batched(fn: Callable[..., Any], axes: int) -> Callable[..., Any]:
    """Returns `fn`, which takes arrays with one or two `axes`, for arrays with batch axes before those."""

    def over_batch(*arrays: Array, **params: Any) -> Any:
        def one(*each: Array) -> Any:
            return fn(*each, **params)

        for _ in range(arrays[0].ndim - axes):
            one = jax.vmap(one)
        return one(*arrays)

    return over_batch


def _lu(a: Array) -> tuple[Array, Array, Array]:
    """Returns L and U in one matrix, the pivots and the permutation, by elimination with row pivoting."""
    rows, columns = a.shape
    count = min(rows, columns)
    start = (a, jnp.arange(count, dtype=jnp.int32), jnp.arange(rows, dtype=jnp.int32))
    # The last row is its own pivot, with nothing below.
    return repeated(min(count, rows - 1), _eliminate, start, size=rows)


def _eliminate(k: Any, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    a, pivots, permutation = state
    row, column = jnp.arange(a.shape[0], dtype=jnp.int32), jnp.arange(a.shape[1], dtype=jnp.int32)
    magnitude = jnp.where(row >= k, _pivot_size(column_of(a, k)), -1)
    pivot = jnp.argmax(magnitude).astype(jnp.int32)
    swapped = _swapped(row, k, pivot)
    a, permutation = _rows(a, swapped), _rows(permutation, swapped)
    pivots = jnp.where(jnp.arange(pivots.size) == k, pivot, pivots)
    top = lax.dynamic_index_in_dim(a, k, 0)
    head = lax.dynamic_index_in_dim(top, k, 1, keepdims=False)
    # A zero pivot heads a column of zeros, which stay.
    factors = jnp.where(row > k, column_of(a, k) / jnp.where(head == 0, 1, head), 0)
    reduced = a - factors[:, None] * jnp.where(column > k, top, 0)
    below = (row > k)[:, None] & (column == k)[None, :]
    return jnp.where(below, factors[:, None], reduced), pivots, permutation


def _pivot_size(column: Array) -> Array:
    """Returns what LAPACK takes for the size of a number when it looks for a pivot."""
    if jnp.iscomplexobj(column):
        return jnp.abs(column.real) + jnp.abs(column.imag)
    return jnp.abs(column)


def column_of(a: Array, k: Any) -> Array:
    """Returns column k of `a`."""
    return lax.dynamic_index_in_dim(a, k, 1, keepdims=False)


def _rows(a: Array, order: Array) -> Array:
    return a.at[order].get(mode="promise_in_bounds")


def _swapped(index: Array, one: Any, other: Any) -> Array:
    """Returns `index` with `one` and `other` having changed places."""
    return jnp.where(index == one, other, jnp.where(index == other, jnp.asarray(one, index.dtype), index))


def _lu_pivots_to_permutation(pivots: Array, permutation_size: int) -> Array:
    """Returns the order of rows that the swaps of `pivots` make, one after the other."""
    index = jnp.arange(permutation_size, dtype=jnp.int32)

    def swap(k: Any, permutation: Array) -> Array:
        return _rows(permutation, _swapped(index, k, lax.dynamic_index_in_dim(pivots, k, 0, keepdims=False)))

    return repeated(pivots.size, swap, index, size=permutation_size)


def _triangular_solve(
    a: Array,
    b: Array,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Array:
    """Returns x with op(a) x = b, or x op(a) = b where not `left_side`."""
    a = jnp.conj(a) if conjugate_a else a
    if not left_side:
        # x op(a) = b is op(a)^T x^T = b^T.
        return _substitute(a if transpose_a else a.T, b.T, lower == transpose_a, unit_diagonal).T
    return _substitute(a.T if transpose_a else a, b, lower != transpose_a, unit_diagonal)


def _substitute(a: Array, b: Array, lower: bool, unit_diagonal: bool) -> Array:
    """Returns x with a x = b, by columns: once a row is known, its part is taken from all rows after it."""
    size = a.shape[0]
    diagonal = jnp.ones(size, a.dtype) if unit_diagonal else jnp.diagonal(a)
    beyond = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    scaled = beyond / diagonal[None, :]

    def step(k: Any, rest: Array) -> Array:
        place = k if lower else size - 1 - k
        column = lax.dynamic_index_in_dim(scaled, place, 1)
        return rest - column * lax.dynamic_index_in_dim(rest, place, 0)

    return repeated(size - 1, step, b, size=size) / diagonal[:, None]


def _cholesky(a: Array) -> Array:
    """Returns lower-triangular L with L L^H = a; NaN, as in JAX, where `a` is not positive definite."""
    size = a.shape[0]
    row = jnp.arange(size, dtype=jnp.int32)

    def step(k: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, factor = state
        column = column_of(rest, k)
        head = lax.dynamic_index_in_dim(column, k, 0, keepdims=False)
        column = jnp.where(row >= k, column / jnp.sqrt(head.real), 0)
        factor = jnp.where((row == k)[None, :], column[:, None], factor)
        return rest - column[:, None] * jnp.conj(column)[None, :], factor

    factor = repeated(size, step, (a, jnp.zeros_like(a)), size=size)[1]
    return jnp.where(jnp.isfinite(factor).all(), factor, jnp.nan)


compose_for("lu", batched(_lu, 2))
compose_for("lu_pivots_to_permutation", batched(_lu_pivots_to_permutation, 1))
compose_for("triangular_solve", batched(_triangular_solve, 2))
compose_for("cholesky", batched(_cholesky, 2))
