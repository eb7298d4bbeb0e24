"""A cycle with what closes it."""

from dataclasses import dataclass
from typing import Any

from couplax.graph import Cycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """A cycle of components, the names at which it is cut, and the solver that finds their values.

    Attributes:
        cut: the coupling variables that are the solver's unknowns; every loop of the cycle passes through
            one.
        solver: an optimistix root finder or fixed-point solver.
    """

    cycle: Cycle
    cut: tuple[str, ...]
    solver: Any

    @property
    def name(self) -> str:
        """The cycle's name in results and messages: its components, in order."""
        return self.cycle.name
