"""Reference derivatives by differences: many steps, and the one at which truncation and noise are least."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

RATIO = 8.0
"""Between one step and the next."""

_WIDEST = 0.0973  # Of the input's size: no round number, so that no period of a function falls on the steps.
_FEWEST, _MOST = 4, 15  # Steps down from the widest.
_UNSURE = 1e-7  # Relative error above which steps wider than the input itself are tried.


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Points along a direction through the inputs.

    Attributes:
        evaluate: the outputs at the inputs given as a vector.
        rounded: the vector as the inputs' dtypes can hold it.
        here: the inputs; `base`: the outputs there.
        direction: where the line goes.
        size: how far along it the inputs have changed by as much as they are; `limit`: how far a step may go.
        below: how far down the line the domain reaches; `above`: how far up.
    """

    evaluate: Callable[[Array], Array]
    rounded: Callable[[Array], Array]
    here: Array
    base: Array
    direction: Array
    size: float
    limit: float
    below: float
    above: float

    @property
    def side(self) -> int:
        """0 where steps go both ways; else 1 or -1, the way that the domain leaves."""
        if min(self.below, self.above) >= 1e-3 * self.size:
            return 0
        return 1 if self.above > self.below else -1

    @property
    def widest(self) -> float:
        """The step with which the study starts."""
        room = min(self.below, self.above) if self.side == 0 else max(self.below, self.above) / 2
        return min(_WIDEST * self.size, room)

    def leaving_the_bound(self) -> "Line":
        """Returns the line with steps away from the nearer bound alone, as wide as `limit`."""
        is_up = self.above > self.below
        return replace(
            self,
            size=self.limit,
            below=0.0 if is_up else self.below,
            above=self.above if is_up else 0.0,
        )

    def slope(self, step: float) -> tuple[Array, Array]:
        """Returns the derivative of each output by a difference of second order, and the larger output."""
        if self.side:
            near, far = (self._at(self.side * step * k) for k in (1, 2))
            values = (4 * near[1] - 3 * self.base - far[1]) / (2 * near[0])
            return values, np.maximum(abs(near[1]), abs(far[1]))
        up, down = self._at(step), self._at(-step)
        return (up[1] - down[1]) / (up[0] - down[0]), np.maximum(abs(up[1]), abs(down[1]))

    def one_way(self, step: float) -> Array:
        """Returns the change of each output over the step, divided by it."""
        moved, there = self._at((self.side or 1) * step)
        return (there - self.base) / moved

    def _at(self, distance: float) -> tuple[float, Array]:
        """Returns how far the inputs really move, after rounding, and the outputs there."""
        there = self.rounded(self.here + distance * self.direction)
        moved = float(np.dot(there - self.here, self.direction) / np.dot(self.direction, self.direction))
        return moved, self.evaluate(there)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The derivative of each output along a line.

    Attributes:
        slope: the most exact estimate; `error`: a bound on its error; `step`: where it was found, relative
            to the line's size.
        variation: how much each output changes over a tenth of the inputs' size, as a slope.
        is_finite: whether all outputs were finite at every step.
    """

    slope: Array
    error: Array
    step: Array
    variation: Array
    is_finite: bool


def study(line: Line, noise: Array, epsilon: Array) -> Study:
    """Returns the derivative along `line`, from differences at steps a factor of 8 apart.

    Each two neighbouring steps give an estimate by Richardson's extrapolation. Its error is bounded by
    that of the difference without extrapolation, which the change between the two steps shows, and by the
    noise divided by the step; the estimate with the least bound is taken, for each output apart.

    Args:
        noise: of each output; `epsilon`: the relative spacing of its numbers.

    Source: Ridders (1982), Accurate computation of F'(x) and F'(x) F''(x), Adv. Eng. Softw. 4(2), for the
    choice of the step with the least bound; the extrapolation is Richardson's.
    """
    ladder = _Ladder(line, noise, epsilon)
    while len(ladder.steps) < _FEWEST or (len(ladder.steps) < _MOST and not ladder.is_all_noise()):
        ladder.extend(line.widest / RATIO ** len(ladder.steps))
    variation = ladder.variation()
    step = line.widest * RATIO
    while line.side == 0 and step <= min(line.limit, line.below, line.above) and ladder.is_unsure():
        ladder.extend(step)
        step *= RATIO
    value, error, best = ladder.best()
    found = Study(
        slope=value, error=error, step=best / line.size, variation=variation, is_finite=ladder.is_finite()
    )
    is_cramped = line.side == 0 and min(line.below, line.above) < line.limit
    if is_cramped and max(line.below, line.above) > line.limit / 2 and ladder.is_unsure():
        return _better(found, study(line.leaving_the_bound(), noise, epsilon), line.limit / line.size)
    return found


def _better(one: Study, other: Study, ratio: float) -> Study:
    """Returns per output the estimate with the lesser bound; `ratio` is that of the two lines' sizes."""
    chosen = other.error < one.error
    return replace(
        one,
        slope=np.where(chosen, other.slope, one.slope),
        error=np.where(chosen, other.error, one.error),
        step=np.where(chosen, other.step * ratio, one.step),
        is_finite=one.is_finite and other.is_finite,
    )


class _Ladder:
    """Slopes at steps, widest first."""

    def __init__(self, line: Line, noise: Array, epsilon: Array) -> None:
        self._line, self._noise, self._epsilon = line, noise, epsilon
        self.steps: list[float] = []
        self._slopes: list[Array] = []
        self._sizes: list[Array] = []

    def extend(self, step: float) -> None:
        slope, size = self._line.slope(step)
        place = 0 if self.steps and step > self.steps[0] else len(self.steps)
        self.steps.insert(place, step)
        self._slopes.insert(place, slope)
        self._sizes.insert(place, np.maximum(size, abs(self._line.base)))

    def best(self) -> tuple[Array, Array, Array]:
        """Returns per output the estimate with the least bound, the bound, and the step."""
        wide, narrow = np.stack(self._slopes[:-1]), np.stack(self._slopes[1:])
        values = narrow + (narrow - wide) / (RATIO**2 - 1)
        bounds = abs(narrow - wide) / RATIO + self._rounding()[1:]
        bounds = np.where(np.isfinite(values) & np.isfinite(bounds), bounds, np.inf)
        chosen = np.argmin(bounds, axis=0)
        columns = np.arange(values.shape[1])
        return values[chosen, columns], bounds[chosen, columns], np.array(self.steps)[1:][chosen]

    def is_all_noise(self) -> bool:
        """Returns whether a smaller step could not do better: its noise alone exceeds the least bound."""
        _, bound, _ = self.best()
        return bool(np.all(self._rounding()[-1] >= bound))

    def is_unsure(self) -> bool:
        """Returns whether an output's slope is not known to seven digits, for what it and its changes are."""
        value, bound, _ = self.best()
        return bool(np.any(bound > _UNSURE * np.maximum(abs(value), abs(self._line.base) / self._line.limit)))

    def variation(self) -> Array:
        """Returns the slope of each output between here and the widest step, both ways and one way."""
        return np.fmax(abs(self._slopes[0]), abs(self._line.one_way(self.steps[0])))

    def is_finite(self) -> bool:
        return bool(np.isfinite(np.stack(self._slopes)).all())

    def _rounding(self) -> Array:
        noise = np.maximum(self._noise, self._epsilon * np.stack(self._sizes))
        return np.maximum(noise, self._quantum()) / np.array(self.steps)[:, None]

    def _quantum(self) -> Array:
        """Returns the least change of each output that jumps: that changes at wide steps alone."""
        changes = abs(np.stack(self._slopes)) * np.array(self.steps)[:, None]
        changed = changes > 0
        jumps = changed[:-1].any(axis=0) & ~changed[-1]
        return np.where(jumps, np.min(np.where(changed, changes, np.inf), axis=0), 0.0)
