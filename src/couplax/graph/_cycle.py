"""A cycle: components that all depend on each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from ._component import Component
from ._node import Kind, Node

_SHOWN = 6


def joined(names: Iterable[str]) -> str:
    """Returns the name of what holds nodes of these names, such as `d1 + d2`."""
    names = list(names)
    shown = names if len(names) <= _SHOWN else [*names[: _SHOWN - 2], "...", names[-1]]
    return " + ".join(shown)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Nodes each of which reads, through others or directly, what it writes.

    Attributes:
        nodes: in the order in which the model declares them.
    """

    nodes: tuple[Node, ...]

    @property
    def components(self) -> tuple[Component, ...]:
        """The components that the nodes hold."""
        return tuple(component for node in self.nodes for component in node.components)

    @property
    def name(self) -> str:
        """The names of the nodes, such as `d1 + d2`; of many the first ones and the last."""
        return joined(node.name for node in self.nodes)

    def __repr__(self) -> str:
        return f"<cycle {self.name}>"

    @property
    def couplings(self) -> tuple[str, ...]:
        """The variables written and read inside the cycle, unknowns of residuals included, as written."""
        read = {read.name for node in self.nodes for read in node.inputs}
        read.update(self.implicit)
        written = (output.name for node in self.nodes for output in node.outputs)
        return tuple(name for name in written if name in read)

    @property
    def implicit(self) -> tuple[str, ...]:
        """The unknowns of residuals, at which the cycle is cut in any case."""
        residuals = (node for node in self.nodes if node.kind is Kind.RESIDUAL)
        return tuple(output.name for node in residuals for output in node.outputs)


def dependencies(nodes: Sequence[Node], without: Iterable[str] = ()) -> "nx.DiGraph[int]":
    """Returns the graph of the nodes' positions, with an edge i -> j where j depends on what i writes.

    A residual depends on its own unknowns, whether it reads them or not. Nothing depends on a rate: its state
    comes from an integral.

    Args:
        without: variables that carry no dependency.
    """
    ignored = set(without)
    writer: dict[str, int] = {}
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(nodes)))
    for position, node in enumerate(nodes):
        if node.kind is not Kind.RATE:
            writer.update((output.name, position) for output in node.outputs if output.name not in ignored)
        if node.kind is Kind.RESIDUAL and not ignored.issuperset(output.name for output in node.outputs):
            graph.add_edge(position, position)
    for position, node in enumerate(nodes):
        graph.add_edges_from((writer[read.name], position) for read in node.inputs if read.name in writer)
    return graph


def in_order(graph: "nx.DiGraph[int]", rank: Mapping[int, int]) -> list[int]:
    """Returns the nodes of an acyclic graph, each after those it depends on, by `rank` where free."""
    return list(nx.lexicographical_topological_sort(graph, key=rank.__getitem__))
