"""The conditions of Karush, Kuhn and Tucker at a point: which limits are active, with which multipliers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._limits import Limits
from ._problem import Problem
from ._scipy import scipy_optimize

Vector = np.ndarray[Any, Any]

# How near its limit a value counts as held by it, in scaled numbers. An interior point ends as far away as
# its barrier is wide: where the nearest limits do not explain the gradient, farther ones are looked at too.
_NEAR = (1e-6, 1e-5, 1e-4)

# In a corner of bounds and constraints all multipliers are found at once, up to so many variables.
_MOST_AT_ONCE = 1000

STATIONARY = 1e-6
"""Below this the Lagrangian counts as flat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimality:
    """How well the conditions hold: grad f + J^T multipliers + bound_multipliers = 0; all scaled.

    A multiplier is positive at an upper limit and negative at a lower one.

    Attributes:
        multipliers: one for each constraint, zero where none of its limits is active.
        bound_multipliers: one for each design variable, likewise.
        active: one for each constraint: 1 at its upper limit or an equality, -1 at its lower limit, else 0.
        active_bounds: one for each design variable, likewise.
        stationarity: the largest entry of what should be zero, relative to the terms it is the sum of.
        infeasibility: by how much the most violated limit is.
    """

    multipliers: Vector
    bound_multipliers: Vector
    active: Vector
    active_bounds: Vector
    stationarity: float
    infeasibility: float


def optimality(problem: Problem, x: Vector) -> Optimality:
    """Returns how well the conditions hold at `x`, with the multipliers for which they hold best."""
    found = [_optimality(problem, x, _NEAR[0])]
    for near in _NEAR[1:]:
        if found[-1].stationarity <= STATIONARY:
            return found[-1]
        found.append(_optimality(problem, x, near))
    return min(found, key=lambda each: each.stationarity)


def unknown(problem: Problem, x: Vector) -> Optimality:
    """Returns what can be said at `x` without derivatives."""
    constraints, size = problem.limits.lower.size, x.size
    return Optimality(
        multipliers=np.full(constraints, np.nan),
        bound_multipliers=np.full(size, np.nan),
        active=_active(problem.limits, problem.constraints(x), _NEAR[0]),
        active_bounds=_active(problem.bounds, x, _NEAR[0]),
        stationarity=np.inf,
        infeasibility=_infeasibility(problem, x),
    )


def _infeasibility(problem: Problem, x: Vector) -> float:
    """Returns by how much the most violated limit is."""
    violations = (problem.bounds.violation(x), problem.limits.violation(problem.constraints(x)))
    return float(max(np.max(violation, initial=0.0) for violation in violations))


def _optimality(problem: Problem, x: Vector, near: float) -> Optimality:
    """Returns how well the conditions hold with the limits that are `near`."""
    active = _active(problem.limits, problem.constraints(x), near)
    active_bounds = _active(problem.bounds, x, near)
    rows, columns = np.flatnonzero(active), np.flatnonzero(active_bounds)
    held = _Held(
        gradient=problem.gradient(x),
        normals=problem.jacobian(x)[rows],
        sides=_Sides(active[rows], problem.limits.equal[rows]),
        columns=columns,
        bounds=_Sides(active_bounds[columns], problem.bounds.equal[columns]),
    )
    found, of_bounds, left = held.multipliers()
    return Optimality(
        multipliers=_placed(found, rows, active.size),
        bound_multipliers=_placed(of_bounds, columns, x.size),
        active=active,
        active_bounds=active_bounds,
        stationarity=left,
        infeasibility=_infeasibility(problem, x),
    )


def _placed(values: Vector, places: Vector, size: int) -> Vector:
    """Returns zeros with `values` in their places."""
    whole = np.zeros(size)
    whole[places] = values
    return whole


@dataclass(frozen=True, slots=True)
class _Sides:
    """At which side limits are active, and so of which sign their multipliers are.

    Attributes:
        side: 1 or -1; `equal`: where the limit is an equality, whose multiplier has either sign.
    """

    side: Vector
    equal: Vector

    @property
    def range(self) -> tuple[Vector, Vector]:
        """The least and the greatest multipliers."""
        lower = np.where(self.equal | (self.side < 0), -np.inf, 0.0)
        return lower, np.where(self.equal | (self.side > 0), np.inf, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """What holds a point: the slopes there, and the active limits.

    Attributes:
        gradient: of f; `normals`: the slopes of the active constraints; `sides`: theirs.
        columns: the variables at a bound; `bounds`: their sides.
    """

    gradient: Vector
    normals: Vector
    sides: _Sides
    columns: Vector
    bounds: _Sides

    def multipliers(self) -> tuple[Vector, Vector, float]:
        """Returns the multipliers of the constraints and of the bounds, and the slope that they leave."""
        at_no_bound = np.ones(self.gradient.size, bool)
        at_no_bound[self.columns] = False
        found = _least(self.normals[:, at_no_bound], self.gradient[at_no_bound], *self.sides.range)
        pushed = -(self.gradient + self.normals.T @ found)[self.columns]
        of_bounds = np.clip(pushed, *self.bounds.range)
        left = self._left(found, of_bounds)
        if left <= STATIONARY or not found.size or self.gradient.size > _MOST_AT_ONCE:
            return found, of_bounds, left
        return self._at_once()

    def _at_once(self) -> tuple[Vector, Vector, float]:
        """Returns the same where the free variables alone do not tell the multipliers: in a corner."""
        normals = np.concatenate([self.normals, np.eye(self.gradient.size)[self.columns]])
        lower, upper = (
            np.concatenate(pair) for pair in zip(self.sides.range, self.bounds.range, strict=True)
        )
        both = _least(normals, self.gradient, lower, upper)
        found, of_bounds = np.split(both, [len(self.normals)])
        return found, of_bounds, self._left(found, of_bounds)

    def _left(self, found: Vector, of_bounds: Vector) -> float:
        """Returns the largest entry of the Lagrangian's gradient, relative to the terms it is the sum of."""
        rest = self.gradient + self.normals.T @ found
        rest[self.columns] += of_bounds
        terms = np.abs(self.gradient) + np.abs(self.normals.T) @ np.abs(found)
        return float(np.max(np.abs(rest), initial=0.0) / max(1.0, np.max(terms, initial=0.0)))


def _least(normals: Vector, gradient: Vector, lower: Vector, upper: Vector) -> Vector:
    """Returns the multipliers m in their ranges with the least |gradient + normals^T m|.

    Source: Nocedal and Wright (2006), Numerical Optimization, section 18.3, with signs.
    """
    if not len(normals):
        return np.zeros(0)
    if not gradient.size:
        return np.clip(np.zeros(len(normals)), lower, upper)
    found = scipy_optimize().lsq_linear(normals.T, -gradient, bounds=(lower, upper), method="bvls")
    return np.asarray(found.x)


def _active(limits: Limits, values: Vector, near: float) -> Vector:
    """Returns 1 for an upper limit or an equality, -1 for a lower limit, and 0 where neither is reached."""
    at_upper = values >= limits.upper - near
    at_lower = values <= limits.lower + near
    # Between limits closer than the tolerance the nearer one counts.
    nearer = np.abs(limits.upper - values) <= np.abs(values - limits.lower)
    return np.where(limits.equal | (at_upper & (nearer | ~at_lower)), 1, np.where(at_lower, -1, 0))
