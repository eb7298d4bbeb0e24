"""A problem made ready: the program that is run at each point, and all the numbers that go with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ModelError
from couplax._tree import describe
from couplax.graph import Graph
from couplax.solve import Program, program

from ._analysis import Analysis, shared
from ._architecture import AbstractArchitecture
from ._layout import Layout, block_of
from ._limits import Limits, LimitsFault, joined, limits_of
from ._method import AbstractMethod, faults_of
from ._request import Request
from ._space import Space, design_space, state_space
from ._starts import guesses_of, starts_of, traced


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All that is needed to evaluate the problem, in the model's units.

    Attributes:
        graph: as it runs.
        analysis: what is run at each point.
        space: the design variables of the user, and after them those of the architecture.
        given: the values of other inputs; `fixed`: those among them that the analysis reads.
        guesses: where unknowns start, in their shapes.
        constraints: how the constraints lie in a flat vector; `limits`: theirs.
    """

    graph: Graph
    analysis: Analysis
    space: Space
    given: Mapping[str, Any]
    fixed: Mapping[str, Any]
    guesses: Mapping[str, Any]
    constraints: Layout
    limits: Limits


def prepare(
    graph: Graph, request: Request, architecture: AbstractArchitecture, method: AbstractMethod
) -> Prepared:
    """Returns the problem made ready, its shapes found by tracing.

    Raises:
        ModelError: with what does not fit the model.
    """
    design = design_space(graph, request)
    others = {**graph.defaults, **request.fixed}
    given = {name: value for name, value in others.items() if name not in request.design}
    known = {**given, **_traceable(design)}
    starts = starts_of(graph, request.start, architecture, known)
    formulation = architecture.formulate(graph, architecture.states(graph), starts)
    names = (*request.constraints, *(state.residual for state in formulation.states))
    run = _program(formulation.graph, (request.objective, *names))
    guesses = guesses_of(run, starts)
    found = traced(run, formulation.states, starts, known, guesses)
    space = design + state_space(graph, formulation.states, found.starts)
    structs = {**_traceable(space), **found.values}
    _check_method(method, space, names)
    _check_objective(request.objective, structs)
    analysis = shared(Analysis(run, space.layout, request.objective, names))
    layout = Layout(tuple(block_of(name, structs[name]) for name in names))
    return Prepared(
        graph=formulation.graph,
        analysis=analysis,
        space=space,
        given=given,
        fixed={name: value for name, value in given.items() if name in run.inputs},
        guesses=_in_shape(guesses, analysis.solutions(found.solves)),
        constraints=layout,
        limits=_limits(layout, request.constraints),
    )


def _traceable(space: Space) -> dict[str, Any]:
    """Returns the start of each variable as the analysis will have it."""
    return {
        block.name: jax.tree.map(
            lambda struct, leaf: jnp.asarray(leaf, struct.dtype),
            jax.tree.unflatten(block.tree, block.structs),
            block.shaped(space.start[space.layout.slices[block.name]]),
        )
        for block in space.layout.blocks
    }


def _program(graph: Graph, watched: Iterable[str]) -> Program:
    """Returns what is run at each point: all that the steps on the way to what is watched compute."""
    needed = program(graph, [name for name in watched if name in graph.written]).steps
    return program(graph, [output.name for step in needed for output in step.outputs])


def _check_method(method: AbstractMethod, space: Space, constraints: tuple[str, ...]) -> None:
    """Raises where the method does not take the problem that the architecture makes."""
    limits = space.limits
    bounded = [
        name
        for name, part in space.layout.slices.items()
        if np.isfinite(np.concatenate([limits.lower[part], limits.upper[part]])).any()
    ]
    faults = list(faults_of(method, constraints=list(constraints), bounded=bounded))
    if faults:
        raise ModelError(faults)


def _check_objective(name: str, structs: Mapping[str, Any]) -> None:
    leaves = jax.tree.leaves(structs[name])
    if len(leaves) != 1 or leaves[0].shape != ():
        said = ", ".join(describe(leaf) for leaf in leaves)
        raise ModelError(
            [f"the objective `{name}` is {said}. Wanted: one number; add a component that makes it of this."]
        )


def _in_shape(guesses: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the guesses in the shapes of the unknowns, so that solutions can stand in for them."""

    def fitted(leaf: Any, struct: Any) -> Any:
        return np.broadcast_to(leaf, struct.shape).astype(struct.dtype)

    return {
        name: jax.tree.map(fitted, guess, wanted[name]) if name in wanted else guess
        for name, guess in guesses.items()
    }


def _limits(layout: Layout, given: Mapping[str, Any]) -> Limits:
    """Returns the limits of the constraints; where none are given, the value is held at zero.

    Raises:
        ModelError: with every limit that does not fit.
    """
    faults: list[str] = []
    limits: list[Limits] = []
    for block in layout.blocks:
        try:
            limits.append(limits_of(given.get(block.name, 0.0), block))
        except LimitsFault as fault:
            faults.append(f"constraint `{block.name}` {fault}")
    if faults:
        raise ModelError(faults)
    return joined(limits)
