"""Functions by Chebyshev fits, whose coefficients come from SciPy's functions when first asked for."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.special
from numpy.polynomial.chebyshev import cheb2poly

Number = Any

_EIGHTH = float(np.tan(np.pi / 8))


@cache
def _fit(fn: Callable[[np.ndarray], np.ndarray], degree: int, low: float, high: float) -> tuple[float, ...]:
    """Returns the coefficients, constant first, of the polynomial in t = -1..1 that fits `fn` on low..high.

    It passes through `fn` at the Chebyshev points, where it is all but the best fit there is. The sums are
    formed in extended precision, since their rounding would show in the last digits.
    """
    count = degree + 1
    angles = np.pi * (np.arange(count, dtype=np.longdouble) + 0.5) / count
    values = fn((low + (high - low) * (np.cos(angles) + 1) / 2).astype(np.float64)).astype(np.longdouble)
    weights = np.cos(np.outer(np.arange(count), angles)) * 2 / count
    weights[0] /= 2
    return tuple(float(number) for number in cheb2poly(weights @ values))


def fitted(fn: Callable[[np.ndarray], np.ndarray], degree: int, low: float, high: float, x: Number) -> Number:
    """Returns `fn(x)` by a fit on low..high."""
    t = (x - (low + high) / 2) * (2 / (high - low))
    return horner(_fit(fn, degree, low, high), t)


def horner(coefficients: Sequence[float], t: Number) -> Number:
    """Returns the sum of `coefficients[k] t^k`."""
    result = jnp.full_like(t, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result = result * t + coefficient
    return result


def _arctangent_over_x(square: np.ndarray) -> np.ndarray:
    root = np.sqrt(np.maximum(square, 1e-300))
    return np.arctan(root) / root


def arctangent(x: Number) -> Number:
    """Returns the arctangent of x in 0..1; beyond tan(pi/8) by the angle to pi/4, for a short fit."""
    far = x > _EIGHTH
    near = jnp.where(far, (x - 1) / (x + 1), x)
    angle = near * fitted(_arctangent_over_x, 12, 0.0, _EIGHTH**2, near * near)
    return jnp.where(far, np.pi / 4 + angle, angle)


def _erf_over_x(square: np.ndarray) -> np.ndarray:
    root = np.sqrt(np.maximum(square, 1e-300))
    return scipy.special.erf(root) / root


_CENTRE = 3.0
_FARTHEST = 28.0


def _scaled_erfc(t: np.ndarray) -> np.ndarray:
    # x = c (1 + t) / (1 - t) takes 1..28 to a short stretch on which exp(x^2) erfc(x) (x + c) is smooth.
    x = _CENTRE * (1 + t) / (1 - t)
    return scipy.special.erfcx(x) * (x + _CENTRE)


def _erfc_beyond_one(x: Number) -> Number:
    """Returns erfc(x) for x >= 1."""
    x = jnp.minimum(x, _FARTHEST)
    low, high = ((end - _CENTRE) / (end + _CENTRE) for end in (1.0, _FARTHEST))
    scaled = fitted(_scaled_erfc, 24, low, high, (x - _CENTRE) / (x + _CENTRE)) / (x + _CENTRE)
    # exp(-x^2) without the error of x^2: a part of few digits is squared exactly, the rest is small.
    part = jnp.floor(x * 16) / 16
    return jnp.exp(-part * part) * jnp.exp(-(x - part) * (x + part)) * scaled


def erf(x: Number) -> Number:
    """Returns the error function of x."""
    a = jnp.abs(x)
    near = jnp.minimum(a, 1.0)
    small = near * fitted(_erf_over_x, 14, 0.0, 1.0, near * near)
    return jnp.sign(x) * jnp.where(a < 1, small, 1 - _erfc_beyond_one(jnp.maximum(a, 1.0)))


def erfc(x: Number, accuracy: None = None) -> Number:
    """Returns 1 - erf(x), all its digits for large x too."""
    a = jnp.abs(x)
    near = jnp.minimum(a, 1.0)
    small = near * fitted(_erf_over_x, 14, 0.0, 1.0, near * near)
    far = _erfc_beyond_one(jnp.maximum(a, 1.0))
    tail = jnp.where(x < 0, 2 - far, far)
    return jnp.where(a < 1, 1 - jnp.sign(x) * small, tail)


def _erf_inv_over_x(w: np.ndarray) -> np.ndarray:
    """Returns erf_inv(x) / x where w = -log(1 - x^2)."""
    x = np.sqrt(-np.expm1(-np.maximum(w, 1e-300)))
    return scipy.special.erfcinv(np.exp(-w) / (1 + x)) / x


def _erf_inv_over_x_near_zero(w: np.ndarray) -> np.ndarray:
    x = np.sqrt(-np.expm1(-np.maximum(w, 1e-30)))
    return scipy.special.erfinv(x) / x


def _of_root(s: np.ndarray) -> np.ndarray:
    return _erf_inv_over_x(s * s)


def erf_inv(x: Number) -> Number:
    """Returns y with erf(y) = x.

    Source: the variable w = -log(1 - x^2) and the split of its range are those of Giles (2010), section 2.
    """
    w = -jnp.log((1 - x) * (1 + x))
    root = jnp.sqrt(w)
    pieces = (
        fitted(_erf_inv_over_x_near_zero, 22, 0.0, 6.25, jnp.minimum(w, 6.25)),
        fitted(_of_root, 18, 2.5, 4.0, jnp.clip(root, 2.5, 4.0)),
        fitted(_of_root, 16, 4.0, 6.1, jnp.clip(root, 4.0, 6.1)),
    )
    inner = jnp.where(w < 6.25, pieces[0], jnp.where(w < 16, pieces[1], pieces[2])) * x
    return jnp.where(jnp.abs(x) == 1, x * jnp.inf, jnp.where(jnp.isnan(w), w, inner))
