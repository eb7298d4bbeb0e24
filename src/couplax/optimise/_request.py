"""What a user asks to be minimised, and the faults of that which can be told before anything runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from couplax._errors import ModelError, close_matches, quoted
from couplax.graph import Cycle, Graph, Kind, free_inputs, shortened
from couplax.solve import needed_steps

from ._method import AbstractMethod, faults_of

DECLARED = "declared"
"""Stands where the limits of a design variable are those that the model declares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A problem in the user's words.

    Attributes:
        objective: the name of the value to be small.
        design: the limits of each design variable, or `DECLARED`.
        constraints: the limits of each constraint.
        start: where design variables and unknowns start.
        fixed: the values of other inputs.
        scale: typical magnitudes.
    """

    objective: str
    design: Mapping[str, Any]
    constraints: Mapping[str, Any]
    start: Mapping[str, Any]
    fixed: Mapping[str, Any]
    scale: Mapping[str, Any]

    @property
    def watched(self) -> tuple[str, ...]:
        """The objective and the constraints."""
        return (self.objective, *self.constraints)


def design_of(given: str | Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Returns the limits of each design variable; `DECLARED` where only its name is given."""
    if isinstance(given, str):
        return {given: DECLARED}
    if isinstance(given, Mapping):
        return {name: DECLARED if limits is None else limits for name, limits in given.items()}
    return dict.fromkeys(given, DECLARED)


def check_names(graph: Graph, request: Request, method: AbstractMethod) -> None:
    """Raises where the request does not fit the model.

    Raises:
        ModelError: with every fault.
    """
    faults = [
        *_objective_faults(graph, request),
        *_design_faults(graph, request),
        *_constraint_faults(graph, request),
        *_given_faults(graph, request),
        *_scale_faults(request),
        *_rate_faults(graph),
        *faults_of(method, constraints=list(request.constraints), bounded=[]),
    ]
    if not faults:
        faults = [*_missing_faults(graph, request), *_idle_faults(graph, request)]
    if faults:
        raise ModelError(faults)


def _objective_faults(graph: Graph, request: Request) -> Iterator[str]:
    name = request.objective
    if name not in graph.outputs and name not in request.design:
        yield f"the objective `{name}` is no output of the model.{_known(name, graph.outputs)}"


def _design_faults(graph: Graph, request: Request) -> Iterator[str]:
    if not request.design:
        yield f"there is no design variable. Name some of the inputs, {shortened(graph.inputs)}, in `design`."
    for name in request.design:
        if name in graph.writers:
            yield (
                f"design variable `{name}` is written by {graph.writers[name].described}: only an input can "
                f"be one. The model has {shortened(graph.inputs)}."
            )
        elif name not in graph.inputs:
            yield f"design variable `{name}` is no input of the model.{_known(name, graph.inputs)}"


def _constraint_faults(graph: Graph, request: Request) -> Iterator[str]:
    for name, limits in request.constraints.items():
        if name in graph.inputs:
            yield f"constraint `{name}` is an input of the model. Give its limits in `design`."
        elif name not in graph.outputs:
            yield f"constraint `{name}` is no output of the model.{_known(name, graph.outputs)}"
        elif limits is None or (isinstance(limits, tuple | list) and all(side is None for side in limits)):
            yield f"constraint `{name}` has no limit. Give one, as (None, 0), or take it out."


def _given_faults(graph: Graph, request: Request) -> Iterator[str]:
    """Yields the faults of `start` and `fixed`."""
    startable = [*request.design, *_iterated(graph)]
    for name in request.start:
        if name in graph.inputs and name not in request.design:
            yield (
                f"the start names `{name}`, an input that is no design variable. Put it into `design`, or "
                "its value into `fixed`."
            )
        elif name not in startable:
            yield (f"the start names `{name}`, no design variable and no unknown.{_known(name, startable)}")
    for name in request.fixed:
        if name in request.design:
            yield f"`{name}` is a design variable and is given in `fixed` too. Take it out of one of them."
        elif name not in graph.inputs:
            yield f"the fixed value `{name}` is no input of the model.{_known(name, graph.inputs)}"


def _iterated(graph: Graph) -> Iterator[str]:
    """Yields what cycles write, and what is found by iteration elsewhere."""
    for step in graph.steps:
        if isinstance(step, Cycle):
            yield from (output.name for node in step.nodes for output in node.outputs)
        elif step.unknowns:
            yield from (output.name for output in step.outputs)


def _scale_faults(request: Request) -> Iterator[str]:
    known = [*request.design, *request.watched]
    for name, scale in request.scale.items():
        if name not in known:
            yield (
                f"the scale names `{name}`, no design variable, objective or constraint.{_known(name, known)}"
            )
        elif not all(np.all(np.isfinite(leaf) & (np.asarray(leaf) > 0)) for leaf in jax.tree.leaves(scale)):
            yield f"the scale of `{name}` is {scale}. Wanted: a typical magnitude, finite and above zero."


def _rate_faults(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        if node.kind is Kind.RATE:
            states = quoted(output.name for output in node.outputs)
            yield f"nothing integrates {states}, whose rate {node.described} gives. Close the model's rates."


def _missing_faults(graph: Graph, request: Request) -> Iterator[str]:
    """Yields a fault for each value that the problem needs and nothing gives."""
    needed = _read_for(graph, request.watched)
    strangers = [name for name in (*request.start, *request.fixed) if name not in graph.inputs]
    for name in graph.inputs:
        if name in request.design:
            if name not in request.start and name not in graph.defaults:
                yield (
                    f"design variable `{name}` has no start.{_close(name, strangers)} "
                    f"Pass start={{{name!r}: ...}}."
                )
        elif name in needed and name not in request.fixed and name not in graph.defaults:
            readers = quoted(component.name for component in graph.readers[name][:3])
            yield (
                f"input `{name}`, read by {readers}, is given by nothing.{_close(name, strangers)} "
                f"Name it in `design`, pass fixed={{{name!r}: ...}}, or give the parameter a default."
            )


def _idle_faults(graph: Graph, request: Request) -> Iterator[str]:
    """Yields a fault for each value that no design variable moves, and each variable that moves none."""
    for name in request.watched:
        if name not in request.design and not _read_for(graph, [name]).intersection(request.design):
            what = "the objective" if name == request.objective else "constraint"
            yield (
                f"{what} `{name}` depends on no design variable: none of {shortened(request.design)} is read "
                "on the way to it. Take it out, or add what it depends on to `design`."
            )
    moving = _read_for(graph, request.watched) | {request.objective}
    for name in request.design:
        if name not in moving:
            yield (
                f"design variable `{name}` moves neither the objective nor a constraint. Take it out of "
                "`design`."
            )


def _read_for(graph: Graph, names: Sequence[str]) -> set[str]:
    """Returns the inputs of the model that are read on the way to `names`."""
    steps = needed_steps(graph, names)
    nodes = [node for step in steps for node in (step.nodes if isinstance(step, Cycle) else (step,))]
    return {read.name for read in free_inputs(nodes)}


def _known(name: str, known: Sequence[str]) -> str:
    """Returns the close matches of `name` among `known`, and what there is, as sentences."""
    return f"{_close(name, known)} It has {shortened(known)}."


def _close(name: str, known: Sequence[str]) -> str:
    close = close_matches(name, known)
    return f" Close: {quoted(close)}." if close else ""
