"""Eigenvalues of any square matrix by the QR algorithm with shifts, in plain JAX code on complex numbers.

Source: Golub & Van Loan (2013), sections 7.4 to 7.6: Hessenberg form, shifted QR steps with deflation, and
the eigenvectors of a triangular matrix by substitution.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from couplax.export._compositions import COMPOSITIONS, NotWritten
from couplax.export._rules._factorisation import batched, column_of, repeated
from couplax.export._rules._orthogonal import qr, squared

Array = Any

_MOST_STEPS = 30
"""So many steps for each eigenvalue at most; two or three are usual."""

_ODD_STEP = 10
"""After so many steps without an eigenvalue the next shift is another one, lest they go in a circle."""


def _hessenberg(a: Array) -> tuple[Array, Array]:
    """Returns H, zero below its subdiagonal, and unitary Q with a = Q H Q^H."""
    size = a.shape[0]
    row = jnp.arange(size)

    def step(k: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
        h, q = state
        column = jnp.where(row > k, column_of(h, k), 0)
        head = lax.dynamic_index_in_dim(column, k + 1, 0, keepdims=False)
        length = jnp.sqrt(squared(column).sum())
        phase = jnp.where(jnp.abs(head) == 0, 1, head / jnp.where(jnp.abs(head) == 0, 1, jnp.abs(head)))
        v = column + jnp.where(row == k + 1, phase * length, 0)
        weight = squared(v).sum()
        v = v * jnp.sqrt(2 / jnp.where(weight == 0, 1, weight))
        h = h - v[:, None] * (jnp.conj(v) @ h)[None, :]
        return h - (h @ v)[:, None] * jnp.conj(v)[None, :], q - (q @ v)[:, None] * jnp.conj(v)[None, :]

    return repeated(max(size - 2, 0), step, (a, jnp.eye(size, dtype=a.dtype)), size=size)


def _schur(a: Array) -> tuple[Array, Array]:
    """Returns upper-triangular T and unitary Q with a = Q T Q^H."""
    size = a.shape[0]
    if size == 1:
        return a, jnp.ones_like(a)

    def goes_on(state: tuple[Array, ...]) -> Array:
        _, _, active, count, _ = state
        return (active > 1) & (count < _MOST_STEPS * size)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        t, q, active, count, since = state
        t, is_split = _split(t, active)
        moved, turned = _qr_step(t, active, since)
        t, q = jnp.where(is_split, t, moved), jnp.where(is_split, q, q @ turned)
        return t, q, active - is_split, count + 1, jnp.where(is_split, 0, since + 1)

    t, q = _hessenberg(a)
    zero = jnp.int32(0)
    return lax.while_loop(goes_on, step, (t, q, jnp.int32(size), zero, zero))[:2]


def _split(t: Array, active: Array) -> tuple[Array, Array]:
    """Returns `t` with a zero beside the last active diagonal element where that is small, and whether."""
    place = (active - 1, active - 2)
    beside = jnp.abs(_at(t, active - 1, active - 1)) + jnp.abs(_at(t, active - 2, active - 2))
    scale = jnp.where(beside == 0, jnp.abs(t).max(), beside)
    is_small = jnp.abs(_at(t, *place)) <= jnp.finfo(t.dtype).eps * scale
    row = jnp.arange(t.shape[0])
    is_there = (row == place[0])[:, None] & (row == place[1])[None, :]
    return jnp.where(is_there & is_small, 0, t), is_small


def _at(t: Array, row: Any, column: Any) -> Array:
    return lax.dynamic_slice(t, (row, column), (1, 1))[0, 0]


def _qr_step(t: Array, active: Array, since: Array) -> tuple[Array, Array]:
    """Returns U^H t U, and the unitary U that a shifted QR step on the active part takes."""
    size = t.shape[0]
    inside = jnp.arange(size) < active
    both = inside[:, None] & inside[None, :]
    eye = jnp.eye(size, dtype=t.dtype)
    shifted = jnp.where(both, t - _shift(t, active, since) * eye, eye)
    u, _ = qr(shifted, True)
    return jnp.conj(u).T @ t @ u, u


def _shift(t: Array, active: Array, since: Array) -> Array:
    """Returns the eigenvalue of the last active 2 x 2 block that is nearer to its last element."""
    (a, b), (c, d) = lax.dynamic_slice(t, (active - 2, active - 2), (2, 2))
    half = (a - d) / 2
    root = jnp.sqrt(half * half + b * c)
    root = jnp.where((jnp.conj(half) * root).real < 0, -root, root)
    far = half + root
    wilkinson = d - jnp.where(jnp.abs(far) == 0, 0, b * c / jnp.where(jnp.abs(far) == 0, 1, far))
    is_odd = (since > 0) & (since % _ODD_STEP == 0)
    return jnp.where(is_odd, d + jnp.abs(c), wilkinson)


def _vectors(t: Array, q: Array) -> Array:
    """Returns the eigenvectors of Q T Q^H as columns of length 1."""
    size = t.shape[0]
    row = jnp.arange(size)
    values = jnp.diagonal(t)
    limits = jnp.finfo(t.dtype)
    small = jnp.maximum(limits.eps * jnp.abs(t).max(), limits.tiny)

    def vector(k: Any) -> Array:
        value = values[k]

        def step(index: Any, x: Array) -> Array:
            place = size - 1 - index
            head = _at(t, place, place) - value
            head = jnp.where(jnp.abs(head) < small, small, head)
            found = -(lax.dynamic_index_in_dim(t, place, 0, keepdims=False) @ x) / head
            return jnp.where((row == place) & (place < k), found, x)

        return repeated(size, step, (row == k).astype(t.dtype), size=size)

    vectors = q @ jax.vmap(vector, out_axes=1)(row)
    return vectors / jnp.sqrt(squared(vectors).sum(0))[None, :]


def _eig(
    a: Array,
    compute_left_eigenvectors: bool = False,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: Any = None,
) -> tuple[Array, ...]:
    if compute_left_eigenvectors:
        raise NotWritten("left eigenvectors are not written")

    def one(a: Array) -> tuple[Array, ...]:
        t, q = _schur(a.astype(jnp.result_type(a.dtype, jnp.complex64)))
        poison = jnp.where(jnp.isfinite(a).all(), 0, jnp.nan).astype(t.real.dtype)
        values = jnp.diagonal(t) + poison
        return (values, _vectors(t, q) + poison) if compute_right_eigenvectors else (values,)

    return batched(one, 2)(a)


# No rule beside it: its eigenvalues are complex, so that it goes before rules are asked for.
COMPOSITIONS["eig"] = _eig
