"""Multidisciplinary feasible: a solver closes each cycle at every point that the optimiser tries."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from couplax.graph import Graph
from couplax.solve import Newton

from ._architecture import AbstractArchitecture, Formulation, State, closed


def default_solver() -> Newton:
    """Returns Newton's method, two digits finer than an optimiser asks for."""
    return Newton(rtol=1e-10, atol=1e-10)


@dataclass(frozen=True, slots=True, kw_only=True)
class MDF(AbstractArchitecture):
    """Multidisciplinary feasible: at every point the cycles are solved, so that it is a consistent design.

    Cycles that the model has closed stay as they are.

    Attributes:
        solver: closes the open cycles; `couplax.Newton`, or any optimistix root finder or fixed-point solver.
        warm_start: whether a solve starts at the solution of the point before, else always at the start.

    Source: Cramer, Dennis, Frank, Lewis and Shubin (1994), Problem formulation for multidisciplinary
    optimization, SIAM J. Optim. 4.
    """

    solver: Any = field(default_factory=default_solver)
    warm_start: bool = True

    @property
    def warm(self) -> bool:
        """Whether solves start at the last solution."""
        return self.warm_start

    def states(self, graph: Graph) -> tuple[State, ...]:
        """Returns nothing: the solvers keep what they have."""
        return ()

    def formulate(self, graph: Graph, states: Collection[State], started: Collection[str]) -> Formulation:
        """Returns the graph with its open cycles closed."""
        return Formulation(graph=closed(graph, self.solver, started))
