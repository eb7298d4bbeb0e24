"""Modified Bessel functions of orders 0 and 1, scaled by exp(-|x|), in plain JAX code."""

from collections.abc import Callable
from math import factorial
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.special

from couplax.export._compositions import compose_for
from couplax.export._rules._fits import fitted, horner

Number = Any

_FAR = 8.0
"""Up to here by the power series, whose terms are all positive; beyond by a fit in 1 / x."""

_TERMS = 32


def _series(order: int) -> list[float]:
    """Returns the coefficients of I_order(x) / (x / 2)^order in powers of (x / 2)^2.

    Source: DLMF 10.25.2.
    """
    return [1 / (factorial(k) * factorial(k + order)) for k in range(_TERMS)]


def _i0e_root(part: np.ndarray) -> np.ndarray:
    """Returns sqrt(x) i0e(x) where x = far / part, smooth up to infinity."""
    x = _FAR / np.maximum(part, 1e-12)
    return scipy.special.i0e(x) * np.sqrt(x)


def _i1e_root(part: np.ndarray) -> np.ndarray:
    x = _FAR / np.maximum(part, 1e-12)
    return scipy.special.i1e(x) * np.sqrt(x)


def _beyond(fn: Callable[[np.ndarray], np.ndarray], a: Number) -> Number:
    """Returns a function beyond far from its fit in far / a."""
    far = jnp.maximum(a, _FAR)
    return fitted(fn, 22, 0.0, 1.0, _FAR / far) / jnp.sqrt(far)


def _near(order: int, a: Number) -> Number:
    """Returns exp(-a) I_order(a) up to far."""
    half = jnp.minimum(a, _FAR) / 2
    return jnp.exp(-2 * half) * half**order * horner(_series(order), half * half)


def bessel_i0e(x: Number) -> Number:
    """Returns exp(-|x|) I_0(x)."""
    a = jnp.abs(x)
    return jnp.where(a < _FAR, _near(0, a), _beyond(_i0e_root, a))


def bessel_i1e(x: Number) -> Number:
    """Returns exp(-|x|) I_1(x)."""
    a = jnp.abs(x)
    return jnp.sign(x) * jnp.where(a < _FAR, _near(1, a), _beyond(_i1e_root, a))


compose_for("bessel_i0e", bessel_i0e, broadcasts=True)
compose_for("bessel_i1e", bessel_i1e, broadcasts=True)
