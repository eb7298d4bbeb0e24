"""What every optimiser is: a record of options that solves a problem."""

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._problem import Problem

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a method ended.

    Attributes:
        x: where, scaled; `succeeded`: whether by its own test of convergence; `message`: its own words.
        iterations: how many steps it took.
    """

    x: Vector
    succeeded: bool
    message: str
    iterations: int


class AbstractMethod(abc.ABC):
    """A gradient-based optimiser.

    `minimise` starts at `problem.start`, calls `problem.iterated` after each iteration, and evaluates
    nothing outside the bounds. Where the model cannot be evaluated the problem's functions give NaN, and the
    method steps back.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The method's name in tables and messages."""
        return type(self).__name__

    @property
    @abc.abstractmethod
    def takes_bounds(self) -> bool:
        """Whether design variables may have bounds."""

    @property
    @abc.abstractmethod
    def takes_constraints(self) -> bool:
        """Whether there may be constraints."""

    @abc.abstractmethod
    def minimise(self, problem: Problem) -> Outcome:
        """Returns where the method ended, and how."""


def faults_of(method: AbstractMethod, *, constraints: list[str], bounded: list[str]) -> Iterator[str]:
    """Yields why `method` cannot solve a problem with these constraints and bounded design variables."""
    if constraints and not method.takes_constraints:
        yield (
            f"{method.name} takes no constraints, and came with {_some(constraints)}. "
            "Use couplax.SLSQP(), couplax.TrustConstr() or couplax.IPOPT()."
        )
    if bounded and not method.takes_bounds:
        yield (
            f"{method.name} takes no bounds, and {_some(bounded)} {'has' if len(bounded) == 1 else 'have'} "
            "some. Use couplax.LBFGS(), or give None for the bounds."
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(f"`{name}`" for name in names[:3]) + more
