"""Hurwitz' zeta function and the polygamma functions, in plain JAX code."""

from typing import Any

import jax.numpy as jnp
import scipy.special
from jax import lax

from couplax.export._compositions import compose_for

Number = Any

_TERMS = 10
"""Terms that are added one by one, before the rest is an integral with corrections."""

_CORRECTIONS = 12


def _bernoulli() -> list[float]:
    """Returns B_2k / (2k)! for k from 1."""
    numbers = scipy.special.bernoulli(2 * _CORRECTIONS)
    return [float(numbers[2 * k] / scipy.special.factorial(2 * k)) for k in range(1, _CORRECTIONS + 1)]


def zeta(x: Number, q: Number) -> Number:
    """Returns the sum over k from 0 of (q + k)^-x, by the Euler-Maclaurin formula.

    Source: DLMF 25.11.28 with 2.10.1.
    """
    total = sum(((q + k) ** -x for k in range(1, _TERMS)), start=q**-x)
    end = q + _TERMS
    power = end**-x
    total = total + power * end / (x - 1) + power / 2
    # Each factor is x (x + 1) ... (x + 2 k - 2) / end^(2 k - 1).
    factor = power * x / end
    for k, number in enumerate(_bernoulli(), start=1):
        total = total + number * factor
        factor = factor * ((x + 2 * k - 1) / end) * ((x + 2 * k) / end)
    # At a pole every even power is positive, and of the others the sign depends on the side.
    is_pole = (q <= 0) & (q == jnp.floor(q))
    at_pole = jnp.where(jnp.mod(x, 2) == 0, jnp.inf, jnp.nan)
    is_outside = (x < 1) | ((q <= 0) & (x != jnp.floor(x))) | jnp.isinf(x) | jnp.isinf(q)
    found = jnp.where(is_outside, jnp.nan, jnp.where(is_pole, at_pole, total))
    return jnp.where(x == 1, jnp.inf, found)


def polygamma(m: Number, x: Number) -> Number:
    """Returns the derivative of order m of digamma.

    Source: DLMF 25.11.12.
    """
    sign = jnp.where(jnp.mod(m, 2) == 0, -1, 1).astype(x.dtype)
    derivative = sign * jnp.exp(lax.lgamma(m + 1)) * zeta(jnp.where(m == 0, 2, m + 1), x)
    found = jnp.where(m == 0, lax.digamma(x), derivative)
    return jnp.where((m < 0) | (m != jnp.floor(m)), jnp.nan, found)


compose_for("zeta", zeta)
compose_for("polygamma", polygamma)
