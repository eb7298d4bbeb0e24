"""How noisy a function is: the size of the errors with which it is computed."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_POINTS = 8
# Close enough to see the errors of the numbers, and as wide as a difference step, to see what spoils it.
_SPACINGS = (2.0**-44, 2.0**-25)
_WIDE = 2.0**-7  # For numbers of half precision.
_MORE_SPACINGS = (2.0**-34, 2.0**-19, 2.0**-9)  # Where neither tells.


def noise(evaluate: Callable[[float], Array], epsilon: float) -> Array:
    """Returns the standard deviation of the error in each output along a line, from tables of differences.

    Differences of a high order of a smooth function at close points are nothing but its errors, with a known
    factor. A level counts where three orders agree on it. Other spacings are tried where they do not: at
    points closer than the numbers inside the function can tell, nothing changes.

    Args:
        evaluate: the outputs at a distance, relative to the inputs, along the line.
        epsilon: the relative spacing of the inputs' numbers.

    Source: Moré and Wild (2011), Estimating computational noise, SIAM J. Sci. Comput. 33(3), section 3.
    """

    def level(spacing: float) -> Array:
        return _level(np.stack([evaluate(k * spacing) for k in range(_POINTS)]))

    first, *others = [spacing for spacing in _SPACINGS if spacing > 2 * epsilon] or [_WIDE]
    found = level(first)
    for spacing in others:
        found = np.fmax(found, level(spacing))
    for spacing in _MORE_SPACINGS:
        if np.isfinite(found).all():
            break
        if spacing > 2 * epsilon:
            found = np.where(np.isfinite(found), found, level(spacing))
    return np.where(np.isfinite(found), found, 0.0)


def _level(values: Array) -> Array:
    """Returns the noise of each column, nan where the table of differences does not tell."""
    levels: list[Array] = []
    signs: list[Array] = []
    table = values
    for order in range(1, _POINTS - 1):
        table = np.diff(table, axis=0)
        factor = math.factorial(order) ** 2 / math.factorial(2 * order)
        levels.append(np.sqrt(factor * np.mean(table**2, axis=0)))
        signs.append((table.max(axis=0) > 0) & (table.min(axis=0) < 0))
    distinct = (np.diff(values, axis=0) != 0).sum(axis=0) > _POINTS // 2
    found = np.full(values.shape[1], np.nan)
    for three, change in zip(zip(levels, levels[1:], levels[2:], strict=False), signs, strict=False):
        agree = np.max(three, axis=0) <= 4 * np.min(three, axis=0)
        found = np.where(np.isnan(found) & agree & change & distinct, three[0], found)
    return found
