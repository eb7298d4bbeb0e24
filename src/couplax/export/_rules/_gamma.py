"""The logarithm of the gamma function and its derivative, in plain JAX code."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.special

from couplax.export._compositions import compose_for
from couplax.export._rules._fits import fitted, horner

Number = Any

_HALF_LOG_TWO_PI = float(np.log(2 * np.pi) / 2)

# Source: Abramowitz & Stegun 6.1.41 and 6.3.18; from 10 on, the first term left out is below 1e-16.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_FROM = 10.0


def _lgamma_near_two(x: np.ndarray) -> np.ndarray:
    return scipy.special.gammaln(x) / (x - 2)


def _stirling(x: Number, log: Callable[[Number], Number]) -> Number:
    return (x - 0.5) * log(x) - x + _HALF_LOG_TWO_PI


def _beside_stirling(reciprocal: np.ndarray) -> np.ndarray:
    """Returns x (lgamma(x) - Stirling's formula) where x = 1 / reciprocal."""
    x = 1 / reciprocal
    return x * (scipy.special.gammaln(x) - _stirling(x, np.log))


def _lgamma_beyond_half(x: Number) -> Number:
    """Returns lgamma(x) for x >= 1/2: a fit up to 3, Stirling's formula beyond."""
    step = x < 1.5
    near = jnp.clip(jnp.where(step, x + 1, x), 1.5, 3.0)
    small = fitted(_lgamma_near_two, 20, 1.5, 3.0, near) * (near - 2)
    small = jnp.where(step, small - jnp.log(x), small)
    far = jnp.maximum(x, 3.0)
    reciprocal = 1 / far
    fit = fitted(_beside_stirling, 12, 0.1, 1 / 3, jnp.maximum(reciprocal, 0.1))
    beside = jnp.where(x < _FROM, fit, horner(_STIRLING, reciprocal * reciprocal))
    large = _stirling(far, jnp.log) + beside * reciprocal
    return jnp.where(x < 3, small, jnp.where(x == jnp.inf, x, large))


def lgamma(x: Number) -> Number:
    """Returns log |gamma(x)|; below 1/2 by reflection."""
    mirrored = x < 0.5
    beyond = _lgamma_beyond_half(jnp.where(mirrored, 1 - x, x))
    rest = x - jnp.round(x)
    reflected = jnp.log(np.pi / jnp.abs(jnp.sin(np.pi * rest))) - beyond
    is_pole = mirrored & ((rest == 0) | (x == -jnp.inf))
    return jnp.where(is_pole, jnp.inf, jnp.where(mirrored, reflected, beyond))


def digamma(x: Number) -> Number:
    """Returns the derivative of lgamma; at its poles NaN, at zero -inf, as in JAX."""
    mirrored = x < 0.5
    beyond = _digamma_beyond_half(jnp.where(mirrored, 1 - x, x))
    rest = x - jnp.round(x)
    slope = np.pi * jnp.cos(np.pi * rest) / jnp.sin(np.pi * rest)
    is_pole = mirrored & (rest == 0)
    at_pole = jnp.where(x == 0, -jnp.inf, jnp.nan)
    return jnp.where(is_pole, at_pole, jnp.where(mirrored, beyond - slope, beyond))


def _digamma_beyond_half(x: Number) -> Number:
    shifted = jnp.where(x < _FROM, x + 10, x)
    square = 1 / (shifted * shifted)
    series = jnp.log(shifted) - 0.5 / shifted - horner(_DIGAMMA, square) * square
    small = jnp.minimum(x, _FROM)
    below = sum((1 / (small + k) for k in range(1, 10)), start=1 / small)
    return jnp.where(x < _FROM, series - below, series)


compose_for("lgamma", lgamma, broadcasts=True)
compose_for("digamma", digamma, broadcasts=True)
