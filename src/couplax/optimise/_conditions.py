"""The optimality conditions differentiated: how the optimal design moves with what was fixed.

With the active limits kept active, the optimal x and the multipliers m of the active constraints c solve

    grad_x f(x, p) + J(x, p)^T m = 0,    c(x, p) = limits,

so that their derivatives with respect to the parameters p solve the linear system of its Jacobian,

    [ H  J^T ] [ dx ]      [ H_xp ]
    [ J   0  ] [ dm ] =  - [ J_p  ],

with H the second derivatives of the Lagrangian. Variables at their bounds do not move.

Source: Fiacco (1976), Sensitivity analysis for nonlinear programming using penalty methods, Math. Program.
10.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from couplax._errors import original_errors
from couplax.graph import shortened

from ._analysis import curvature
from ._layout import Layout
from ._optimality import Optimality
from ._prepared import Prepared
from ._scaling import Scaling

Vector = np.ndarray[Any, Any]

# In scaled numbers.
_NO_MULTIPLIER = 1e-6
_DEPENDENT = 1e-9
_NO_CURVATURE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A problem with its optimum.

    Attributes:
        design: flat, in the model's units.
        guesses: the unknowns of the solves at the optimum.
    """

    prepared: Prepared
    scaling: Scaling
    design: Vector
    optimality: Optimality
    guesses: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Conditions:
    """The matrices of the system above in scaled numbers, at the optimum.

    Attributes:
        free: which design variables are at no bound; `held`: which constraints are at a limit.
        hessian: H of the free ones; `mixed`: H_xp; `normals`: J of the held ones; `moved`: J_p.
    """

    free: Vector
    held: Vector
    hessian: Vector
    mixed: Vector
    normals: Vector
    moved: Vector


def conditions_at(solved: Solved, layout: Layout, numbers: tuple[Any, Any]) -> Conditions:
    """Returns the conditions at the optimum, scaled."""
    scaling, at = solved.scaling, solved.optimality
    divisors = np.concatenate([[scaling.objective], scaling.constraints])
    weights = np.concatenate([[1.0], at.multipliers]) / divisors
    with original_errors():
        first, second = curvature(
            solved.prepared.analysis,
            layout,
            numbers,
            solved.prepared.fixed,
            solved.guesses,
            jnp.asarray(weights),
        )
    size = solved.design.size
    widths = np.concatenate([scaling.design, np.ones(layout.size)])
    slopes = np.asarray(first, float)[1:] / scaling.constraints[:, None] * widths
    bends = np.asarray(second, float) * scaling.design[:, None] * widths
    free, held = at.active_bounds == 0, at.active != 0
    return Conditions(
        free=free,
        held=held,
        hessian=bends[free][:, :size][:, free],
        mixed=bends[free][:, size:],
        normals=slopes[held][:, :size][:, free],
        moved=slopes[held][:, size:],
    )


def irregular(solved: Solved, conditions: Conditions) -> Iterator[str]:
    """Yields why the active limits or the optimum would jump when a parameter moves a little."""
    weak = list(_weak(solved))
    if weak:
        verb = "is" if len(weak) == 1 else "are"
        yield f"{shortened(weak)} {verb} at a limit that does not push: the multiplier is zero"
    normals = conditions.normals
    singular = np.linalg.svd(normals, compute_uv=False) if normals.size else np.zeros(0)
    rank = int(np.sum(singular > _DEPENDENT * np.max(singular, initial=0.0)))
    if rank < len(normals):
        labels = np.array(solved.prepared.constraints.labels)[conditions.held]
        yield (
            f"the slopes of the active constraints {shortened(list(labels))} depend on each other "
            f"({len(labels)} of them, of rank {rank} in the {normals.shape[1]} free design variables)"
        )
        return
    flat = _flattest(conditions)
    if flat is not None and flat <= _NO_CURVATURE * max(1.0, float(np.max(np.abs(conditions.hessian)))):
        yield (
            "it is not alone: along some direction that keeps the active limits the Lagrangian has no "
            f"positive curvature ({flat:.1e})"
        )


def _weak(solved: Solved) -> Iterator[str]:
    """Yields the names of active limits with no multiplier."""
    prepared, at = solved.prepared, solved.optimality
    sides = (
        (prepared.constraints.labels, at.active, at.multipliers, prepared.limits.equal),
        (prepared.space.layout.labels, at.active_bounds, at.bound_multipliers, prepared.space.limits.equal),
    )
    for labels, active, multipliers, equal in sides:
        for number in np.flatnonzero((active != 0) & ~equal & (np.abs(multipliers) < _NO_MULTIPLIER)):
            yield labels[number]


def _flattest(conditions: Conditions) -> float | None:
    """Returns the least curvature of the Lagrangian along the active limits, None where they leave no way."""
    size = conditions.hessian.shape[0]
    if conditions.normals.size:
        _, _, right = np.linalg.svd(conditions.normals)
        along = right[len(conditions.normals) :].T
    else:
        along = np.eye(size)
    if not along.shape[1]:
        return None
    return float(np.min(np.linalg.eigvalsh(along.T @ conditions.hessian @ along)))


def moves(solved: Solved, conditions: Conditions) -> Vector:
    """Returns d design / d parameter, in the model's units."""
    free, held = conditions.hessian.shape[0], len(conditions.normals)
    matrix = np.block(
        [[conditions.hessian, conditions.normals.T], [conditions.normals, np.zeros((held, held))]]
    )
    target = -np.concatenate([conditions.mixed, conditions.moved])
    found = np.zeros((solved.design.size, target.shape[1]))
    if free + held:
        found[conditions.free] = np.linalg.solve(matrix, target)[:free]
    return found * solved.scaling.design[:, None]
