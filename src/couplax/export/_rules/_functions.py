"""Elementary functions that ONNX lacks, or ONNX Runtime in double precision, in plain JAX code.

Each is accurate to a few units in the last place, at zeros, at infinity and beyond the range too.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import compose_for, composed_beside
from couplax.export._rules._fits import arctangent, erf, erf_inv, erfc
from couplax.export._table import rule_for

Number = Any

_LOG_2 = float(np.log(2.0))


def log1p(x: Number, accuracy: None = None) -> Number:
    """Returns log(1 + x).

    The rounding error of u = 1 + x is known, u - 1 being exact: log(u) x / (u - 1) takes it out again.

    Source: Kahan, as in Goldberg (1991), theorem 4.
    """
    u = 1 + x
    return jnp.where(u == 1, x, jnp.where(u == jnp.inf, u, jnp.log(u) * (x / (u - 1))))


def expm1(x: Number, accuracy: None = None) -> Number:
    """Returns exp(x) - 1, by the inverse of the correction in `log1p`."""
    u = jnp.exp(x)
    corrected = (u - 1) * (x / jnp.log(u))
    far = jnp.isinf(u) | (u - 1 == -1)
    return jnp.where(u == 1, x, jnp.where(far, u - 1, corrected))


def sinh(x: Number) -> Number:
    """Returns (exp(x) - exp(-x)) / 2."""
    a = jnp.abs(x)
    t = expm1(a)
    # Half the exponential is squared where the exponential itself would overflow.
    half = jnp.exp(a / 2)
    return jnp.sign(x) * jnp.where(a < 20, (t + t / (t + 1)) / 2, (half / 2) * half)


def cosh(x: Number) -> Number:
    """Returns (exp(x) + exp(-x)) / 2."""
    a = jnp.abs(x)
    half = jnp.exp(a / 2)
    return jnp.where(a < 20, (jnp.exp(a) + jnp.exp(-a)) / 2, (half / 2) * half)


def asinh(x: Number) -> Number:
    """Returns log(x + sqrt(x^2 + 1))."""
    a = jnp.abs(x)
    square = a * a
    near = log1p(a + square / (1 + jnp.sqrt(1 + square)))
    return jnp.sign(x) * jnp.where(a < 1e8, near, jnp.log(a) + _LOG_2)


def acosh(x: Number) -> Number:
    """Returns log(x + sqrt(x^2 - 1))."""
    t = x - 1
    near = log1p(t + jnp.sqrt(t * (t + 2)))
    return jnp.where(x < 1, jnp.nan, jnp.where(x < 1e8, near, jnp.log(x) + _LOG_2))


def atanh(x: Number) -> Number:
    """Returns log((1 + x) / (1 - x)) / 2."""
    a = jnp.abs(x)
    return jnp.sign(x) * (log1p(2 * (a / (1 - a))) / 2)


def tan(x: Number, accuracy: None = None) -> Number:
    """Returns sin(x) / cos(x)."""
    return jnp.sin(x) / jnp.cos(x)


def atan(x: Number) -> Number:
    """Returns the angle in -pi/2..pi/2 whose tangent is x."""
    a = jnp.abs(x)
    big = a > 1
    angle = arctangent(jnp.where(big, 1 / a, a))
    return jnp.sign(x) * jnp.where(big, np.pi / 2 - angle, angle)


def atan2(y: Number, x: Number) -> Number:
    """Returns the angle of the point (x, y), signs of zeros and infinities included."""
    a, b = jnp.abs(x), jnp.abs(y)
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    # Both zero or both infinite: the quotient is not defined, the angle is.
    quotient = jnp.where(jnp.isinf(low), 1.0, jnp.where(high == 0, low, low / high))
    angle = arctangent(quotient)
    angle = jnp.where(b > a, np.pi / 2 - angle, angle)
    angle = jnp.where(_is_negative(x), np.pi - angle, angle)
    return jnp.where(_is_negative(y), -angle, angle)


def _is_negative(x: Number) -> Number:
    """Returns whether x bears a minus sign, that of -0. included."""
    return (x < 0) | ((x == 0) & (1 / x < 0))


def asin(x: Number) -> Number:
    """Returns the angle in -pi/2..pi/2 whose sine is x."""
    return atan2(x, jnp.sqrt((1 - x) * (1 + x)))


def acos(x: Number) -> Number:
    """Returns the angle in 0..pi whose cosine is x."""
    return 2 * atan2(jnp.sqrt(1 - x), jnp.sqrt(1 + x))


def cbrt(x: Number, accuracy: None = None) -> Number:
    """Returns the cube root of x: a power, and one step of Newton's method against the rounding of 1/3."""
    a = jnp.abs(x)
    root = a ** (1 / 3)
    better = root - (root - a / (root * root)) / 3
    return jnp.sign(x) * jnp.where((a == 0) | jnp.isinf(a), a, better)


def nextafter(x: Number, y: Number) -> Number:
    """Returns the neighbour of x towards y: the bits of x, read as an integer, one up or one down."""
    integer = jnp.dtype(f"int{8 * x.dtype.itemsize}")
    bits = lax.bitcast_convert_type(x, integer)
    outwards = (y > x) == (x > 0)
    step = jnp.where(outwards, jnp.ones((), integer), -jnp.ones((), integer))
    smallest = lax.bitcast_convert_type(jnp.ones((), integer), x.dtype)
    moved = lax.bitcast_convert_type(bits + step, x.dtype)
    from_zero = jnp.where(y > 0, smallest, -smallest)
    result = jnp.where(x == y, y, jnp.where(x == 0, from_zero, moved))
    return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, result)


def total_order(x: Number) -> Number:
    """Returns an integer per number, in the order -NaN, -inf, ..., -0., 0., ..., inf, NaN.

    The bits of positive numbers are in order as they are; those of negative ones are in reverse.
    """
    integer = jnp.dtype(f"int{8 * x.dtype.itemsize}")
    bits = lax.bitcast_convert_type(x, integer)
    return jnp.where(bits < 0, bits ^ jnp.iinfo(integer).max, bits)


def _in_total_order(compare: Callable[..., Number], x: Number, y: Number) -> Number:
    if jnp.issubdtype(x.dtype, jnp.floating):
        x, y = total_order(x), total_order(y)
    return compare(x, y)


for _primitive, _compare in {"eq_to": jnp.equal, "lt_to": jnp.less, "le_to": jnp.less_equal}.items():
    compose_for(_primitive, partial(_in_total_order, _compare))

_FUNCTIONS = {"log1p": log1p, "expm1": expm1, "cbrt": cbrt}
_ALSO_AN_OPERATOR = {
    "acos": ("Acos", acos),
    "acosh": ("Acosh", acosh),
    "asin": ("Asin", asin),
    "asinh": ("Asinh", asinh),
    "atan": ("Atan", atan),
    "atanh": ("Atanh", atanh),
    "cosh": ("Cosh", cosh),
    "sinh": ("Sinh", sinh),
    "tan": ("Tan", tan),
}

for _primitive, _function in _FUNCTIONS.items():
    compose_for(_primitive, _function, broadcasts=True)

for _primitive, (_op_type, _function) in _ALSO_AN_OPERATOR.items():
    rule_for(_primitive, broadcasts=True)(composed_beside(_op_type, _function))

compose_for("atan2", atan2)
compose_for("nextafter", nextafter)
compose_for("erf_inv", erf_inv, broadcasts=True)
compose_for("erfc", erfc, broadcasts=True)
rule_for("erf", broadcasts=True)(composed_beside("Erf", erf))
