"""The solution of a cut cycle, as a differentiable function of what the cycle reads.

With the unknowns u and what is read k, a pass over the cycle gives residuals r(k, u) and all else that is
written, w(k, u). The solution u(k) has r(k, u) = 0, so that du = -r_u^-1 r_k dk and dw = w_k dk + w_u du: all
of these are products with linearisations of one pass, at the solution. No iteration is differentiated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
import optimistix as optx

from couplax._calls import codes_in
from couplax.graph import Cycle, Run, order
from couplax.solve._bisection import Bisection
from couplax.solve._newton import Newton
from couplax.solve._packing import Packing, packing
from couplax.solve._solve import Solve, verdict_of
from couplax.solve._start import start_of
from couplax.solve._varying import moved

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """A cut cycle with its solver; equal problems are traced once.

    Attributes:
        cut: the unknowns.
    """

    cycle: Cycle
    cut: tuple[str, ...]
    solver: Any

    def __hash__(self) -> int:
        """Returns a hash of the structure: a solver may hold arrays."""
        return hash((self.cycle, self.cut, type(self.solver)))

    @property
    def changes(self) -> dict[str, bool]:
        """Whether the residual of each unknown is its change through one pass over the cycle."""
        implicit = self.cycle.implicit
        return {name: name not in implicit for name in self.cut}

    def residual(self, ends: Values, unknowns: Values) -> dict[str, Any]:
        """Returns the residual at `unknowns`.

        Args:
            ends: what the pass over the cycle gave: the new value of a coupling, the residual of an implicit
                unknown.
        """
        changes = self.changes
        return {
            name: jax.tree.map(jnp.subtract, ends[name], unknowns[name]) if changes[name] else ends[name]
            for name in unknowns
        }


def solve_cycle(problem: Problem, known: Values, guesses: Values) -> Run:
    """Returns the values that the cycle writes, at its solution, and how its solve and those inside went.

    Args:
        known: what the cycle reads from outside, by name.
        guesses: where the unknowns start, those of cycles closed inside included, by name.
    """
    inner = {name: guesses[name] for node in problem.cycle.nodes for name in node.unknowns}
    run = partial(passed, problem)
    start = jax.lax.stop_gradient(start_of(problem.cycle, problem.cut, run, known, guesses, inner))
    written, unknowns, went = _solution(problem, start, dict(known), inner)
    record = Solve(
        cut=problem.cut,
        solver=type(problem.solver).__name__,
        values=jax.lax.stop_gradient(unknowns),
        stalled=problem.solver.stalled if isinstance(problem.solver, Bisection) else None,
        codes=codes_in(run, known, start, inner),
        **went["own"],
    )
    return {**written, **unknowns}, {**went["inside"], problem.cycle.name: record}


Solution = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
"""What is written beside the unknowns, the unknowns, and how the solves went."""


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _solution(problem: Problem, start: Values, known: Values, inner: Values) -> Solution:
    unknowns, went = _root(problem, start, known, inner)
    written, ends, inside = passed(problem, known, unknowns, inner)
    own = {**went, "residual": problem.residual(ends, unknowns)}
    return written, unknowns, {"own": own, "inside": inside}


@partial(_solution.defjvp, symbolic_zeros=True)
def _solution_jvp(problem: Problem, primals: Any, tangents: Any) -> tuple[Solution, Any]:
    """Returns the solution and its tangent; what does not vary costs no call of a code outside JAX."""
    start, known, inner = primals
    unknowns, went = _root(problem, start, known, inner)
    pass_at = partial(_residuals, problem, known, inner)
    (written, _), by_unknowns, (ends, inside) = jax.linearize(pass_at, unknowns, has_aux=True)
    read = _moved_by_read(problem, known, inner, unknowns, tangents[1])
    move = _moved(problem, by_unknowns, read[1], unknowns)
    solves = {"own": {**went, "residual": problem.residual(ends, unknowns)}, "inside": inside}
    changed = jax.tree.map(jnp.add, read[0], by_unknowns(move)[0])
    return (written, unknowns, solves), (changed, move, jax.tree.map(_zero, solves))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _root(
    problem: Problem, start: Values, known: Values, inner: Values
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the unknowns as the solver finds them, and how that went."""
    iterates = isinstance(problem.solver, optx.AbstractFixedPointSolver)
    solve = optx.fixed_point if iterates else optx.root_find
    packed = packing(start, problem.changes)

    def residual(unknowns: Any, args: tuple[Values, Values]) -> Any:
        at = packed.unpack(unknowns)
        ends = passed(problem, args[0], at, args[1])[1]
        return packed.pack(ends if iterates else problem.residual(ends, at))

    solution = solve(
        residual,
        problem.solver,
        packed.pack(start),
        (known, inner),
        max_steps=getattr(problem.solver, "max_steps", 256),
        tags=_structure(start),
        options={"changes": packed.options, **_bounds(problem, packed, start)},
        throw=False,
    )
    went = {
        "verdict": verdict_of(solution.result),
        "iterations": solution.stats["num_steps"],
        "history": solution.stats.get("residuals"),
    }
    return packed.unpack(solution.value), went


@partial(_root.defjvp, symbolic_zeros=True)
def _root_jvp(problem: Problem, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Returns the unknowns and their tangent: what derivatives of derivatives are made of."""
    start, known, inner = primals
    unknowns, went = _root(problem, start, known, inner)
    _, by_unknowns, _ = jax.linearize(partial(_residuals, problem, known, inner), unknowns, has_aux=True)
    read = _moved_by_read(problem, known, inner, unknowns, tangents[1])
    move = _moved(problem, by_unknowns, read[1], unknowns)
    return (unknowns, went), (move, jax.tree.map(_zero, went))


def _residuals(problem: Problem, known: Values, inner: Values, unknowns: Values) -> tuple[Any, Any]:
    """Returns what a pass writes and the residuals; aside what it ends with and how solves inside went."""
    written, ends, inside = passed(problem, known, unknowns, inner)
    return (written, problem.residual(ends, unknowns)), (ends, inside)


def _moved_by_read(problem: Problem, known: Values, inner: Values, unknowns: Values, tangents: Any) -> Any:
    """Returns how what is written and the residuals move with what is read, the unknowns standing still."""
    return moved(lambda read: _residuals(problem, read, inner, unknowns)[0], known, tangents)[1]


def _moved(problem: Problem, by_unknowns: Any, residual: Values, unknowns: Values) -> dict[str, Any]:
    """Returns the unknowns' tangent, which makes up for the `residual` that comes from what is read."""
    packed = packing(unknowns, problem.changes)

    def product(move: Any) -> Any:
        return packed.pack(by_unknowns(packed.unpack(move))[1])

    operator = lx.FunctionLinearOperator(
        product, jax.eval_shape(packed.pack, unknowns), tags=_structure(unknowns)
    )
    # As for Newton's steps, and like them a division where there is one unknown.
    own = isinstance(problem.solver, Newton) and not _structure(unknowns)
    solver = problem.solver.linear_solver if own else _LINEAR
    target = jax.tree.map(jnp.negative, packed.pack(residual))
    return packed.unpack(lx.linear_solve(operator, target, solver).value)


_LINEAR = lx.AutoLinearSolver(well_posed=True)


def _zero(leaf: Any) -> Any:
    """Returns the tangent of what is told of a solve and is not differentiated."""
    if jnp.issubdtype(leaf.dtype, jnp.inexact):
        return jnp.zeros_like(leaf)
    return np.zeros(leaf.shape, jax.dtypes.float0)


def _bounds(problem: Problem, packed: Packing, start: Values) -> dict[str, Any]:
    """Returns the solver's `lower` and `upper`, where an unknown declares bounds."""
    bounds = {output.name: output.bounds for node in problem.cycle.nodes for output in node.outputs}
    if all(bounds[name] is None for name in start):
        return {}
    ends = {"lower": (0, -jnp.inf), "upper": (1, jnp.inf)}
    return {
        key: packed.pack({name: _end(bounds[name], place, none, start[name]) for name in start})
        for key, (place, none) in ends.items()
    }


def _end(bounds: Any, place: int, none: float, value: Any) -> Any:
    """Returns one end of the bounds of an unknown, in its shape."""
    end = none if bounds is None or bounds[place] is None else bounds[place]
    return jax.tree.map(lambda leaf: jnp.broadcast_to(jnp.asarray(end, leaf.dtype), leaf.shape), value)


@partial(jax.jit, static_argnums=0)
def passed(
    problem: Problem, known: Values, unknowns: Values, guesses: Values
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Solve]]:
    """Returns what one pass over the cycle writes, what it ends with at the cut, and how solves inside went.

    Every node reads the unknowns as they came, whatever its place in the pass. Traced once for all the places
    where a solver evaluates it.
    """
    values = {**known, **unknowns}
    written: dict[str, Any] = {}
    ends: dict[str, Any] = {}
    solves: dict[str, Solve] = {}
    for node in order(problem.cycle, problem.cut):
        came, inside = node.run(values, guesses)
        solves.update(inside)
        for name, value in came.items():
            (ends if name in problem.cut else written)[name] = value
        values.update(written)
    return written, ends, solves


def _structure(start: Values) -> frozenset[object]:
    """Returns the tag that makes the solve of one scalar unknown a division."""
    size = sum(leaf.size for leaf in jax.tree.leaves(start))
    return frozenset({lx.diagonal_tag}) if size == 1 else frozenset()
