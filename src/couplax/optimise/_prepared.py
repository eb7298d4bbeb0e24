"""A problem made ready: the program that is run at each point, and all the numbers that go with it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ModelError, original_errors
from couplax._tree import describe
from couplax.graph import Graph, choose_cut
from couplax.solve import evaluate, program

from ._analysis import Analysis, analyse
from ._architecture import AbstractArchitecture, Formulation, State
from ._layout import Layout, block_of
from ._limits import Limits, LimitsFault, joined, limits_of
from ._method import AbstractMethod, faults_of
from ._request import Request
from ._space import Space, design_space, state_space


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All that is needed to evaluate the problem, in the model's units.

    Attributes:
        graph: as it runs; `states`: what the optimiser took over from solvers.
        analysis: what is run at each point.
        space: the design variables of the user, and after them the states.
        given: the values of other inputs; `fixed`: those among them that the analysis reads.
        guesses: where unknowns start, in their shapes.
        constraints: how the constraints lie in a flat vector; `limits`: theirs.
    """

    graph: Graph
    states: tuple[State, ...]
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
    """Returns the problem made ready.

    Raises:
        ModelError: with what does not fit the model.
    """
    design = design_space(graph, request)
    given = {**graph.defaults, **request.fixed}
    declared = {name: out.guess for name, out in graph.written.items() if out.guess is not None}
    starts = {**declared, **{name: value for name, value in request.start.items() if name in graph.written}}
    states = architecture.states(graph)
    formulation = architecture.formulate(graph, states, starts)
    known = {**given, **design.layout.named(design.start)}
    starts.update(_missing(graph, architecture, states, starts, known))
    space = design + state_space(graph, {state.variable: state for state in states}, starts)
    bounded = [
        name
        for name, part in space.layout.slices.items()
        if np.isfinite(np.concatenate([space.limits.lower[part], space.limits.upper[part]])).any()
    ]
    residuals = tuple(state.residual for state in states)
    faults = list(faults_of(method, constraints=[*request.constraints, *residuals], bounded=bounded))
    if faults:
        raise ModelError(faults)
    return _ready(formulation, request, space, given, starts)


def _missing(
    graph: Graph,
    architecture: AbstractArchitecture,
    states: Collection[State],
    starts: Mapping[str, Any],
    known: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the starts of the states that have none: what the model computes from the others.

    Raises:
        ModelError: the others are too few.
    """
    missing = [state.variable for state in states if state.variable not in starts]
    if not missing:
        return {}
    started = [state for state in states if state.variable in starts]
    partly = architecture.formulate(graph, started, starts)
    if partly.open:
        wanted = [name for cycle in partly.open for name in choose_cut(cycle)]
        raise ModelError([_no_start(name) for name in wanted])
    run = program(partly.graph, missing)
    given = {**known, **{state.name: starts[state.variable] for state in started}}
    guesses = _guesses(run.unknowns, starts)
    with original_errors():
        values, _ = evaluate(run, {name: given[name] for name in run.inputs}, guesses)
    return {name: values[name] for name in missing}


def _guesses(names: Collection[str], starts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the starts of the unknowns `names`.

    Raises:
        ModelError: one has none.
    """
    missing = [name for name in names if name not in starts]
    if missing:
        raise ModelError([_no_start(name) for name in missing])
    return {name: jax.tree.map(lambda leaf: np.asarray(leaf, float), starts[name]) for name in names}


def _no_start(name: str) -> str:
    return (
        f"`{name}` is found by iteration and has no start. Pass start={{{name!r}: ...}}, or declare "
        f"couplax.output({name!r}, guess=...)."
    )


def _ready(
    formulation: Formulation,
    request: Request,
    space: Space,
    given: Mapping[str, Any],
    starts: Mapping[str, Any],
) -> Prepared:
    """Returns the problem, its shapes found by tracing."""
    graph = formulation.graph
    names = (*request.constraints, *(state.residual for state in formulation.states))
    analysis = _analysis(graph, space.layout, request.objective, names)
    read = [name for name in analysis.program.inputs if name not in space.layout.names]
    fixed = {name: given[name] for name in read}
    guesses = _guesses(analysis.program.unknowns, starts)
    structs = jax.eval_shape(
        lambda *numbers: analyse(analysis, *numbers), jnp.asarray(space.start), fixed, guesses
    )
    shapes = {**space.layout.named(space.start), **structs.values}
    _check_objective(request.objective, shapes[request.objective])
    layout = Layout(tuple(block_of(name, shapes[name]) for name in names))
    return Prepared(
        graph=graph,
        states=formulation.states,
        analysis=analysis,
        space=space,
        given={name: value for name, value in given.items() if name not in space.layout.names},
        fixed=fixed,
        guesses=_in_shape(guesses, structs.unknowns(analysis)),
        constraints=layout,
        limits=_limits(layout, request.constraints),
    )


def _analysis(graph: Graph, design: Layout, objective: str, constraints: tuple[str, ...]) -> Analysis:
    """Returns what is run at each point: all that the steps on the way to what is watched compute."""
    watched = [name for name in (objective, *constraints) if name in graph.written]
    needed = program(graph, watched).steps
    outputs = [output.name for step in needed for output in step.outputs]
    return Analysis(program(graph, outputs), design, objective, constraints)


def _check_objective(name: str, struct: Any) -> None:
    leaves = jax.tree.leaves(struct)
    if len(leaves) != 1 or leaves[0].shape != ():
        said = ", ".join(describe(leaf) for leaf in leaves)
        raise ModelError(
            [f"the objective `{name}` is {said}. Wanted: one number; add a component that makes it of this."]
        )


def _in_shape(guesses: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the guesses in the shapes of the unknowns, so that solutions can stand in for them."""
    fitted = {
        name: jax.tree.map(
            lambda leaf, struct: np.broadcast_to(leaf, struct.shape).astype(struct.dtype),
            guess,
            wanted[name],
        )
        for name, guess in guesses.items()
        if name in wanted
    }
    return {**guesses, **fitted}


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
