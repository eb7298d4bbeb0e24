"""Where the variables start that solvers find by iteration, or that the optimiser takes over from them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ModelError, original_errors
from couplax._tree import describe
from couplax.graph import Graph, choose_cut
from couplax.solve import Program, evaluate, program

from ._architecture import AbstractArchitecture, State

Values = Mapping[str, Any]

# What JAX and Python raise where shapes do not fit.
_TRACING_FAULTS = (TypeError, ValueError, IndexError, AttributeError)


def starts_of(
    graph: Graph, given: Values, architecture: AbstractArchitecture, known: Values
) -> dict[str, Any]:
    """Returns the starts by the variables' names in the user's model: given, declared, or computed.

    Args:
        given: by the user.
        known: the values of the model's inputs at the start.

    Raises:
        ModelError: too few are given to compute the others.
    """
    declared = {
        output.name: output.guess
        for component in graph.components
        for output in component.outputs
        if output.guess is not None
    }
    written = {name: value for name, value in given.items() if name in graph.written}
    starts = {**declared, **written}
    states = architecture.states(graph)
    missing = [state.variable for state in states if state.variable not in starts]
    if not missing:
        return starts
    started = [state for state in states if state.variable in starts]
    return {**starts, **_computed(graph, architecture, missing, started, starts, known)}


def _computed(
    graph: Graph,
    architecture: AbstractArchitecture,
    missing: Collection[str],
    started: Collection[State],
    starts: Values,
    known: Values,
) -> dict[str, Any]:
    """Returns the starts of `missing`: what the model computes of those in `started`."""
    formulation = architecture.formulate(graph, started, starts)
    if formulation.open:
        wanted = [name for cycle in formulation.open for name in choose_cut(cycle)]
        raise ModelError([_no_start(name) for name in wanted])
    run = program(formulation.graph, missing)
    given = {**known, **{state.name: starts[state.variable] for state in started}}
    guesses = guesses_of(run, starts)
    with original_errors():
        values, _ = evaluate(run, {name: given[name] for name in run.inputs}, guesses)
    return {name: values[name] for name in missing}


def guesses_of(run: Program, starts: Values) -> dict[str, Any]:
    """Returns the starts of the unknowns of the solves in `run`.

    Raises:
        ModelError: one has none.
    """
    missing = [name for name in run.unknowns if name not in starts]
    if missing:
        raise ModelError([_no_start(name) for name in missing])
    return {name: jax.tree.map(lambda leaf: np.asarray(leaf, float), starts[name]) for name in run.unknowns}


def _no_start(name: str) -> str:
    return (
        f"`{name}` is found by iteration and has no start. Pass start={{{name!r}: ...}}, or declare "
        f"couplax.output({name!r}, guess=...)."
    )


@dataclass(frozen=True, slots=True)
class Traced:
    """What is known of a program without a number computed.

    Attributes:
        starts: of the states, by their variables, in the shapes in which the model writes them.
        values: the structs of the program's values; `solves`: those of its solves.
    """

    starts: dict[str, Any]
    values: dict[str, Any]
    solves: dict[str, Any]


def traced(run: Program, states: Collection[State], starts: Values, known: Values, guesses: Values) -> Traced:
    """Returns the shapes that `run` finds; a scalar start of a state is spread over its own.

    Args:
        known: the values of the model's inputs.

    Raises:
        ModelError: a start has another shape.
    """
    own = {state.variable: jax.tree.map(_floats, starts[state.variable]) for state in states}
    given = {**known, **{state.name: own[state.variable] for state in states}}
    values, solves = _structs(run, {name: given[name] for name in run.inputs}, guesses, own)
    spread = {each.variable: _spread(each, own[each.variable], values[each.computed]) for each in states}
    if jax.tree.map(jnp.shape, spread) == jax.tree.map(jnp.shape, own):
        return Traced(own, values, solves)
    # What was a scalar is none any more: this ends.
    return traced(run, states, spread, known, guesses)


def _floats(leaf: Any) -> Any:
    return jnp.asarray(leaf, jnp.result_type(leaf, float))


def _structs(run: Program, read: Values, guesses: Values, own: Values) -> Any:
    """Returns the structs of what `run` gives."""
    try:
        return jax.eval_shape(partial(evaluate, run), dict(read), dict(guesses))
    except _TRACING_FAULTS as error:
        if not own or isinstance(error, ModelError):
            raise
        shown = ", ".join(f"`{name}`: {_described(value)}" for name, value in own.items())
        raise ModelError(
            [
                f"the model cannot be run from its starts, {shown}: {str(error).rstrip('.')}. Pass starts of "
                "the shapes that it writes; where they are, the fault is in a component."
            ]
        ) from error


def _spread(state: State, start: Any, written: Any) -> Any:
    """Returns `start` in the shape that is written, spread where it is a scalar."""
    came, wanted = jax.tree.map(jnp.shape, start), jax.tree.map(jnp.shape, written)
    if came == wanted:
        return start
    if came == () and isinstance(wanted, tuple):
        return jnp.broadcast_to(start, wanted)
    raise ModelError(
        [
            f"`{state.variable}` starts at {_described(start)}, and the model writes it as "
            f"{_described(written)}. Pass start={{{state.variable!r}: ...}} of that shape, or a scalar."
        ]
    )


def _described(value: Any) -> str:
    return ", ".join(describe(leaf) for leaf in jax.tree.leaves(value))
