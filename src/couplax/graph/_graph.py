"""The graph of a model: who writes what, who reads it, and in which order the components run."""

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


@dataclass(frozen=True, init=False)
class Graph:
    """Components connected by the names that they write and read.

    What follows from the components is computed once and kept.

    Attributes:
        components: in the order in which they were declared.
    """

    components: tuple[Component, ...]

    def __init__(self, components: Iterable[Component]) -> None:
        """Connects `components`.

        Raises:
            ModelError: with every fault of the model.
        """
        given = tuple(components)
        faults = faults_of(given)
        if faults:
            raise ModelError(faults)
        object.__setattr__(self, "components", given)

    @cached_property
    def writers(self) -> Mapping[str, Component]:
        """The component that writes each name."""
        return MappingProxyType(
            {output.name: component for component in self.components for output in component.outputs}
        )

    @cached_property
    def readers(self) -> Mapping[str, tuple[Component, ...]]:
        """The components that read each name."""
        found: dict[str, dict[int, Component]] = {}
        for position, component in enumerate(self.components):
            for read in component.inputs:
                found.setdefault(read.name, {})[position] = component
        return MappingProxyType({name: tuple(by_position.values()) for name, by_position in found.items()})

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names that are read and that nothing writes, in the order of first reading."""
        return tuple(name for name in self.readers if name not in self.writers)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names that are written, in order."""
        return tuple(self.writers)

    @cached_property
    def couplings(self) -> tuple[str, ...]:
        """The names that are written and read, in the order in which they are written."""
        return tuple(name for name in self.writers if name in self.readers)

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The default of each of `inputs` that has one."""
        free = set(self.inputs)
        return MappingProxyType(
            {
                read.name: read.default
                for component in self.components
                for read in component.inputs
                if read.name in free and not read.required
            }
        )

    @cached_property
    def steps(self) -> tuple[Component | Cycle, ...]:
        """The components and cycles in the order in which they run: as declared, where free."""
        graph = dependencies(self.components)
        condensed = nx.condensation(graph)
        members = {node: sorted(data["members"]) for node, data in condensed.nodes(data=True)}
        first = {node: positions[0] for node, positions in members.items()}
        return tuple(self._step(members[node], graph) for node in in_order(condensed, first))

    def _step(self, positions: list[int], graph: "nx.DiGraph[int]") -> Component | Cycle:
        """Returns the component at `positions`, or the cycle where it or they depend on themselves."""
        if len(positions) == 1 and not graph.has_edge(positions[0], positions[0]):
            return self.components[positions[0]]
        return Cycle(tuple(self.components[position] for position in positions))

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The cycles, in the order in which they run."""
        return tuple(step for step in self.steps if isinstance(step, Cycle))
