"""Simultaneous analysis and design: the optimiser solves the equations too."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from couplax.graph import Component, Graph, Kind, Naming, Node, Output
from couplax.solve import Closure

from ._architecture import AbstractArchitecture, Formulation, State, difference, written_in


@dataclass(frozen=True, slots=True, kw_only=True)
class SAND(AbstractArchitecture):
    """Simultaneous analysis and design: states are design variables, and equations are constraints.

    The states are the unknowns of residuals, and whatever the components of cycles write and any component
    reads. Nothing is solved but by the optimiser. Cycles that the model has closed are opened. Declared
    bounds of a state are its bounds.

    Source: Haftka (1985), Simultaneous analysis and design, AIAA J. 23.
    """

    @property
    def warm(self) -> bool:
        """Whether solves start at the last solution: there are none."""
        return False

    def states(self, graph: Graph) -> tuple[State, ...]:
        """Returns the variables that are found by solving and not by computing one after the other."""
        opened = _opened(graph)
        return tuple(
            _state(node, output.name)
            for cycle in opened.cycles
            for node in cycle.nodes
            for output in node.outputs
            if node.kind is Kind.RESIDUAL or output.name in opened.readers
        )

    def formulate(self, graph: Graph, states: Collection[State], started: Collection[str]) -> Formulation:
        """Returns the graph in which states are inputs, and what was to give them gives residuals."""
        opened = _opened(graph)
        by_name = {state.variable: state for state in states}
        written = written_in(opened.nodes)
        explicit = {output.name for node in opened.nodes for output in node.outputs if _is_computed(node)}
        # First of all, since the first reader of a state says in which units it is given.
        meeting = [
            difference(state.computed, name, written[name], state.residual)
            for name, state in by_name.items()
            if name in explicit
        ]
        asked = Graph([*meeting, *(_asked(node, by_name) for node in opened.nodes)])
        return Formulation(graph=asked, states=tuple(states), open=asked.cycles)


def _is_computed(node: Node) -> bool:
    return node.kind is not Kind.RESIDUAL


def _computed_name(variable: str) -> str:
    return f"computed({variable})"


def _state(node: Node, variable: str) -> State:
    """Returns the state that stands for a variable that `node` writes."""
    computed = f"residual({variable})" if node.kind is Kind.RESIDUAL else _computed_name(variable)
    residual = computed if node.kind is Kind.RESIDUAL else f"{computed} - {variable}"
    return State(name=variable, variable=variable, computed=computed, residual=residual)


def _opened(graph: Graph) -> Graph:
    """Returns the graph with every closed cycle opened."""
    return Graph(inner for node in graph.nodes for inner in _parts(node))


def _parts(node: Node) -> Iterator[Node]:
    """Yields the nodes of a closed cycle, those of the closed cycles inside it too, or the node itself."""
    if isinstance(node, Closure):
        for inner in node.cycle.nodes:
            yield from _parts(inner)
    else:
        yield node


def _asked(node: Node, states: Mapping[str, State]) -> Node:
    """Returns the node writing under other names what the optimiser gives."""
    names = {output.name: states[output.name].computed for output in node.outputs if output.name in states}
    if not names or (node.kind is Kind.RESIDUAL and len(names) < len(node.outputs)):
        return node
    if not isinstance(node, Component):
        return node.named(Naming(renamed=names))
    return dataclasses.replace(
        node, kind=Kind.EXPLICIT, outputs=tuple(_renamed(output, node, names) for output in node.outputs)
    )


def _renamed(output: Output, node: Component, names: Mapping[str, str]) -> Output:
    """Returns the output under its new name; a residual has other units than its unknown."""
    units = None if node.kind is Kind.RESIDUAL else output.units
    return dataclasses.replace(output, name=names.get(output.name, output.name), units=units)
