"""The solution of a cut cycle, as a differentiable function of what the cycle reads."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
import optimistix as optx

from couplax._calls import codes_in
from couplax.graph import Cycle, Run, order
from couplax.solve._solve import Solve, verdict_of
from couplax.solve._start import start_of

Values = Mapping[str, Any]


def solve_cycle(cycle: Cycle, cut: tuple[str, ...], solver: Any, known: Values, guesses: Values) -> Run:
    """Returns the values that the cycle writes, at its solution, and how its solve and those inside went.

    The values are differentiable in `known` by the implicit function theorem; no iteration is unrolled.

    Args:
        cut: the unknowns.
        known: what the cycle reads from outside, by name.
        guesses: where the unknowns start, those of cycles closed inside included, by name.
    """
    inner = {name: guesses[name] for node in cycle.nodes for name in node.unknowns}
    run = partial(_pass, cycle, cut)
    start = start_of(cycle, cut, run, known, guesses, inner)
    iterates = isinstance(solver, optx.AbstractFixedPointSolver)
    solve = optx.fixed_point if iterates else optx.root_find
    change = changes(cycle, cut)
    solution = solve(
        lambda unknowns, args: _ends(run(args[0], unknowns, args[1])[1], unknowns, change, iterates=iterates),
        solver,
        start,
        (dict(known), inner),
        max_steps=getattr(solver, "max_steps", 256),
        adjoint=optx.ImplicitAdjoint(linear_solver=lx.AutoLinearSolver(well_posed=True)),
        tags=_structure(start),
        options={
            "changes": {name: jax.tree.map(partial(_constant, change[name]), start[name]) for name in cut}
        },
        throw=False,
    )
    written, ends, inside = run(known, solution.value, inner)
    residual = jax.lax.stop_gradient(_ends(ends, solution.value, change, iterates=False))
    record = Solve(
        cut=cut,
        solver=type(solver).__name__,
        verdict=verdict_of(solution.result),
        iterations=solution.stats["num_steps"],
        residual=residual,
        values=jax.lax.stop_gradient(solution.value),
        history=solution.stats.get("residuals"),
        codes=codes_in(run, known, start, inner),
    )
    return {**written, **solution.value}, {**inside, cycle.name: record}


def changes(cycle: Cycle, cut: tuple[str, ...]) -> dict[str, bool]:
    """Returns for each unknown whether its residual is its change through one pass over the cycle."""
    implicit = cycle.implicit
    return {name: name not in implicit for name in cut}


def _ends(ends: Values, unknowns: Values, change: Mapping[str, bool], *, iterates: bool) -> dict[str, Any]:
    """Returns the residual at `unknowns`, or their new values where the solver `iterates`.

    Args:
        ends: what the pass over the cycle gave: the new value of a coupling, the residual of an implicit
            unknown.
    """
    return {
        name: jax.tree.map(jnp.subtract, ends[name], unknowns[name])
        if change[name] and not iterates
        else ends[name]
        for name in unknowns
    }


def _constant(value: bool, _: Any) -> bool:
    return value


@partial(jax.jit, static_argnums=(0, 1))
def _pass(
    cycle: Cycle, cut: tuple[str, ...], known: Values, unknowns: Values, guesses: Values
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Solve]]:
    """Returns what one pass over the cycle writes, what it ends with at the cut, and how solves inside went.

    Every node reads the unknowns as they came, whatever its place in the pass. Traced once for all the places
    where a solver evaluates it.
    """
    values = {**known, **unknowns}
    written: dict[str, Any] = {}
    ends: dict[str, Any] = {}
    solves: dict[str, Solve] = {}
    for node in order(cycle, cut):
        came, inside = node.run(values, guesses)
        solves.update(inside)
        for name, value in came.items():
            (ends if name in cut else written)[name] = value
        values.update(written)
    return written, ends, solves


def _structure(start: Values) -> frozenset[object]:
    """Returns the tag that makes the solve of one scalar unknown a division."""
    size = sum(leaf.size for leaf in jax.tree.leaves(start))
    return frozenset({lx.diagonal_tag}) if size == 1 else frozenset()
