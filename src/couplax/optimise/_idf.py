"""Individual discipline feasible: the optimiser makes the disciplines agree."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from couplax.graph import Cycle, Graph, Naming, Node
from couplax.solve import Closure

from ._architecture import AbstractArchitecture, Formulation, State, closed, difference, written_in
from ._mdf import default_solver


@dataclass(frozen=True, slots=True, kw_only=True)
class IDF(AbstractArchitecture):
    """Individual discipline feasible: disciplines read what the optimiser says the others will return.

    Each coupling variable of a cycle has a target, a design variable, and a constraint that it meets it.
    Every component runs once at each point, and none waits for another of its cycle.

    A cycle that the model has closed is opened, unless it is part of a larger cycle: there it is one
    discipline. Declared bounds of a coupling are bounds of its target.

    Attributes:
        solver: closes what a discipline has to solve by itself: its residuals, and loops from a component to
            itself.

    Source: Cramer, Dennis, Frank, Lewis and Shubin (1994), Problem formulation for multidisciplinary
    optimization, SIAM J. Optim. 4.
    """

    solver: Any = field(default_factory=default_solver)

    @property
    def warm(self) -> bool:
        """Whether solves start at the last solution."""
        return True

    def states(self, graph: Graph) -> tuple[State, ...]:
        """Returns the couplings between different nodes of a cycle."""
        return tuple(
            State(
                name=f"target({name})",
                variable=name,
                computed=name,
                residual=f"{name} - target({name})",
            )
            for cycle in _opened(graph).cycles
            for name in _between(cycle)
        )

    def formulate(self, graph: Graph, states: Collection[State], started: Collection[str]) -> Formulation:
        """Returns the graph in which the nodes of cycles read targets."""
        opened = _opened(graph)
        targets = {state.variable: state for state in states}
        members = {id(node) for cycle in opened.cycles for node in cycle.nodes}
        written = written_in(opened.nodes)
        # First of all, since the first reader of a target says in which units it is given.
        meeting = [
            difference(name, state.name, written[name], state.residual) for name, state in targets.items()
        ]
        nodes = [_told(node, targets) if id(node) in members else node for node in opened.nodes]
        told = Graph([*meeting, *nodes])
        left = tuple(cycle for cycle in told.cycles if len(cycle.nodes) > 1)
        return Formulation(graph=closed(told, self.solver, started), states=tuple(states), open=left)


def _opened(graph: Graph) -> Graph:
    """Returns the graph with each closed cycle opened that is no part of a larger one."""
    inside = {id(node) for cycle in graph.cycles for node in cycle.nodes}
    return Graph(new for node in graph.nodes for new in _parts(node, id(node) in inside))


def _parts(node: Node, is_inside: bool) -> tuple[Node, ...]:
    return node.cycle.nodes if isinstance(node, Closure) and not is_inside else (node,)


def _between(cycle: Cycle) -> Iterator[str]:
    """Yields the variables that one node of the cycle writes and another reads."""
    for name in cycle.couplings:
        readers = [node for node in cycle.nodes if name in {read.name for read in node.inputs}]
        if any(name not in {output.name for output in node.outputs} for node in readers):
            yield name


def _told(node: Node, targets: dict[str, State]) -> Node:
    """Returns the node reading the targets of what other nodes write."""
    own = {output.name for output in node.outputs}
    renamed = {name: state.name for name, state in targets.items() if name not in own}
    return node.named(Naming(renamed=renamed))
