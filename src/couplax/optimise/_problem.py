"""The problem that a method solves: numbers in, numbers out, all scaled, and nothing of the model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._evaluator import Evaluator
from ._limits import Limits
from ._scaling import Scaling

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """min f(x) subject to bounds on x and limits on c(x), in scaled numbers.

    Attributes:
        start: where x starts; `bounds`: of x; `limits`: of c.
        objective: f(x); NaN where the model cannot be evaluated.
        gradient: its derivatives; NaN likewise.
        constraints: c(x), NaN where the model cannot be evaluated; `jacobian`: its derivatives, NaN likewise.
        hessian: the second derivatives of the weights (of f, then of c) times f and c.
        iterated: to be called with x after each iteration.
    """

    start: Vector
    bounds: Limits
    limits: Limits
    objective: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector]
    constraints: Callable[[Vector], Vector]
    jacobian: Callable[[Vector], Vector]
    hessian: Callable[[Vector, Vector], Vector]
    iterated: Callable[[Vector], None]

    @property
    def size(self) -> int:
        """How many design variables there are."""
        return self.start.size

    @property
    def is_constrained(self) -> bool:
        """Whether there are constraints."""
        return self.limits.lower.size > 0


class Stop(Exception):
    """Ends a method whose next step has nothing to stand on; its text becomes the status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """An evaluator seen through a scaling.

    Attributes:
        labels: the names of the design variables, one for each number, for messages.
    """

    evaluator: Evaluator
    scaling: Scaling
    labels: tuple[str, ...]

    def unscaled(self, x: Vector) -> Vector:
        """Returns the design in the model's units."""
        return np.asarray(x, float) * self.scaling.design

    def objective(self, x: Vector) -> float:
        """Returns the scaled objective, NaN where the analysis failed."""
        known = self.evaluator.at(self.unscaled(x))
        return known.objective / self.scaling.objective if known.ok else np.nan

    def constraints(self, x: Vector) -> Vector:
        """Returns the scaled constraints, NaN where the analysis failed."""
        known = self.evaluator.at(self.unscaled(x))
        return known.constraints / self.scaling.constraints if known.ok else known.constraints * np.nan

    def gradient(self, x: Vector) -> Vector:
        """Returns the derivatives of the scaled objective, NaN where the analysis failed."""
        return self._slopes(x)[0] * self.scaling.design / self.scaling.objective

    def jacobian(self, x: Vector) -> Vector:
        """Returns the derivatives of the scaled constraints."""
        return self._slopes(x)[1:] * self.scaling.design / self.scaling.constraints[:, None]

    def hessian(self, x: Vector, weights: Vector) -> Vector:
        """Returns the second derivatives of `weights` times the scaled objective and constraints."""
        divisors = np.concatenate([[self.scaling.objective], self.scaling.constraints])
        found = self.evaluator.hessian(self.unscaled(x), weights / divisors)
        return found * self.scaling.design * self.scaling.design[:, None]

    def _slopes(self, x: Vector) -> Vector:
        """Returns the derivatives as the model gives them, NaN where the analysis failed.

        Raises:
            Stop: one is infinite or NaN though the analysis is sound.
        """
        if not self.evaluator.at(self.unscaled(x)).ok:
            return np.full((1 + self.scaling.constraints.size, x.size), np.nan)
        slopes = self.evaluator.jacobian(self.unscaled(x))
        bad = np.flatnonzero(~np.isfinite(slopes).all(axis=0))
        if bad.size:
            raise Stop(
                f"the derivative with respect to `{self.labels[bad[0]]}` is infinite or NaN at a point where "
                "the values are finite, so there is no direction to go on in"
            )
        return slopes


def problem_of(
    scaled: Scaled, start: Vector, bounds: Limits, limits: Limits, iterated: Callable[[Vector], None]
) -> Problem:
    """Returns what a method solves, from bounds and limits in the model's units."""
    scaling = scaled.scaling
    return Problem(
        start=start / scaling.design,
        bounds=bounds.scaled(scaling.design),
        limits=limits.scaled(scaling.constraints),
        objective=scaled.objective,
        gradient=scaled.gradient,
        constraints=scaled.constraints,
        jacobian=scaled.jacobian,
        hessian=scaled.hessian,
        iterated=iterated,
    )
