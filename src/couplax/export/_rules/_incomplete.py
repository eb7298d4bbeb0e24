"""Incomplete gamma and beta functions, by series and continued fractions that loop until they converge."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from couplax.export._compositions import compose_for

Number = Any

_MOST_TERMS = 2000


Loop = tuple[Any, Any]
"""A state, and the total that it adds to or multiplies."""

Step = Callable[[Loop], Loop]


def _converged(step: Step, start: Loop) -> Number:
    """Returns the total once no number of it moves."""

    def moves(old: Loop, new: Loop) -> Number:
        return jnp.abs(new[1] - old[1]) > jnp.finfo(new[1].dtype).eps * jnp.abs(new[1])

    return _repeated(step, moves, start)[1]


def _converged_with_slope(step: Step, start: Loop, tangent: Loop) -> tuple[Number, Number]:
    """Returns the total and its derivative along `tangent` once neither moves.

    A fraction may end, or a series converge, before its derivative does.
    """

    def moves(old: Any, new: Any) -> Number:
        size = jnp.finfo(new[0][1].dtype).eps * (jnp.abs(new[0][1]) + jnp.abs(new[1][1]))
        return jnp.maximum(jnp.abs(new[0][1] - old[0][1]), jnp.abs(new[1][1] - old[1][1])) > size

    (_, total), (_, slope) = _repeated(
        lambda both: jax.jvp(step, (both[0],), (both[1],)), moves, (start, tangent)
    )
    return total, slope


def _repeated(step: Callable[[Any], Any], moves: Callable[[Any, Any], Number], start: Any) -> Any:
    """Returns what `step` leads to, each lane by itself, once it does not move; NaN moves no more."""

    def goes_on(loop: Any) -> Any:
        count, _, moving = loop
        return moving.any() & (count < _MOST_TERMS)

    def turn(loop: Any) -> Any:
        count, old, moving = loop
        new = jax.tree.map(lambda old, new: jnp.where(moving, new, old), old, step(old))
        return count + 1, new, moving & moves(old, new)

    lanes = jnp.ones(jax.tree.leaves(start)[0].shape, bool)
    return lax.while_loop(goes_on, turn, (0, start, lanes))[1]


def _weight(a: Number, x: Number) -> Number:
    """Returns x^a exp(-x) / gamma(a)."""
    return jnp.exp(a * jnp.log(x) - x - lax.lgamma(a))


def _series(x: Number, loop: Loop) -> Loop:
    """Returns one term more of a P(a, x) / weight, for x not much above a.

    Source: DLMF 8.7.1.
    """
    (factor, place), total = loop
    factor = factor * x / (place + 1)
    return (factor, place + 1), total + factor


def _series_start(x: Number, a: Number) -> Loop:
    return (jnp.ones_like(x), a), jnp.ones_like(x)


def _fraction(x: Number, loop: Loop) -> Loop:
    """Returns Q(a, x) / weight with one level more of its fraction, for x above a and 1.

    Source: DLMF 8.9.2 in its even form, by Lentz's algorithm as of Thompson & Barnett (1986).
    """
    (count, low, high, a), total = loop
    numerator, beside = -count * (count - a), x - a + 2 * count + 1
    low = 1 / (beside + numerator * low)
    high = beside + numerator / high
    return (count + 1, low, high, a), total * (low * high)


def _fraction_start(x: Number, a: Number) -> Loop:
    first = 1 / (x - a + 1)
    largest = jnp.full_like(x, jnp.finfo(x.dtype).max / 1e6)
    return (jnp.ones_like(x), first, largest, a), first


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arguments:
    """The arguments of P and Q, split by how they are computed.

    Attributes:
        by_fraction: where the fraction serves, elsewhere the series does.
        series: a and x for the series, harmless numbers in place of those that are not for it.
        fraction: a and x for the fraction likewise.
    """

    by_fraction: Number
    series: tuple[Number, Number]
    fraction: tuple[Number, Number]


def _arguments(a: Number, x: Number) -> _Arguments:
    by_fraction = (x > 1) & (x > a)
    is_inside = (x > 0) & (a > 0) & jnp.isfinite(x) & jnp.isfinite(a)
    for_series, for_fraction = is_inside & ~by_fraction, is_inside & by_fraction
    return _Arguments(
        by_fraction=by_fraction,
        series=(jnp.where(for_series, a, 1), jnp.where(for_series, x, 1)),
        fraction=(jnp.where(for_fraction, a, 1), jnp.where(for_fraction, x, 2)),
    )


def _incomplete(a: Number, x: Number, *, upper: bool) -> Number:
    """Returns P(a, x), or Q(a, x) = 1 - P(a, x)."""
    split = _arguments(a, x)
    (one, small), (other, large) = split.series, split.fraction
    series = _converged(partial(_series, small), _series_start(small, one)) * _weight(one, small) / one
    fraction = _converged(partial(_fraction, large), _fraction_start(large, other)) * _weight(other, large)
    lower = jnp.where(split.by_fraction, 1 - fraction, series)
    found = jnp.where(split.by_fraction, fraction, 1 - series) if upper else lower
    at_zero, at_end = (1, 0) if upper else (0, 1)
    found = jnp.where((x == 0) | jnp.isinf(a), at_zero, found)
    found = jnp.where((a == 0) | jnp.isinf(x), at_end, found)
    has_no_limit = ((a == 0) & (x == 0)) | (jnp.isinf(a) & jnp.isinf(x))
    is_outside = (x < 0) | (a < 0) | jnp.isnan(x) | jnp.isnan(a)
    return jnp.where(has_no_limit | is_outside, jnp.nan, found)


def igamma(a: Number, x: Number) -> Number:
    """Returns the regularised lower incomplete gamma function P(a, x)."""
    return _incomplete(a, x, upper=False)


def igammac(a: Number, x: Number) -> Number:
    """Returns the regularised upper incomplete gamma function Q(a, x)."""
    return _incomplete(a, x, upper=True)


def igamma_grad_a(a: Number, x: Number) -> Number:
    """Returns the derivative of P(a, x) with respect to a, by that of the series or the fraction."""
    split = _arguments(a, x)
    one, small = split.series
    value, slope = _with_slope(_series, _series_start, one, small)
    log_slope = jnp.log(small) - lax.digamma(one) - 1 / one
    series = _weight(one, small) / one * (slope + value * log_slope)
    other, large = split.fraction
    value, slope = _with_slope(_fraction, _fraction_start, other, large)
    log_slope = jnp.log(large) - lax.digamma(other)
    fraction = -_weight(other, large) * (slope + value * log_slope)
    found = jnp.where(split.by_fraction, fraction, series)
    is_inside = (x > 0) & (a > 0) & jnp.isfinite(x) & jnp.isfinite(a)
    return jnp.where(is_inside, found, jnp.where((x == 0) & (a > 0), 0, jnp.nan))


def _with_slope(
    step: Callable[[Number, Loop], Loop],
    start: Callable[[Number, Number], Loop],
    a: Number,
    x: Number,
) -> tuple[Number, Number]:
    """Returns a sum or fraction and its derivative with respect to a."""
    begin, tangent = jax.jvp(partial(start, x), (a,), (jnp.ones_like(a),))
    return _converged_with_slope(partial(step, x), begin, tangent)


def regularized_incomplete_beta(a: Number, b: Number, x: Number) -> Number:
    """Returns I_x(a, b); where its fraction converges slowly, by I_x(a, b) = 1 - I_(1-x)(b, a)."""
    turned = x > (a + 1) / (a + b + 2)
    known = ~((x > 0) & (x < 1) & (a > 0) & (b > 0) & jnp.isfinite(a) & jnp.isfinite(b))
    first, second = jnp.where(turned, b, a), jnp.where(turned, a, b)
    place = jnp.where(turned, 1 - x, x)
    first, second = jnp.where(known, 1, first), jnp.where(known, 1, second)
    place = jnp.where(known, 0.25, place)
    rest = jnp.where(known, 0.75, jnp.where(turned, x, 1 - x))
    log_weight = lax.lgamma(first + second) - lax.lgamma(first) - lax.lgamma(second)
    log_weight = log_weight + first * jnp.log(place) + second * jnp.log(rest)
    part = jnp.exp(log_weight) / first * _beta_fraction(first, second, place)
    found = jnp.where(turned, 1 - part, part)
    # With a = 0 all weight lies at 0, with b = 0 at 1; an infinite one is the other way round.
    at_zero, at_one = (a == 0) | jnp.isinf(b), (b == 0) | jnp.isinf(a)
    found = jnp.where(at_zero, 1, jnp.where(at_one, 0, found))
    found = jnp.where(x == 0, 0, jnp.where(x == 1, 1, found))
    is_inside = (x >= 0) & (x <= 1) & (a >= 0) & (b >= 0)
    return jnp.where(is_inside & ~(at_zero & at_one), found, jnp.nan)


def _beta_fraction(a: Number, b: Number, x: Number) -> Number:
    """Returns the continued fraction of the incomplete beta function.

    Source: DLMF 8.17.22 and 8.17.23, by Lentz's algorithm, two of its levels at a time.
    """

    def step(loop: Loop) -> Loop:
        (count, low, high), total = loop
        double = a + 2 * count
        even = count * (b - count) * x / ((double - 1) * double)
        odd = -(a + count) * (a + b + count) * x / (double * (double + 1))
        low, high = 1 / (1 + even * low), 1 + even / high
        total = total * (low * high)
        low, high = 1 / (1 + odd * low), 1 + odd / high
        return (count + 1, low, high), total * (low * high)

    one = jnp.ones_like(x)
    start = 1 / (1 - (a + b) * x / (a + 1))
    return _converged(step, ((one, start, one), start))


compose_for("igamma", igamma)
compose_for("igammac", igammac)
compose_for("igamma_grad_a", igamma_grad_a)
compose_for("regularized_incomplete_beta", regularized_incomplete_beta)
