"""A cycle: components that all depend on each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from ._component import Component


@dataclass(frozen=True, slots=True)
class Cycle:
    """Components each of which reads, through others or directly, what it writes.

    Attributes:
        components: in the order in which the model declares them.
    """

    components: tuple[Component, ...]

    @property
    def name(self) -> str:
        """The names of the components, such as `d1 + d2`."""
        return " + ".join(component.name for component in self.components)

    def __repr__(self) -> str:
        return f"<cycle {self.name}>"

    @property
    def couplings(self) -> tuple[str, ...]:
        """The variables written and read inside the cycle, in the order in which they are written."""
        read = {read.name for component in self.components for read in component.inputs}
        written = (output.name for component in self.components for output in component.outputs)
        return tuple(name for name in written if name in read)


def dependencies(components: Sequence[Component], without: Iterable[str] = ()) -> "nx.DiGraph[int]":
    """Returns the graph of the components' positions, with an edge i -> j where j reads what i writes.

    Args:
        without: variables that carry no dependency.
    """
    ignored = set(without)
    writer = {
        output.name: position for position, component in enumerate(components) for output in component.outputs
    }
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(components)))
    for position, component in enumerate(components):
        names = (read.name for read in component.inputs)
        read = (name for name in names if name in writer and name not in ignored)
        graph.add_edges_from((writer[name], position) for name in read)
    return graph


def in_order(graph: "nx.DiGraph[int]", rank: Mapping[int, int]) -> list[int]:
    """Returns the nodes of an acyclic graph, each after those it depends on, by `rank` where free."""
    return list(nx.lexicographical_topological_sort(graph, key=rank.__getitem__))
