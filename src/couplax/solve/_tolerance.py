"""When a residual is small enough."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree, Scalar

_ROUNDINGS = 10
"""A residual is itself the outcome of roundings: a tolerance of fewer is never met but by luck."""


def within(
    residual: PyTree[Array],
    unknowns: PyTree[Array],
    *,
    rtol: float,
    atol: float,
    norm: Callable[[PyTree[Array]], Scalar],
) -> Bool[Array, ""]:
    """Returns whether |f_i| <= atol + rtol |y_i| in `norm`, where rtol counts as ten roundings at least."""

    def scaled(f: Array, y: Array) -> Array:
        return f / (atol + max(rtol, _ROUNDINGS * float(jnp.finfo(y.dtype).eps)) * jnp.abs(y))

    return norm(jax.tree.map(scaled, residual, unknowns)) <= 1
