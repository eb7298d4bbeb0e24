"""How a coupled model becomes a problem without open cycles."""

import abc
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax

from couplax.graph import Component, Cycle, Graph, Input, Node, Output
from couplax.solve import closed as closed_nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A variable that the model computes and the optimiser changes.

    Attributes:
        name: of the input by which the optimiser gives it.
        variable: what it stands for in the user's model.
        computed: the name of what the model writes in its shape.
        residual: the name of what is zero where the two agree.
    """

    name: str
    variable: str
    computed: str
    residual: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Formulation:
    """A graph that runs, with what the optimiser takes over from the solvers.

    Attributes:
        states: further design variables, each with a further equality constraint.
        open: the cycles that still have no solver; none once every state is opened.
    """

    graph: Graph
    states: tuple[State, ...] = ()
    open: tuple[Cycle, ...] = field(default=())


class AbstractArchitecture(abc.ABC):
    """How the cycles of a model are dealt with when it is optimised."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The architecture's name in tables and messages."""
        return type(self).__name__

    @property
    @abc.abstractmethod
    def warm(self) -> bool:
        """Whether solves start at the last solution."""

    @abc.abstractmethod
    def states(self, graph: Graph) -> tuple[State, ...]:
        """Returns what the optimiser takes over from the solvers."""

    @abc.abstractmethod
    def formulate(self, graph: Graph, states: Collection[State], started: Collection[str]) -> Formulation:
        """Returns the graph with `states` given by the optimiser, and solvers for what is left to solve.

        Args:
            states: some of `self.states(graph)`.
            started: the variables that are known to have a start, at which cycles are cut by preference.
        """


def closed(graph: Graph, solver: Any, started: Collection[str]) -> Graph:
    """Returns `graph` with each open cycle closed by `solver`, cut where variables have a start if it can be.

    Raises:
        ModelError: `solver` is none, or solves no such cycle.
    """
    return Graph(closed_nodes(graph, solver, (), started, {})) if graph.cycles else graph


def _difference(computed: Any, given: Any) -> Any:
    """Returns what a coupling is computed as, less what it was given as: zero where they agree."""
    return jax.tree.map(lambda one, other: one - other, computed, given)


def difference(computed: str, given: str, written: Output, name: str) -> Component:
    """Returns the component that writes `computed - given`, both in the units of `written`."""
    return Component(
        name=name,
        fn=_difference,
        inputs=tuple(Input(name=read, units=written.units) for read in (computed, given)),
        outputs=(Output(name=name),),
        parameters=("computed", "given"),
        returned=("difference",),
    )


def written_in(nodes: Iterable[Node]) -> Mapping[str, Output]:
    """Returns what `nodes` write, by name."""
    return {output.name: output for node in nodes for output in node.outputs}
