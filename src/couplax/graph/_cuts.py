"""Where a cycle is cut: the coupling variables whose values a solver has to find.

The couplings form a graph of their own, with an edge v -> w where the component that writes w reads v. A cut
that leaves no loop is a set of its nodes that meets each of its loops: a feedback vertex set, the smaller the
better.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import networkx as nx

from couplax._errors import ModelError, close_matches, quoted

from ._cycle import Cycle, dependencies, in_order
from ._node import Node

# What cutting at a variable costs beyond the one unknown, the less the better; a number so that costs add up.
Costs = Mapping[str, int]

# Up to so many couplings every subset is tried: at most 2^10 tests of some 20 us each.
_EXACT = 10


def choose_cut(cycle: Cycle, preferred: Collection[str] = ()) -> tuple[str, ...]:
    """Returns the fewest coupling variables that leave no loop once the cycle is cut at them.

    Of cuts equally small, the one with most of `preferred`, then the one that keeps the declared order of the
    nodes, then the first. Beyond 10 couplings no variable of the cut can be spared, but a smaller cut
    may exist.

    Args:
        preferred: such as the variables that have a guess.
    """
    names = influences(cycle)
    costs = _costs(cycle, preferred)
    chosen = _smallest(names, costs) if len(names) <= _EXACT else _greedy(names, costs)
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


def _costs(cycle: Cycle, preferred: Collection[str]) -> Costs:
    """Returns what makes one cut worse than another of the same size."""
    # One preferred variable more outweighs any number of variables that are fed back.
    much = len(cycle.couplings) + 1
    fed_back = _fed_back(cycle)
    return {name: much * (name not in preferred) + (name not in fed_back) for name in cycle.couplings}


def _fed_back(cycle: Cycle) -> set[str]:
    """Returns the couplings that a component reads which is declared no later than their writer."""
    found: set[str] = set()
    awaited: set[str] = set()
    for node in cycle.nodes:
        awaited.update(read.name for read in node.inputs)
        found.update(output.name for output in node.outputs if output.name in awaited)
    return found


def _smallest(graph: "nx.DiGraph[str]", costs: Costs) -> tuple[str, ...]:
    """Returns the smallest set of nodes without which `graph` is acyclic, the cheapest of its size."""
    for size in range(len(graph)):
        enough = [nodes for nodes in itertools.combinations(graph, size) if _is_cut(graph, nodes)]
        if enough:
            return min(enough, key=lambda nodes: sum(costs[node] for node in nodes))
    return tuple(graph)


def _is_cut(graph: "nx.DiGraph[str]", nodes: Collection[str]) -> bool:
    """Returns whether `graph` is acyclic without `nodes`."""
    return nx.is_directed_acyclic_graph(graph.subgraph(graph.nodes - set(nodes)))


def _greedy(graph: "nx.DiGraph[str]", costs: Costs) -> set[str]:
    """Returns a small set of nodes without which `graph` is acyclic, none of which can be spared."""
    left: nx.DiGraph[str] = nx.DiGraph(graph)
    chosen: list[str] = []
    while left:
        if _reduced(left, costs):
            continue
        node = _looped(left) or max(
            left, key=lambda name: (left.in_degree(name) * left.out_degree(name), -costs[name])
        )
        chosen.append(node)
        left.remove_node(node)
    return _spared(graph, sorted(chosen, key=costs.__getitem__, reverse=True))


def _looped(graph: "nx.DiGraph[str]") -> str | None:
    """Returns the first node with an edge to itself, which every cut contains."""
    return next((node for node in graph if graph.has_edge(node, node)), None)


def _reduced(graph: "nx.DiGraph[str]", costs: Costs) -> bool:
    """Takes the nodes out of `graph` that some best cut does without; returns whether there were any."""
    before = len(graph)
    for node in list(graph):
        into, out_of = list(graph.predecessors(node)), list(graph.successors(node))
        if _dispensable(node, into, out_of, costs):
            graph.remove_node(node)
            graph.add_edges_from(itertools.product(into, out_of))
    return len(graph) < before


def _dispensable(node: str, into: Sequence[str], out_of: Sequence[str], costs: Costs) -> bool:
    """Returns whether every loop through `node` passes through one neighbour that is as good a cut."""
    if node in into:
        return False
    if not into or not out_of:
        return True
    return any(len(side) == 1 and costs[side[0]] <= costs[node] for side in (into, out_of))


def _spared(graph: "nx.DiGraph[str]", chosen: Sequence[str]) -> set[str]:
    """Returns `chosen` less those, tried in order, without which the others still cut every loop."""
    kept = set(chosen)
    for node in chosen:
        if _is_cut(graph, kept - {node}):
            kept.remove(node)
    return kept


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
