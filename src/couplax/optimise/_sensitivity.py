"""The optimum as a function of what was fixed: its conditions differentiated implicitly.

With the active limits kept active, the optimal x and the multipliers m of the active constraints c solve

    grad_x f(x, p) + J(x, p)^T m = 0,    c(x, p) = limits,

so that their derivatives with respect to the parameters p solve the linear system of its Jacobian,

    [ H  J^T ] [ dx ]      [ H_xp ]
    [ J   0  ] [ dm ] =  - [ J_p  ],

with H the second derivatives of the Lagrangian. Variables at their bounds do not move.

Source: Fiacco (1976), Sensitivity analysis for nonlinear programming using penalty methods, Math. Program.
10.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ModelError, OptimiseError, close_matches, original_errors, quoted
from couplax.graph import shortened

from ._analysis import curvature, total
from ._layout import Block, Layout, block_of, ravel
from ._optimality import Optimality
from ._prepared import Prepared
from ._scaling import Scaling
from ._values import whole

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
class _Conditions:
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


def sensitivities(solved: Solved, parameters: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns d value / d parameter, by the name of the value and that of the parameter.

    Raises:
        ModelError: a name is no fixed input.
        OptimiseError: the optimum is not regular.
    """
    prepared = solved.prepared
    layout = _parameters(prepared, parameters)
    numbers = (jnp.asarray(solved.design), ravel(prepared.given[name] for name in layout.names))
    conditions = _conditions(solved, layout, numbers)
    faults = list(_irregular(solved, conditions))
    if faults:
        raise OptimiseError("The optimum has no derivative: " + "; ".join(faults) + ".")
    moves = _moves(solved, conditions)
    with original_errors():
        found = total(
            whole(prepared),
            prepared.space.layout,
            layout,
            numbers,
            prepared.given,
            solved.guesses,
            (jnp.asarray(moves), jnp.eye(layout.size)),
        )
    for block in prepared.space.layout.blocks:
        found[block.name] = _rows(block, moves[prepared.space.layout.slices[block.name]])
    return {name: _by_parameter(value, layout) for name, value in found.items()}


def _parameters(prepared: Prepared, names: Sequence[str]) -> Layout:
    """Returns the layout of the parameters.

    Raises:
        ModelError: a name is no fixed input, or one of whole numbers.
    """
    faults: list[str] = []
    for name in names:
        if name not in prepared.given:
            close = close_matches(name, prepared.given)
            hint = f" Close: {quoted(close)}." if close else ""
            faults.append(
                f"parameter `{name}` is no input that the optimisation held fixed.{hint} Those are "
                f"{shortened(list(prepared.given))}."
            )
        elif any(
            np.asarray(leaf).dtype.kind in "biu" and not isinstance(leaf, int)
            for leaf in jax.tree.leaves(prepared.given[name])
        ):
            faults.append(f"parameter `{name}` is of whole numbers, between which there are no others.")
    if faults:
        raise ModelError(faults)
    return Layout(tuple(_block(name, prepared.given[name]) for name in dict.fromkeys(names)))


def _block(name: str, value: Any) -> Block:
    floats = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf, float)), value)
    return block_of(name, floats)


def _conditions(solved: Solved, layout: Layout, numbers: tuple[Any, Any]) -> _Conditions:
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
    return _Conditions(
        free=free,
        held=held,
        hessian=bends[free][:, :size][:, free],
        mixed=bends[free][:, size:],
        normals=slopes[held][:, :size][:, free],
        moved=slopes[held][:, size:],
    )


def _irregular(solved: Solved, conditions: _Conditions) -> Iterator[str]:
    """Yields why the active limits or the optimum would jump when a parameter moves a little."""
    weak = list(_weak(solved))
    if weak:
        yield f"{quoted(weak)} is at a limit that does not push (its multiplier is zero), so it may leave it"
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


def _flattest(conditions: _Conditions) -> float | None:
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


def _moves(solved: Solved, conditions: _Conditions) -> Vector:
    """Returns d design / d parameter, in the model's units."""
    free, held = conditions.hessian.shape[0], len(conditions.normals)
    matrix = np.block(
        [[conditions.hessian, conditions.normals.T], [conditions.normals, np.zeros((held, held))]]
    )
    target = -np.concatenate([conditions.mixed, conditions.moved])
    moves = np.zeros((solved.design.size, target.shape[1]))
    if free + held:
        moves[conditions.free] = np.linalg.solve(matrix, target)[:free]
    return moves * solved.scaling.design[:, None]


def _rows(block: Block, moves: Vector) -> Any:
    """Returns the derivatives of a design variable, the parameters along the last axis."""
    ends = list(accumulate(struct.size for struct in block.structs))
    parts = np.split(moves, ends[:-1])
    leaves = [part.reshape(*struct.shape, -1) for part, struct in zip(parts, block.structs, strict=True)]
    return jax.tree.unflatten(block.tree, leaves)


def _by_parameter(value: Any, layout: Layout) -> dict[str, Any]:
    """Returns derivatives along the last axis by parameter, that axis in the parameter's shape."""
    return {
        block.name: jax.tree.map(partial(_shaped, block, layout.slices[block.name]), value)
        for block in layout.blocks
    }


def _shaped(block: Block, part: slice, leaf: Any) -> Any:
    """Returns what belongs to one parameter: an array, or where the parameter is a tree, a tree of them."""
    array = np.asarray(leaf)[..., part]
    ends = list(accumulate(struct.size for struct in block.structs))
    pieces = np.split(array, ends[:-1], axis=-1)
    shapes = [(*array.shape[:-1], *struct.shape) for struct in block.structs]
    leaves = [np.reshape(piece, shape)[()] for piece, shape in zip(pieces, shapes, strict=True)]
    return jax.tree.unflatten(block.tree, leaves)
