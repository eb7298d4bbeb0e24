"""The graph of a model: who writes what, who reads it, and in which order the nodes run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import networkx as nx

from couplax._errors import ModelError

from ._component import Component
from ._cycle import Cycle, dependencies, in_order
from ._faults import faults_of
from ._node import Kind, Node, free_inputs
from ._variables import Bounds, Input, Output


@dataclass(frozen=True, init=False)
class Graph:
    """Nodes connected by the names that they write and read.

    What follows from the nodes is computed once and kept.

    Attributes:
        nodes: in the order in which they were declared.
    """

    nodes: tuple[Node, ...]

    def __init__(self, nodes: Iterable[Node]) -> None:
        """Connects `nodes`, each of which reads in the units in which a variable is written.

        Raises:
            ModelError: with every fault of the model.
        """
        given = tuple(nodes)
        faults = faults_of(given)
        if faults:
            raise ModelError(faults)
        units = units_of(given)
        object.__setattr__(self, "nodes", tuple(node.reading_in(units) for node in given) if units else given)

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns how a copy is made: of the nodes, from which the rest follows."""
        return Graph, (self.nodes,)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The components, those inside other nodes included."""
        return tuple(component for node in self.nodes for component in node.components)

    @cached_property
    def writers(self) -> Mapping[str, Node]:
        """The node that writes each name."""
        return MappingProxyType({output.name: node for node in self.nodes for output in node.outputs})

    @cached_property
    def readers(self) -> Mapping[str, tuple[Node, ...]]:
        """The components that read each name; an integral where it reads for itself, as initial states."""
        found: dict[str, dict[int, Node]] = {}
        for position, component in enumerate(self.components):
            for read in component.inputs:
                found.setdefault(read.name, {})[position] = component
        for position, node in enumerate(self.nodes):
            for read in node.inputs:
                found.setdefault(read.name, {position: node})
        return MappingProxyType({name: tuple(by_position.values()) for name, by_position in found.items()})

    @cached_property
    def free(self) -> Mapping[str, Input]:
        """What is read and not written, by name, with what is said of it, in the order of first reading."""
        return MappingProxyType({read.name: read for read in free_inputs(self.nodes)})

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names that are read and that nothing writes, in the order of first reading."""
        return tuple(self.free)

    @cached_property
    def written(self) -> Mapping[str, Output]:
        """What is written, by name, with what is said of it, in order."""
        return MappingProxyType({output.name: output for node in self.nodes for output in node.outputs})

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names that are written, in order."""
        return tuple(self.written)

    @cached_property
    def couplings(self) -> tuple[str, ...]:
        """The names that one component writes and one reads, in the order in which they are written."""
        return tuple(name for name in self.written if name in self.readers)

    @cached_property
    def bounded(self) -> Mapping[str, tuple[Component, Bounds]]:
        """The bounds of what is written, by name, with the component that declares them."""
        return MappingProxyType(
            {
                output.name: (component, output.bounds)
                for component in self.components
                for output in component.outputs
                if output.bounds is not None
            }
        )

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The default of each of `inputs` that has one."""
        return MappingProxyType({name: read.default for name, read in self.free.items() if not read.required})

    @cached_property
    def steps(self) -> tuple[Node | Cycle, ...]:
        """The nodes and the cycles of nodes in the order in which they run: as declared, where free."""
        graph = dependencies(self.nodes)
        condensed = nx.condensation(graph)
        members = {node: sorted(data["members"]) for node, data in condensed.nodes(data=True)}
        first = {node: positions[0] for node, positions in members.items()}
        return tuple(self._step(members[node], graph) for node in in_order(condensed, first))

    def _step(self, positions: list[int], graph: "nx.DiGraph[int]") -> Node | Cycle:
        """Returns the node at `positions`, or the cycle where it or they depend on themselves."""
        if len(positions) == 1 and not graph.has_edge(positions[0], positions[0]):
            return self.nodes[positions[0]]
        return Cycle(tuple(self.nodes[position] for position in positions))

    @cached_property
    def rates(self) -> tuple[Node, ...]:
        """The rates of change that nothing integrates."""
        return tuple(node for node in self.nodes if node.kind is Kind.RATE)

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The cycles that no solver closes, in the order in which they run."""
        return tuple(step for step in self.steps if isinstance(step, Cycle))


def units_of(nodes: Iterable[Node]) -> dict[str, str]:
    """Returns the units of each variable that has some: as written, else as its first reader says."""
    nodes = tuple(nodes)
    written = {output.name: output.units for node in nodes for output in node.outputs}
    read = {read.name: read.units for node in reversed(nodes) for read in reversed(node.inputs) if read.units}
    units = {**read, **written}
    return {name: unit for name, unit in units.items() if unit is not None}
