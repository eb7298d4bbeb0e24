"""By what everything is divided, so that an optimiser sees numbers near one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from couplax._errors import ModelError

from ._layout import Block, Layout
from ._limits import Limits

Vector = np.ndarray[Any, Any]

# An objective that is scaled up so far keeps twelve digits of double precision.
_LEAST_SLOPE = 1e-4
# A vector may hold numbers of different units; what is smaller beside the others counts as zero.
_LEAST_IN_BLOCK = 1e-5


@dataclass(frozen=True, slots=True)
class Scaling:
    """The magnitudes that everything is divided by.

    Attributes:
        design: one for each design variable; `objective`; `constraints`: one for each constraint.
    """

    design: Vector
    objective: float
    constraints: Vector


def design_scale(layout: Layout, limits: Limits, start: Vector) -> Vector:
    """Returns the range of each variable between its bounds, else the size of its start, else 1."""
    width = limits.upper - limits.lower
    sizes = np.concatenate([np.zeros(0), *(_sizes(start[part]) for part in layout.slices.values())])
    ranged = np.isfinite(width) & (width > 0)
    return np.where(ranged, np.where(ranged, width, 1.0), np.where(sizes > 0, sizes, 1.0))


def _sizes(start: Vector) -> Vector:
    """Returns the sizes of the numbers of one variable; the largest one where a number is next to none."""
    sizes = np.abs(start)
    largest = np.max(sizes, initial=0.0)
    return np.where(sizes > _LEAST_IN_BLOCK * largest, sizes, largest)


def objective_scale(value: float, gradient: Vector) -> float:
    """Returns the largest slope at the start, in scaled variables, but not far less than the value itself."""
    return _or_one(max(float(np.max(np.abs(gradient), initial=0.0)), _LEAST_SLOPE * abs(value)))


def constraint_scale(layout: Layout, values: Vector, limits: Limits, jacobian: Vector) -> Vector:
    """Returns for each constraint its largest slope at the start, but not far less than those beside it.

    A constraint that is flat at the start would else be blown up beyond all others.
    """
    slopes = np.max(np.abs(jacobian), axis=1, initial=0.0)
    sizes = np.maximum(np.abs(values), _finite_size(limits))
    scales: list[Vector] = []
    for block in layout.blocks:
        part = layout.slices[block.name]
        least = np.maximum(_LEAST_IN_BLOCK * np.max(slopes[part], initial=0.0), _LEAST_SLOPE * sizes[part])
        scales.append(np.array([_or_one(scale) for scale in np.maximum(slopes[part], least)]))
    return np.concatenate([np.zeros(0), *scales])


def _finite_size(limits: Limits) -> Vector:
    """Returns the larger finite limit of each constraint, zero where there is none."""
    sides = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (limits.lower, limits.upper)]
    return np.maximum(sides[0], sides[1])


def _or_one(scale: float) -> float:
    return float(scale) if np.isfinite(scale) and scale > 0 else 1.0


def overridden(layout: Layout, scale: Vector, given: Mapping[str, Any]) -> Vector:
    """Returns `scale` with the blocks that `given` names set to what it says.

    Raises:
        ModelError: what it says does not fit.
    """
    changed = scale.copy()
    for block in layout.blocks:
        if block.name in given:
            changed[layout.slices[block.name]] = _magnitudes(block, given[block.name])
    return changed


def _magnitudes(block: Block, given: Any) -> Vector:
    """Returns what the user gives as magnitudes of the numbers of `block`.

    Raises:
        ModelError: it does not fit.
    """
    try:
        return block.flat(given)
    except (TypeError, ValueError):
        shapes = ", ".join(str(struct.shape) for struct in block.structs)
        raise ModelError(
            [
                f"the scale of `{block.name}` has shape {np.shape(given)}, and its own shape is {shapes}. "
                "Pass one number, or an array of that shape."
            ]
        ) from None
