"""How a method that knows no failed evaluation is made to step back from one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._problem import Problem, Stop

Vector = np.ndarray[Any, Any]

# Added to the last sound objective, in scaled numbers: worse than any step may make it.
_PENALTY = 1e6


@dataclass(slots=True)
class Stepping:
    """A problem's functions with numbers in place of NaN, which make a line search shorten its step.

    Where the model cannot be evaluated, the objective is far above the last sound one, and all else is as it
    was there.
    """

    problem: Problem
    _objective: float = 0.0
    _constraints: Vector = field(default_factory=lambda: np.zeros(0))
    _gradient: Vector = field(default_factory=lambda: np.zeros(0))
    _jacobian: Vector = field(default_factory=lambda: np.zeros(0))

    def objective(self, x: Vector) -> float:
        """Returns f, or a penalty."""
        value = self.problem.objective(x)
        if np.isfinite(value):
            self._objective = value
            return value
        return self._objective + _PENALTY * (1.0 + abs(self._objective))

    def constraints(self, x: Vector) -> Vector:
        """Returns c, or the last sound one."""
        values = self.problem.constraints(x)
        if np.isfinite(values).all():
            self._constraints = values
        return self._constraints

    def gradient(self, x: Vector) -> Vector:
        """Returns the derivatives of f, or the last sound ones."""
        slopes = self.problem.gradient(x)
        if np.isfinite(slopes).all():
            self._gradient = slopes
        return self._gradient

    def jacobian(self, x: Vector) -> Vector:
        """Returns the derivatives of c, or the last sound ones."""
        slopes = self.problem.jacobian(x)
        if np.isfinite(slopes).all():
            self._jacobian = slopes
        return self._jacobian

    def accepted_gradient(self, x: Vector) -> Vector:
        """Returns the derivatives of f, for a method that asks only where it goes on.

        Raises:
            Stop: the model cannot be evaluated there.
        """
        slopes = self.problem.gradient(x)
        if not np.isfinite(slopes).all():
            raise Stop("the model cannot be evaluated at any step along the last search direction")
        return slopes
