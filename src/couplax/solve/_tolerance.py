"""When a point is near enough to the solution."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree, Scalar

_ROUNDINGS = 10
"""A residual is itself the outcome of roundings: a tolerance of fewer is never met but by luck."""


def within(
    error: PyTree[Array],
    unknowns: PyTree[Array],
    *,
    rtol: float,
    atol: float,
    norm: Callable[[PyTree[Array]], Scalar],
) -> Bool[Array, ""]:
    """Returns whether |e_i| <= atol + rtol |y_i| in `norm`, where rtol counts as ten roundings at least."""

    def scaled(e: Array, y: Array) -> Array:
        return e / tolerance(y, rtol=rtol, atol=atol)

    return norm(jax.tree.map(scaled, error, unknowns)) <= 1


def tolerance(unknown: Array, *, rtol: float, atol: float) -> Array:
    """Returns atol + rtol |y|, where rtol counts as ten roundings at least."""
    return atol + max(rtol, _ROUNDINGS * float(jnp.finfo(unknown.dtype).eps)) * jnp.abs(unknown)


def errors(residual: PyTree[Array], estimate: PyTree[Array], changes: PyTree[bool]) -> PyTree[Array]:
    """Returns the error of each unknown: its residual where that is its change, else its `estimate`."""
    leaves = jax.tree.leaves(changes)
    if not any(leaves):
        # Nothing says that a general residual has the structure of the unknowns.
        return estimate
    return jax.tree.map(lambda change, f, e: f if change else e, changes, residual, estimate)


def estimated_error(
    step: PyTree[Array], old: PyTree[Array], new: PyTree[Array], is_full: Bool[Array, ""]
) -> PyTree[Array]:
    """Returns |d_i| max_j min(1, |f_j new| / |f_j old|), an estimate of the error after a Newton step d.

    The step estimates the error before it, the residual's slowest contraction how much of that is left. It
    needs no evaluation. A step that is not full tells nothing, and the estimate is infinite, but where f is
    zero there is no error.

    Source: Hairer and Wanner (1996), Solving Ordinary Differential Equations II, section IV.8, take the last
    correction times the rate of convergence; theirs is the rate of the corrections, here it is that of the
    residuals, which are at hand.
    """
    rate = contraction(old, new)
    # Only a residual that is zero contracts to nothing.
    told = is_full | (rate == 0)
    return jax.tree.map(lambda d: jnp.where(told, rate * jnp.abs(d), jnp.inf), step)


def contraction(old: PyTree[Array], new: PyTree[Array]) -> Scalar:
    """Returns max_j min(1, |f_j new| / |f_j old|); a component that is zero has none to give."""

    def slowest(before: Array, after: Array) -> Array:
        size, was = jnp.abs(after), jnp.abs(before)
        ratio = jnp.where(size >= was, 1.0, size / jnp.where(was > 0, was, 1.0))
        return jnp.max(jnp.where(size == 0, 0.0, ratio), initial=0.0)

    return jnp.max(jnp.stack(jax.tree.leaves(jax.tree.map(slowest, old, new))))
