"""Rates of change with what integrates them: a node of a graph that writes the states' trajectories."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx

from couplax._errors import ModelError, quoted
from couplax.graph import (
    Component,
    Cycle,
    Graph,
    Input,
    Kind,
    Naming,
    Node,
    Output,
    Run,
    all_reading_in,
    dependencies,
    free_inputs,
    joined,
    unknown_names,
    written_units,
)
from couplax.solve._integrate import Integrate
from couplax.solve._trajectory import trajectory


@dataclass(frozen=True, kw_only=True)
class Integration:
    """Rates of change, what they need at each time, and how Diffrax integrates them.

    Attributes:
        nodes: the rates, and what is evaluated inside the vector field, in the order in which they run.
        initial: for each state the name of the input that is its initial value.
    """

    nodes: tuple[Node, ...]
    initial: Mapping[str, str]
    integrate: Integrate

    @property
    def name(self) -> str:
        """The integral's name in results and messages: its rates, in order."""
        return joined(node.name for node in self.rates)

    @property
    def kind(self) -> Kind:
        """An integral is explicit: it is computed."""
        return Kind.EXPLICIT

    @property
    def rates(self) -> tuple[Node, ...]:
        """The rates of change."""
        return tuple(node for node in self.nodes if node.kind is Kind.RATE)

    @property
    def states(self) -> tuple[str, ...]:
        """The variables whose rates of change are given."""
        return tuple(output.name for rate in self.rates for output in rate.outputs)

    @property
    def inside(self) -> tuple[Node, ...]:
        """What is evaluated at each time beside the rates."""
        return tuple(node for node in self.nodes if node.kind is not Kind.RATE)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the nodes read from outside, the initial states, and the ends of the span that have names."""
        return self._read

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The states, what is evaluated inside, and the time, at the times saved."""
        return self._written

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of the nodes."""
        return tuple(component for node in self.nodes for component in node.components)

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The unknowns of the cycles that are solved inside."""
        return tuple(name for node in self.nodes for name in node.unknowns)

    @property
    def solves(self) -> tuple[str, ...]:
        """The integral's name: of the cycles solved inside at each time, it says whether all converged."""
        return (self.name,)

    @property
    def place(self) -> str:
        """Where the first rate was written."""
        return self.rates[0].place

    @property
    def described(self) -> str:
        """The integral in a message: its name and place."""
        return f"`{self.name}` ({self.place})"

    def run(self, values: Mapping[str, Any], guesses: Mapping[str, Any]) -> Run:
        """Returns the states and what is evaluated inside, at the times saved, and how the integral went."""
        known = {read.name: values[read.name] for read in self.inputs if read.name in values}
        inner = {name: guesses[name] for name in self.unknowns}
        written, solve = trajectory(self.nodes, self.initial, self.integrate, known, inner)
        return written, {self.name: solve}

    def named(self, naming: Naming) -> "Integration":
        """Returns the integral under new names."""
        span = tuple(naming.variable(end) if isinstance(end, str) else end for end in self.integrate.span)
        event = self.integrate.event
        return Integration(
            nodes=tuple(node.named(naming) for node in self.nodes),
            initial={naming.variable(state): naming.variable(name) for state, name in self.initial.items()},
            integrate=dataclasses.replace(
                self.integrate,
                span=span,
                time=naming.variable(self.integrate.time),
                event=naming.variable(event) if isinstance(event, str) else event,
                initial={naming.variable(state): value for state, value in self.integrate.initial.items()},
            ),
        )

    def reading_in(self, units: Mapping[str, str]) -> "Integration":
        """Returns the integral such that it reads variables given in `units`, and converts them."""
        nodes = all_reading_in(self.nodes, {**units, **written_units(self.outputs)})
        return self if nodes is self.nodes else dataclasses.replace(self, nodes=nodes)

    def with_components(self, change: Mapping[str, tuple[Node, ...]]) -> tuple[Node, ...]:
        """Returns the integral with components replaced; its nodes where they no longer belong together."""
        nodes = tuple(new for node in self.nodes for new in node.with_components(change))
        if nodes == self.nodes:
            return (self,)
        graph = Graph(nodes) if nodes else None
        if graph is None or not graph.rates or graph.cycles:
            return nodes
        integral, rest = integration(graph, self.integrate, (), dict(self.initial))
        return (integral, *rest)

    @cached_property
    def _read(self) -> tuple[Input, ...]:
        states = {output.name: output for rate in self.rates for output in rate.outputs}
        ends = [end for end in self.integrate.span if isinstance(end, str)]
        starts = [
            Input(
                name=self.initial[name],
                units=state.units,
                shape=state.shape,
                dtype=state.dtype,
                bounds=state.bounds,
                description=f"{state.description}, at the start" if state.description else None,
                **_default(self.integrate.initial.get(name)),
            )
            for name, state in states.items()
        ]
        read = free_inputs(self.nodes, written=[self.integrate.time])
        return (*read, *starts, *(Input(name=end) for end in ends if end not in {each.name for each in read}))

    @cached_property
    def _written(self) -> tuple[Output, ...]:
        # At the times saved a variable has another shape, and may leave what bounds it at the start.
        written = (output for node in (*self.rates, *self.inside) for output in node.outputs)
        saved = (Output(name=it.name, units=it.units, description=it.description) for it in written)
        return (*saved, Output(name=self.integrate.time, description="time"))

    def __hash__(self) -> int:
        """Returns a hash of the nodes and how they are integrated, computed once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.nodes, tuple(self.initial.items()), self.integrate))


def _default(initial: Any) -> dict[str, Any]:
    """Returns the default of an initial state that is given as a value, not as a name."""
    return {} if initial is None or isinstance(initial, str) else {"default": initial}


def integration(
    graph: Graph, integrate: Integrate, states: Collection[str], initial: Mapping[str, str] | None = None
) -> tuple[Integration, tuple[Node, ...]]:
    """Returns the integral of rates, and the nodes of `graph` that are not part of it.

    Args:
        states: whose rates are integrated; of none, all.
        initial: the names of the initial values, where they are not those that `integrate` says.

    Raises:
        ModelError: there is no such rate, or a cycle inside the vector field is not closed.
    """
    rates = _rates(graph, states)
    inside = _inside(graph, rates, integrate)
    known = [output.name for rate in rates for output in rate.outputs]
    faults = [
        *unknown_names(integrate.initial, known, "state"),
        *_event_faults(integrate, inside),
    ]
    if faults:
        raise ModelError(faults)
    names = initial or {
        name: given if isinstance(given := integrate.initial.get(name), str) else f"{name}_0"
        for name in known
    }
    integral = Integration(nodes=inside, initial=names, integrate=integrate)
    ours = {node.name for node in inside}
    return integral, tuple(node for node in graph.nodes if node.name not in ours)


def _rates(graph: Graph, states: Collection[str]) -> tuple[Node, ...]:
    """Returns the rates of `states`, or all."""
    written = {output.name: rate for rate in graph.rates for output in rate.outputs}
    faults = unknown_names(states, written, "state")
    if not written:
        faults.append(
            'close(Integrate(...)) found no rate to integrate. Declare one: `@couplax.rate("x")` above a'
            " function that returns dx/dt."
        )
    if faults:
        raise ModelError(faults)
    chosen = {written[name].name for name in states or written}
    return tuple(rate for rate in graph.rates if rate.name in chosen)


def _inside(graph: Graph, rates: Sequence[Node], integrate: Integrate) -> tuple[Node, ...]:
    """Returns the rates and what they or the event need that changes with the states or time, as they run."""
    moving = {output.name for rate in rates for output in rate.outputs} | {integrate.time}
    edges = dependencies(graph.nodes)
    changing = _reached(edges, [k for k, node in enumerate(graph.nodes) if moving & _names(node.inputs)])
    ends = [
        k for k, node in enumerate(graph.nodes) if node in rates or integrate.event in _names(node.outputs)
    ]
    needed = _reached(edges.reverse(), ends)
    nodes = [node for k, node in enumerate(graph.nodes) if k in needed & changing or node in rates]
    order = Graph(nodes)
    states = quoted(sorted(moving - {integrate.time}))
    if order.cycles:
        raise ModelError(
            [
                f"cycle `{cycle.name}` is not closed, and the rates of {states} need it."
                " Close it first: model.close(couplax.Newton()).close(couplax.Integrate(...))."
                for cycle in order.cycles
            ]
        )
    return tuple(step for step in order.steps if not isinstance(step, Cycle))


def _names(variables: Sequence[Input | Output]) -> set[str]:
    return {variable.name for variable in variables}


def _reached(graph: "nx.DiGraph[int]", starts: Sequence[int]) -> set[int]:
    """Returns `starts` and what can be reached from them."""
    return {*starts, *(k for start in starts for k in nx.descendants(graph, start))}


def _event_faults(integrate: Integrate, inside: Sequence[Node]) -> list[str]:
    """Returns what is wrong with an event that is given by name."""
    if not isinstance(integrate.event, str):
        return []
    known = [output.name for node in inside for output in node.outputs]
    return unknown_names([integrate.event], known, "variable that changes with the states")
