"""Eigenvalues of Hermitian matrices and singular values by Jacobi's rotations, in plain JAX code.

In one round half as many rotations as there are columns act at once, each on a pair of its own. Between
rounds the columns change places, so that in a sweep of rounds every pair meets once, as in a tournament.

Vectors are unique up to their signs; those of LAPACK, which JAX calls, come from another algorithm.

Source: Brent & Luk (1985), "The solution of singular-value and symmetric eigenvalue problems on
multiprocessor arrays", section 3.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import NotWritten, compose_for
from couplax.export._rules._factorisation import batched, repeated
from couplax.export._rules._orthogonal import qr, squared

Array = Any

_MOST_SWEEPS = 30
"""Convergence is quadratic: some ten sweeps are many."""


def _next_round(size: int) -> np.ndarray:
    """Returns the order of columns in the next round: the first stays, the others move on around the table.

    Column k of the first half sits opposite column k of the second.
    """
    half = size // 2
    top, bottom = list(range(half)), list(range(half, size))
    around = [top[0], bottom[0], *top[1:-1]] if half > 1 else top
    return np.asarray([*around, *bottom[1:], top[-1]] if half > 1 else [*top, *bottom], np.int32)


def _evened(a: Array) -> Array:
    """Returns `a` with a column of zeros more where their number is odd."""
    return jnp.pad(a, ((0, 0), (0, a.shape[1] % 2)))


def _halves(a: Array) -> tuple[Array, Array]:
    half = a.shape[-1] // 2
    return a[..., :half], a[..., half:]


def _angle(first: Array, second: Array, product: Array) -> tuple[Array, Array]:
    """Returns cosine and sine of the rotations that take [[first, product], [product, second]] to diagonals.

    Source: Golub & Van Loan (2013), algorithm 8.5.1: the smaller of the two angles.
    """
    is_done = product == 0
    slope = (second - first) / (2 * jnp.where(is_done, 1, product))
    sign = jnp.where(slope < 0, -1, 1).astype(slope.dtype)
    tangent = jnp.where(is_done, 0, sign / (jnp.abs(slope) + jnp.sqrt(1 + slope * slope)))
    cosine = 1 / jnp.sqrt(1 + tangent * tangent)
    return cosine, tangent * cosine


Rotation = tuple[Array, Array, Array]
"""Cosines, sines, and what the second column of each pair is multiplied by first."""


def _rotation(first: Array, second: Array, product: Array) -> Rotation:
    """Returns the rotations that make the two columns of each pair, with that `product`, orthogonal."""
    if not jnp.iscomplexobj(product):
        return *_angle(first, second, product), jnp.ones((), product.dtype)
    size = jnp.abs(product)
    phase = jnp.where(size == 0, 1, product / jnp.where(size == 0, 1, size))
    return *_angle(first, second, size), jnp.conj(phase)


def _rotated(a: Array, rotation: Rotation) -> Array:
    """Returns `a` with its columns rotated in pairs."""
    left, right = _halves(a)
    cosine, sine = rotation[0][None, :], rotation[1][None, :]
    if jnp.iscomplexobj(a):
        right = right * rotation[2][None, :]
    return jnp.concatenate([left * cosine - right * sine, left * sine + right * cosine], -1)


def _until_done(sweep: Callable[[Any], Any], is_done: Callable[[Any], Array], state: Any) -> Any:
    """Returns the state after as many sweeps as it takes."""

    def goes_on(counted: Any) -> Array:
        count, state = counted
        return (count < _MOST_SWEEPS) & ~is_done(state)

    return lax.while_loop(goes_on, lambda counted: (counted[0] + 1, sweep(counted[1])), (0, state))[1]


def _eigh(a: Array) -> tuple[Array, Array]:
    """Returns the eigenvectors, as columns, and eigenvalues of a Hermitian matrix, in ascending order."""
    size = a.shape[0]
    if size == 1:
        return jnp.ones_like(a), a[0].real
    even = jnp.conj(_evened(jnp.conj(_evened(a)).T)).T
    order = _next_round(even.shape[0])

    def turn(_: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
        a, vectors = state
        (first, second), (_, beside) = _halves(jnp.diagonal(a).real), _halves(a)
        rotation = _rotation(first, second, jnp.diagonal(beside[: first.size]))
        a = _rotated(jnp.conj(_rotated(a, rotation)).T, rotation)
        return a[order][:, order], _rotated(vectors, rotation)[:, order]

    def sweep(state: tuple[Array, Array]) -> tuple[Array, Array]:
        return repeated(order.size - 1, turn, state, size=size)

    a, vectors = _until_done(sweep, _is_diagonal, (even, jnp.eye(even.shape[0], dtype=a.dtype)))
    values, vectors = jnp.diagonal(a)[:size].real, vectors[:size, :size]
    ascending = jnp.argsort(values)
    return vectors[:, ascending], values[ascending]


def _is_diagonal(state: tuple[Array, Array]) -> Array:
    a, _ = state
    diagonal = jnp.diagonal(a)
    beside = jnp.abs(a - jnp.diag(diagonal)).max()
    return ~(beside > jnp.finfo(a.dtype).eps * jnp.abs(a).max() / 8)


def _svd(a: Array, full_matrices: bool, compute_uv: bool) -> tuple[Array, ...]:
    """Returns the singular values in descending order, and U and V^H where they are wanted."""
    if a.shape[0] < a.shape[1]:
        values, *vectors = _svd(jnp.conj(a).T, full_matrices, compute_uv)
        return (values, *(jnp.conj(vector).T for vector in reversed(vectors)))
    # Scaled, since squares would overflow or vanish.
    largest = jnp.abs(a).max()
    scale = jnp.where(largest == 0, 1, largest)
    columns, right = _orthogonal_columns(a / scale)
    values = jnp.sqrt(squared(columns).sum(0))
    descending = jnp.argsort(-values)
    values, columns, right = scale * values[descending], columns[:, descending], right[:, descending]
    if not compute_uv:
        return (values,)
    # The columns are U times the values; the factor Q of these columns is U, where a value is zero too.
    left, triangle = qr(columns, full_matrices)
    sign = jnp.where(jnp.diagonal(triangle).real < 0, -1, 1).astype(a.dtype)
    sign = jnp.concatenate([sign, jnp.ones(left.shape[1] - sign.size, a.dtype)])
    return values, left * sign[None, :], jnp.conj(right).T


def _orthogonal_columns(a: Array) -> tuple[Array, Array]:
    """Returns `a` V with columns that are orthogonal, and the orthogonal V.

    Source: Hestenes (1958), "Inversion of matrices by biorthogonalization".
    """
    size = a.shape[1]
    if size == 1:
        return a, jnp.ones((1, 1), a.dtype)
    even = _evened(a)
    order = _next_round(even.shape[1])

    def turn(_: Any, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        columns, right, worst = state
        left_half, right_half = _halves(columns)
        first, second = squared(left_half).sum(0), squared(right_half).sum(0)
        product = (jnp.conj(left_half) * right_half).sum(0)
        bound = jnp.sqrt(first) * jnp.sqrt(second)
        is_done = jnp.abs(product) <= jnp.finfo(a.dtype).eps * bound
        rotation = _rotation(first, second, jnp.where(is_done, 0, product))
        columns, right = (_rotated(each, rotation)[:, order] for each in (columns, right))
        return columns, right, worst & is_done.all()

    def sweep(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        return repeated(order.size - 1, turn, (*state[:2], jnp.bool_(True)), size=size)

    start = (even, jnp.eye(even.shape[1], dtype=a.dtype), jnp.bool_(False))
    columns, right, _ = _until_done(sweep, lambda state: state[2], start)
    return columns[:, :size], right[:size, :size]


def _eigh_of_triangle(
    a: Array, lower: bool, sort_eigenvalues: bool, subset_by_index: Any = None, algorithm: Any = None
) -> tuple[Array, Array]:
    if subset_by_index is not None:
        raise NotWritten("a part of the eigenvalues is not written, only all of them")

    def whole(a: Array) -> tuple[Array, Array]:
        triangle, rest = (jnp.tril(a), jnp.tril(a, -1)) if lower else (jnp.triu(a), jnp.triu(a, 1))
        vectors, values = _eigh(triangle + jnp.conj(rest).T)
        # NaN among the elements leaves none of the result.
        poison = jnp.where(jnp.isfinite(a).all(), 0, jnp.nan).astype(values.dtype)
        return vectors + poison, values + poison

    return batched(whole, 2)(a)


def _svd_of_stack(
    a: Array, full_matrices: bool, compute_uv: bool, subset_by_index: Any = None, algorithm: Any = None
) -> Any:
    if subset_by_index is not None:
        raise NotWritten("a part of the singular values is not written, only all of them")
    return batched(partial(_svd, full_matrices=full_matrices, compute_uv=compute_uv), 2)(a)


compose_for("eigh", _eigh_of_triangle)
compose_for("svd", _svd_of_stack)


def _tridiagonal_solve(lower: Array, diagonal: Array, upper: Array, right: Array) -> Array:
    """Returns x with T x = b, by elimination with row pivoting down T, and back.

    The row that eliminates next is (diagonal, one beside it, right side); a row once done has one place more.
    """

    def down(row: tuple[Array, ...], below: tuple[Array, ...]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        (head, beside, side), (low, middle, up, new_side) = row, below
        keeps = jnp.abs(head) >= jnp.abs(low)
        done = jnp.where(keeps, head, low), jnp.where(keeps, beside, middle), jnp.where(keeps, 0, up)
        factor = jnp.where(keeps, low, head) / done[0]
        rest = jnp.where(keeps, middle, beside) - factor * done[1]
        further = jnp.where(keeps, up, 0) - factor * done[2]
        kept = jnp.where(keeps, side, new_side)
        return (rest, further, jnp.where(keeps, new_side, side) - factor * kept), (*done, kept)

    first = diagonal[0], upper[0], right[0]
    last, rows = lax.scan(down, first, (lower[1:], diagonal[1:], _without_last(upper)[1:], right[1:]))

    def up(known: tuple[Array, Array], row: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
        (one, two), (head, beside, further, side) = known, row
        x = (side - beside * one - further * two) / head
        return (x, one), x

    end = last[2] / last[0]
    _, found = lax.scan(up, (end, jnp.zeros_like(end)), rows, reverse=True)
    return jnp.concatenate([found, end[None]])


def _without_last(upper: Array) -> Array:
    # What stands beyond the last column is no part of the matrix.
    return jnp.concatenate([upper[:-1], jnp.zeros_like(upper[:1])])


def _tridiagonal(
    lower: Array, diagonal: Array, upper: Array, right: Array, perturb_singular: bool = False
) -> Array:
    if perturb_singular:
        raise NotWritten("a perturbation of singular matrices is not written")
    return batched(_tridiagonal_solve, 1)(lower, diagonal, upper, right)


def _symmetric_product(a: Array, c: Array, alpha: Any, beta: Any) -> Array:
    return alpha * (a @ jnp.swapaxes(a, -1, -2)) + beta * c


compose_for("tridiagonal_solve", _tridiagonal)
compose_for("symmetric_product", _symmetric_product)
