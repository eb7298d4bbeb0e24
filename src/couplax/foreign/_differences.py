"""Derivatives by differences, for codes that offer none of their own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Arrays = Sequence[np.ndarray]
Evaluate = Callable[[Arrays], Arrays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Where a difference is taken.

    Attributes:
        inputs: all inputs of the code; `outputs`: what it returned there, as far as derivatives are wanted.
        typical: per input and element, the magnitude below which a relative step stops shrinking.
        epsilon: per input, the relative spacing of the numbers that the code computes with.
    """

    inputs: Arrays
    outputs: Arrays
    typical: Arrays
    epsilon: Sequence[float]


class AbstractDifferences(ABC):
    """A scheme that turns values of a code into the derivative along one direction.

    Law: on a code that is linear along the direction, the derivative is exact but for rounding; a direction
    that is zero costs no call; a direction and any multiple of it, negative too, are probed at the same
    point.
    """

    @abstractmethod
    def along(
        self, evaluate: Evaluate, point: Point, direction: Sequence[np.ndarray | None]
    ) -> list[np.ndarray]:
        """Returns the derivative of each output at `point` along `direction`, None standing for zero."""


@dataclass(frozen=True, slots=True)
class Forward(AbstractDifferences):
    """One-sided differences: one probe for a direction, error of the first order in the step.

    Attributes:
        step: the relative step; by default the square root of the inputs' precision, which balances
            truncation against rounding for a code as exact as its numbers.
    """

    step: float | None = None

    def along(
        self, evaluate: Evaluate, point: Point, direction: Sequence[np.ndarray | None]
    ) -> list[np.ndarray]:
        """Returns `(f(x + h v) - f(x)) / h` for each output, from one call."""
        pivot = _pivot(point, direction)
        if pivot is None:
            return [np.zeros_like(output) for output in point.outputs]
        inputs, step = _displaced(point, direction, pivot, self.step)
        return [
            np.asarray((there - here) * (pivot.value / step), here.dtype)
            for there, here in zip(evaluate(inputs), point.outputs, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pivot:
    """The element that a direction moves most: its `value` in the direction, its `typical` magnitude."""

    value: float
    typical: float


def _pivot(point: Point, direction: Sequence[np.ndarray | None]) -> _Pivot | None:
    moves = [
        (np.abs(v).ravel() / typical.ravel(), v.ravel(), typical.ravel())
        for v, typical in zip(direction, point.typical, strict=True)
        if v is not None and v.size
    ]
    if not moves:
        return None
    ratios, values, typicals = (np.concatenate(parts) for parts in zip(*moves, strict=True))
    place = int(np.argmax(ratios))
    return _Pivot(value=float(values[place]), typical=float(typicals[place])) if values[place] != 0 else None


def _displaced(
    point: Point, direction: Sequence[np.ndarray | None], pivot: _Pivot, step: float | None
) -> tuple[list[np.ndarray], float]:
    """Returns the displaced inputs and the step along the unit direction that they stand for after rounding.

    The unit direction has 1 at the pivot, so that a multiple of it is displaced to the same point. The
    displacement is formed in double precision, its size by the coarsest input that moves; the step is what
    rounding to the inputs' own precision left of it.
    """
    epsilon = max(e for e, v in zip(point.epsilon, direction, strict=True) if v is not None and np.any(v))
    size = (step if step is not None else epsilon**0.5) * pivot.typical
    inputs: list[np.ndarray] = []
    moved = length = 0.0
    for x, v in zip(point.inputs, direction, strict=True):
        if v is None:
            inputs.append(x)
            continue
        unit = np.asarray(v, np.float64) / pivot.value
        there = np.asarray(x.astype(np.float64) + size * unit, x.dtype)
        moved += float(np.vdot(there.astype(np.float64) - x.astype(np.float64), unit))
        length += float(np.vdot(unit, unit))
        inputs.append(there)
    return inputs, moved / length
