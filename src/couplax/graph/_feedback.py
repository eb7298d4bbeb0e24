"""The cheapest nodes of a directed graph without which it has no loop: a feedback vertex set of least cost.

Source: the reductions are those of H. Levy and D. W. Low, "A contraction algorithm for finding small cycle
cutsets", Journal of Algorithms 9 (1988), 470-493, with costs; the rest is a set cover of the loops.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence

import networkx as nx
import numpy as np

Costs = Mapping[str, int]


def cheapest(graph: "nx.DiGraph[str]", costs: Costs) -> set[str]:
    """Returns the cheapest set of nodes without which `graph` is acyclic.

    The loops found so far are covered at least cost, and where loops are left, they are added.
    """
    left: nx.DiGraph[str] = nx.DiGraph(graph)
    while _reduced(left, costs):
        pass
    loops: list[set[str]] = []
    chosen: set[str] = set()
    while new := _loops(left, chosen):
        loops += new
        chosen = _cover(loops, costs)
    return chosen


def _loops(graph: "nx.DiGraph[str]", without: Collection[str]) -> list[set[str]]:
    """Returns loops of `graph` without some nodes that have no node in common; none if it is acyclic."""
    left: nx.DiGraph[str] = nx.DiGraph(graph.subgraph(graph.nodes - set(without)))
    found: list[set[str]] = []
    while True:
        try:
            loop = {name for name, _ in nx.find_cycle(left)}
        except nx.NetworkXNoCycle:
            return found
        found.append(loop)
        left.remove_nodes_from(loop)


def _cover(loops: Sequence[Collection[str]], costs: Costs) -> set[str]:
    """Returns the cheapest nodes of which each of `loops` holds one."""
    from scipy import optimize

    names = sorted({name for loop in loops for name in loop}, key=lambda name: (costs[name], name))
    holds = np.array([[name in loop for name in names] for loop in loops], float)
    result = optimize.milp(
        np.array([costs[name] for name in names], float),
        integrality=np.ones(len(names)),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(holds, lb=1),
        options={"mip_rel_gap": 0},
    )
    return {name for name, taken in zip(names, result.x, strict=True) if taken > 0.5}


def small(graph: "nx.DiGraph[str]", costs: Costs) -> set[str]:
    """Returns a small set of nodes without which `graph` is acyclic, none of which can be spared."""
    left: nx.DiGraph[str] = nx.DiGraph(graph)
    chosen: list[str] = []
    while left:
        if _reduced(left, costs):
            continue
        node = _looped(left) or max(
            left, key=lambda name: (left.in_degree(name) * left.out_degree(name) / costs[name], -costs[name])
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


def _is_cut(graph: "nx.DiGraph[str]", nodes: Collection[str]) -> bool:
    """Returns whether `graph` is acyclic without `nodes`."""
    return nx.is_directed_acyclic_graph(graph.subgraph(graph.nodes - set(nodes)))
