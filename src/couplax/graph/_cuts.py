"""Where a cycle is cut: the coupling variables whose values a solver has to find.

The couplings form a graph of their own, with an edge v -> w where the component that writes w reads v. A cut
that leaves no loop is a set of its nodes that meets each of its loops: a feedback vertex set, the smaller the
better.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import networkx as nx

from couplax._errors import ModelError, close_matches, quoted

from ._cycle import Cycle, dependencies, in_order
from ._feedback import cheapest, small
from ._node import Node

# The smallest cut of so many nodes and couplings is found in some milliseconds.
_FEW_NODES, _FEW_COUPLINGS = 20, 60


def choose_cut(
    cycle: Cycle, preferred: Collection[str] = (), sizes: Mapping[str, int] | None = None
) -> tuple[str, ...]:
    """Returns the coupling variables of fewest numbers that leave no loop once the cycle is cut at them.

    Of cuts equally small, the one with most of `preferred`, then the one that keeps the declared order of the
    nodes, then the first. Beyond 20 nodes or 60 couplings no variable of the cut can be spared, but a smaller
    cut may exist.

    Args:
        preferred: such as the variables that have a guess.
        sizes: how many numbers a variable has, where it is known; else it counts as one.
    """
    graph = influences(cycle)
    costs = _costs(cycle, preferred, sizes or {})
    few = len(cycle.nodes) <= _FEW_NODES and len(graph) <= _FEW_COUPLINGS
    chosen = cheapest(graph, costs) if few else small(graph, costs)
    return tuple(name for name in cycle.couplings if name in chosen)


def check_cut(cycle: Cycle, cut: Sequence[str]) -> None:
    """Raises where `cut` names what is no coupling of the cycle, or leaves a loop.

    Raises:
        ModelError: with close matches, or with one of the loops that remain.
    """
    faults = [*_strangers(cycle, cut), *_repeated(cut)]
    loop = _remaining_loop(cycle, cut)
    if loop and not faults:
        faults.append(_loop_fault(cycle, cut, loop))
    if faults:
        raise ModelError(faults)


def order(cycle: Cycle, cut: Collection[str]) -> tuple[Node, ...]:
    """Returns the nodes in the order in which they run once the cycle is cut: as declared, where free.

    Raises:
        ModelError: a loop remains.
    """
    loop = _remaining_loop(cycle, cut)
    if loop:
        raise ModelError([_loop_fault(cycle, cut, loop)])
    graph = dependencies(cycle.nodes, without=cut)
    ranks = {position: position for position in graph}
    return tuple(cycle.nodes[position] for position in in_order(graph, ranks))


def influences(cycle: Cycle) -> "nx.DiGraph[str]":
    """Returns the graph of the couplings, with an edge v -> w where the node that writes w reads v.

    The unknown of a residual has an edge to itself.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(cycle.couplings)
    for node in cycle.nodes:
        read = [read.name for read in node.inputs if read.name in graph]
        written = [output.name for output in node.outputs if output.name in graph]
        graph.add_edges_from(itertools.product(read, written))
    graph.add_edges_from((name, name) for name in cycle.implicit)
    return graph


def _costs(cycle: Cycle, preferred: Collection[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """Returns what cutting at each variable costs: the sum over a cut tells which of two is the better.

    A number more outweighs any number of variables that are not preferred, one of these any number of those
    that are not fed back, and one of these all places in the order of writing.
    """
    much = len(cycle.couplings) + 1
    fed_back = _fed_back(cycle)

    def cost(place: int, name: str) -> int:
        digits = (sizes.get(name, 1), name not in preferred, name not in fed_back)
        return functools.reduce(lambda sum, digit: sum * much + digit, digits, 0) * much**2 + place

    return {name: cost(place, name) for place, name in enumerate(cycle.couplings)}


def _fed_back(cycle: Cycle) -> set[str]:
    """Returns the couplings that a component reads which is declared no later than their writer."""
    found: set[str] = set()
    awaited: set[str] = set()
    for node in cycle.nodes:
        awaited.update(read.name for read in node.inputs)
        found.update(output.name for output in node.outputs if output.name in awaited)
    return found


def _strangers(cycle: Cycle, cut: Sequence[str]) -> Iterator[str]:
    """Yields a fault for each name in `cut` that is no coupling of the cycle."""
    couplings = cycle.couplings
    for name in dict.fromkeys(cut):
        if name not in couplings:
            close = close_matches(name, couplings)
            hint = f" Close: {quoted(close)}." if close else ""
            yield (
                f"cycle `{cycle.name}` cannot be cut at `{name}`, which is no coupling of it.{hint}"
                f" It has {quoted(couplings)}."
            )


def _repeated(cut: Sequence[str]) -> Iterator[str]:
    """Yields a fault for each name that `cut` holds more than once."""
    for name, count in Counter(cut).items():
        if count > 1:
            yield f"the cut names `{name}` {count} times. Name it once."


def _remaining_loop(cycle: Cycle, cut: Collection[str]) -> list[str]:
    """Returns the couplings along one loop that `cut` leaves, in order; an empty list if none is left."""
    graph = influences(cycle)
    graph.remove_nodes_from(cut)
    try:
        return [name for name, _ in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return []


def _loop_fault(cycle: Cycle, cut: Collection[str], loop: Sequence[str]) -> str:
    """Returns what is said of `loop`, the couplings along a loop that `cut` leaves."""
    writer = {output.name: node for node in cycle.nodes for output in node.outputs}
    writers = [writer[name].name for name in loop]
    path = " -> ".join(f"`{name}`" for name in [*writers, writers[0]])
    return (
        f"cycle `{cycle.name}` cut at {quoted(cut)} still has the loop {path}, by {quoted(loop)}."
        f" Add {'it' if len(loop) == 1 else 'one of them'} to cut, or pass cut=None to let couplax choose."
    )
