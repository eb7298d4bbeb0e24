"""Derivatives by differences, for codes that offer none of their own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]
Direction = Sequence[Array | None]
"""Per input how it moves; None where it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Where a difference is taken.

    Attributes:
        inputs: all inputs of the code; `outputs`: what it returned there, as far as derivatives are wanted.
        typical: per input and element, the magnitude that a relative step is relative to.
        epsilon: per input, the relative spacing of the numbers that the code computes with.
        lower, upper: per input and element, what the code's domain allows; `bounded`: whether it has bounds.
    """

    inputs: Arrays
    outputs: Arrays
    typical: Arrays
    epsilon: Sequence[float]
    bounded: bool
    lower: Arrays
    upper: Arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A difference that waits for its probes.

    Attributes:
        probes: the inputs at which the code is to be evaluated.
        combine: from the outputs there to the derivative of each output.
    """

    probes: Sequence[Arrays]
    combine: Callable[[Sequence[Arrays]], list[Array]]


@dataclass(frozen=True, slots=True)
class AbstractDifferences(ABC):
    """A scheme that turns values of a code into its derivative along one direction.

    Law: on a code that is linear along the direction the derivative is exact but for rounding; a zero
    direction costs no probe; a direction and any multiple of it, negative too, are probed at the same points.

    Attributes:
        step: the relative step; by default what balances truncation against rounding for a code as exact as
            its numbers.
        second: the relative step of second derivatives; None offers none.
    """

    step: float | None = None
    second: float | None = None

    def plan(self, point: Point, direction: Direction) -> Plan:
        """Returns the probes that the derivative at `point` along `direction` takes, and how they make it."""
        unit = _unit(point, direction)
        if unit is None:
            return Plan(probes=(), combine=lambda _: [np.zeros_like(output) for output in point.outputs])
        return self._plan(point, unit)

    @abstractmethod
    def _plan(self, point: Point, unit: "Unit") -> Plan:
        """Returns the plan along a direction that is not zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A direction scaled so that the element that it moves most for its size moves by 1.

    Attributes:
        vectors: the scaled direction; `value`: what it was divided by.
        typical: the magnitude of that element; `epsilon`: the spacing of the coarsest numbers that move.
    """

    vectors: Direction
    value: Any
    typical: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class Forward(AbstractDifferences):
    """One-sided differences: one probe for a direction, error of the first order in the step.

    The step turns to the other side where a bound is in its way.
    """

    def _plan(self, point: Point, unit: Unit) -> Plan:
        size = unit.typical * (unit.epsilon**0.5 if self.step is None else self.step)
        inputs, moved = displaced(point, unit, _inside(point, unit, size))

        def combine(results: Sequence[Arrays]) -> list[Array]:
            factor = unit.value / moved
            return [
                _as(there - here, factor, here) for there, here in zip(results[0], point.outputs, strict=True)
            ]

        return Plan(probes=[inputs], combine=combine)


@dataclass(frozen=True, slots=True)
class Central(AbstractDifferences):
    """Two-sided differences: two probes for a direction, error of the second order in the step.

    Where a bound leaves no room on both sides, the step is cut to what room there is, and at a bound it is
    one-sided.
    """

    def _plan(self, point: Point, unit: Unit) -> Plan:
        size = unit.typical * (unit.epsilon ** (1 / 3) if self.step is None else self.step)
        room = min(abs(_limited(point, unit, size)), abs(_limited(point, unit, -size)))
        if room < size * _LEAST_ROOM:
            return Forward(self.step).plan(point, _times(unit))
        above, right = displaced(point, unit, room)
        below, left = displaced(point, unit, -room)

        def combine(results: Sequence[Arrays]) -> list[Array]:
            factor = unit.value / (right - left)
            pairs = zip(*results, point.outputs, strict=True)
            return [_as(up - down, factor, here) for up, down, here in pairs]

        return Plan(probes=[above, below], combine=combine)


_LEAST_ROOM = 1e-2


@dataclass(frozen=True, slots=True)
class ComplexStep(AbstractDifferences):
    """The complex step: one probe for a direction, exact to rounding, for codes that take complex numbers.

    The code must compute with complex numbers as it does with real ones: no `abs`, no comparison, no
        conjugate. Inputs that
    are complex themselves cannot be stepped so.

    Source: Squire and Trapp (1998), Using complex variables to estimate derivatives of real functions, SIAM
    Review 40.
    """

    def _plan(self, point: Point, unit: Unit) -> Plan:
        size = unit.typical * (_COMPLEX_STEP if self.step is None else self.step)
        moves = zip(point.inputs, unit.vectors, strict=True)
        inputs = [x if v is None else x + 1j * size * v for x, v in moves]

        def combine(results: Sequence[Arrays]) -> list[Array]:
            factor = unit.value / size
            return [_as(r.imag, factor, here) for r, here in zip(results[0], point.outputs, strict=True)]

        return Plan(probes=[inputs], combine=combine)


_COMPLEX_STEP = 1e-100
"""Nothing is subtracted, so that the step may be as small as the numbers allow."""


def _as(difference: Array, factor: Any, like: Array) -> Array:
    scaled = difference * factor
    return np.asarray(scaled if np.iscomplexobj(like) else np.real(scaled), like.dtype)


def _times(unit: Unit) -> Direction:
    return [None if v is None else v * unit.value for v in unit.vectors]


def _unit(point: Point, direction: Direction) -> Unit | None:
    """Returns `direction` scaled, or None where it is zero."""
    best, place = 0.0, None
    for which, (v, typical) in enumerate(zip(direction, point.typical, strict=True)):
        if v is not None and v.size:
            ratios = np.abs(v) / typical
            index = np.unravel_index(int(np.argmax(ratios)), v.shape)
            if ratios[index] > best:
                best, place = float(ratios[index]), (which, v[index], float(typical[index]))
    if place is None:
        return None
    _, value, typical = place
    moving = [e for e, v in zip(point.epsilon, direction, strict=True) if v is not None and np.any(v)]
    vectors = [None if v is None else _wide(v) / value for v in direction]
    return Unit(vectors=vectors, value=_wide(value)[()], typical=typical, epsilon=max(moving))


def _wide(value: Any) -> Array:
    """Returns `value` in double precision, real or complex."""
    return np.asarray(value, np.complex128 if np.iscomplexobj(value) else np.float64)


def _inside(point: Point, unit: Unit, size: float) -> float:
    """Returns the step of at most `size` within the bounds, to the other side where there is more room."""
    ahead, behind = _limited(point, unit, size), _limited(point, unit, -size)
    return ahead if ahead == size or ahead >= -behind else behind


def _limited(point: Point, unit: Unit, size: float) -> float:
    """Returns `size`, cut so that no element leaves its bounds."""
    if not point.bounded:
        return size
    share = 1.0
    for x, v, lower, upper in zip(point.inputs, unit.vectors, point.lower, point.upper, strict=True):
        if v is None or np.iscomplexobj(x):
            continue
        move = size * v
        room = np.where(move > 0, upper - x, lower - x)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(move == 0, 1.0, room / move)
        share = min(share, float(np.min(shares, initial=1.0)))
    return size * max(share, 0.0)


def displaced(point: Point, unit: Unit, size: float) -> tuple[list[Array], float]:
    """Returns the inputs moved by `size` along `unit`, and the step that this was after rounding.

    The displacement is formed in double precision; rounding to the inputs' own precision leaves of it the
    step along the unit direction that the derivative is divided by.
    """
    inputs: list[Array] = []
    moved = length = 0.0
    for x, v in zip(point.inputs, unit.vectors, strict=True):
        if v is None:
            inputs.append(x)
            continue
        there = (_wide(x) + size * v).astype(x.dtype)
        moved += float(np.real(np.vdot(v, _wide(there) - _wide(x))))
        length += float(np.real(np.vdot(v, v)))
        inputs.append(there)
    return inputs, moved / length
