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

    Where the model cannot be evaluated, the objective is far above the last sound one and the constraints are
    as they were there, so that a line search backtracks.
    """

    problem: Problem
    _objective: float = 0.0
    _constraints: Vector = field(default_factory=lambda: np.zeros(0))

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
        """Returns the derivatives of f.

        Raises:
            Stop: the method would go on from a point where the model cannot be evaluated.
        """
        return self._sound(self.problem.gradient(x))

    def jacobian(self, x: Vector) -> Vector:
        """Returns the derivatives of c.

        Raises:
            Stop: the method would go on from a point where the model cannot be evaluated.
        """
        return self._sound(self.problem.jacobian(x))

    def gradient_or_flat(self, x: Vector) -> Vector:
        """Returns the derivatives of f, zero where the model cannot be evaluated."""
        slopes = self.problem.gradient(x)
        return slopes if np.isfinite(slopes).all() else np.zeros_like(slopes)

    def _sound(self, slopes: Vector) -> Vector:
        if not np.isfinite(slopes).all():
            raise Stop("the model cannot be evaluated at any step along the last search direction")
        return slopes
