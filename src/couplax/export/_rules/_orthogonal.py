"""Orthogonal factorisations by Householder's reflections, in plain JAX code.

A reflection H_k = I - tau_k v_k v_k^H has v_k = (0, ..., 0, 1, what stands below the diagonal in column k).
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

from couplax.export._compositions import NotWritten, compose_for
from couplax.export._rules._factorisation import batched, column_of, repeated

Array = Any


def _geqrf(a: Array) -> tuple[Array, Array]:
    """Returns R with the v_k below its diagonal, and the tau_k."""
    count = min(a.shape)
    return repeated(count, _reflect, (a, jnp.zeros(count, a.dtype)), size=a.shape[0])


def _reflect(k: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
    """Returns the matrix with column k zero below the diagonal, where v_k is then kept.

    Source: LAPACK Users' Guide, elementary reflectors: beta = -sign(alpha) |x|, tau = (beta - alpha) / beta.
    """
    a, taus = state
    row, column = jnp.arange(a.shape[0]), jnp.arange(a.shape[1])
    old = column_of(a, k)
    below = jnp.where(row > k, old, 0)
    alpha = lax.dynamic_index_in_dim(old, k, 0, keepdims=False)
    rest = jnp.sqrt(squared(below).sum())
    is_done = (rest == 0) & (alpha.imag == 0)
    length = jnp.sqrt(squared(alpha) + rest * rest)
    beta = jnp.where(is_done, alpha, jnp.where(alpha.real < 0, length, -length))
    tau = jnp.where(is_done, 0, (beta - alpha) / jnp.where(beta == 0, 1, beta))
    v = below / jnp.where(is_done, 1, alpha - beta)
    reflected = _applied(v + (row == k), jnp.conj(tau), a)
    new = jnp.where(row > k, v, jnp.where(row == k, beta, old))
    a = jnp.where((column > k)[None, :], reflected, jnp.where((column == k)[None, :], new[:, None], a))
    return a, jnp.where(jnp.arange(taus.size) == k, tau, taus)


def _applied(v: Array, tau: Array, c: Array) -> Array:
    """Returns (I - tau v v^H) c."""
    return c - tau * v[:, None] * (jnp.conj(v) @ c)[None, :]


def squared(a: Array) -> Array:
    """Returns |a|^2."""
    return a.real * a.real + a.imag * a.imag if jnp.iscomplexobj(a) else a * a


def _product(a: Array, taus: Array, c: Array, *, forwards: bool) -> Array:
    """Returns H_1 H_2 ... c, or ... H_2^H H_1^H c where `forwards`: one reflection after the other."""
    row, count = jnp.arange(a.shape[0]), taus.size
    taus = jnp.conj(taus) if forwards else taus

    def step(k: Any, c: Array) -> Array:
        place = k if forwards else count - 1 - k
        v = jnp.where(row > place, column_of(a, place), 0) + (row == place)
        return _applied(v, lax.dynamic_index_in_dim(taus, place, 0, keepdims=False), c)

    return repeated(count, step, c, size=a.shape[0])


def _householder_product(a: Array, taus: Array) -> Array:
    return _product(a, taus, jnp.eye(*a.shape, dtype=a.dtype), forwards=False)


def _ormqr(a: Array, taus: Array, c: Array, left: bool, transpose: bool) -> Array:
    """Returns Q c or c Q, or with Q transposed, and conjugated where it is complex."""
    if left:
        return _product(a, taus, c, forwards=transpose)
    # c Q = (Q^H c^H)^H.
    return jnp.conj(_product(a, taus, jnp.conj(c).T, forwards=not transpose)).T


compose_for("geqrf", batched(_geqrf, 2))
compose_for("householder_product", batched(_householder_product, 2))
compose_for("ormqr", batched(_ormqr, 2))


def qr(a: Array, full_matrices: bool) -> tuple[Array, Array]:
    """Returns Q and R with Q R = a."""
    rows = a.shape[0] if full_matrices else min(a.shape)
    packed, taus = _geqrf(a)
    q = _product(packed, taus, jnp.eye(a.shape[0], rows, dtype=a.dtype), forwards=False)
    return q, jnp.triu(packed[:rows])


def _qr(
    a: Array, full_matrices: bool, pivoting: bool = False, use_magma: bool | None = None
) -> tuple[Array, Array]:
    if pivoting:
        raise NotWritten("a QR factorisation with pivoting is not written")
    return batched(qr, 2)(a, full_matrices=full_matrices)


compose_for("qr", _qr)
