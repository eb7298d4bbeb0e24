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
    values = problem.constraints(x)
    gradient, jacobian = problem.gradient(x), problem.jacobian(x)
    active = _active(problem.limits, values, near)
    active_bounds = _active(problem.bounds, x, near)
    rows, columns = np.flatnonzero(active), np.flatnonzero(active_bounds)
    multipliers, bound_multipliers = np.zeros(values.size), np.zeros(x.size)
    found = _multipliers(
        gradient,
        np.concatenate([jacobian[rows], np.eye(x.size)[columns]]),
        np.concatenate([active[rows], active_bounds[columns]]),
        np.concatenate([problem.limits.equal[rows], problem.bounds.equal[columns]]),
    )
    multipliers[rows], bound_multipliers[columns] = found[: rows.size], found[rows.size :]
    rest = gradient + jacobian.T @ multipliers + bound_multipliers
    terms = np.abs(gradient) + np.abs(jacobian.T) @ np.abs(multipliers)
    return Optimality(
        multipliers=multipliers,
        bound_multipliers=bound_multipliers,
        active=active,
        active_bounds=active_bounds,
        stationarity=float(np.max(np.abs(rest), initial=0.0) / max(1.0, np.max(terms, initial=0.0))),
        infeasibility=_infeasibility(problem, x),
    )


def _active(limits: Limits, values: Vector, near: float) -> Vector:
    """Returns 1 for an upper limit or an equality, -1 for a lower limit, and 0 where neither is reached."""
    at_upper = values >= limits.upper - near
    at_lower = values <= limits.lower + near
    # Between limits closer than the tolerance the nearer one counts.
    nearer = np.abs(limits.upper - values) <= np.abs(values - limits.lower)
    return np.where(limits.equal | (at_upper & (nearer | ~at_lower)), 1, np.where(at_lower, -1, 0))


def _multipliers(gradient: Vector, normals: Vector, signs: Vector, both: Vector) -> Vector:
    """Returns the multipliers, of the given signs but free for `both`, that leave the least of the gradient.

    Source: Nocedal and Wright (2006), Numerical Optimization, section 18.3, with signs.
    """
    if not signs.size:
        return np.zeros(0)
    lower = np.where(both | (signs < 0), -np.inf, 0.0)
    upper = np.where(both | (signs > 0), np.inf, 0.0)
    return np.asarray(
        scipy_optimize().lsq_linear(normals.T, -gradient, bounds=(lower, upper), method="bvls").x
    )
