"""Sequential least-squares programming, by scipy."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._limits import Limits
from ._method import AbstractMethod, Outcome
from ._problem import Problem
from ._scipy import scipy_optimize
from ._stepping import Stepping


@dataclass(frozen=True, slots=True, kw_only=True)
class SLSQP(AbstractMethod):
    """Sequential quadratic programming, the usual choice up to some hundred design variables.

    Its quadratic model is a dense quasi-Newton matrix.

    Attributes:
        tolerance: of the scaled objective and of the scaled constraints.
        max_iterations: how many quadratic problems are solved at most.

    Source: Kraft (1988), A software package for sequential quadratic programming, DFVLR-FB 88-28.
    """

    tolerance: float = 1e-10
    max_iterations: int = 200

    @property
    def takes_bounds(self) -> bool:
        """Design variables may have bounds."""
        return True

    @property
    def takes_constraints(self) -> bool:
        """There may be constraints."""
        return True

    def minimise(self, problem: Problem) -> Outcome:
        """Returns where scipy's implementation ended, and how."""
        stepping = Stepping(problem)
        found = scipy_optimize().minimize(
            stepping.objective,
            problem.start,
            jac=stepping.accepted_gradient,
            method="SLSQP",
            bounds=list(zip(problem.bounds.lower, problem.bounds.upper, strict=True)),
            constraints=_constraints(stepping, problem.limits),
            callback=problem.iterated,
            options={"ftol": self.tolerance, "maxiter": self.max_iterations},
        )
        return Outcome(
            x=np.asarray(found.x),
            succeeded=bool(found.success),
            message=str(found.message),
            iterations=int(found.nit),
        )


def _constraints(stepping: Stepping, limits: Limits) -> list[dict[str, Any]]:
    """Returns the constraints as SLSQP takes them: equalities h(x) = 0 and inequalities g(x) >= 0."""
    equal = np.flatnonzero(limits.equal)
    above = np.flatnonzero(np.isfinite(limits.lower) & ~limits.equal)
    below = np.flatnonzero(np.isfinite(limits.upper) & ~limits.equal)

    def inequalities(x: Any) -> Any:
        values = stepping.constraints(x)
        return np.concatenate([values[above] - limits.lower[above], limits.upper[below] - values[below]])

    def slopes(x: Any) -> Any:
        jacobian = stepping.jacobian(x)
        return np.concatenate([jacobian[above], -jacobian[below]])

    found: list[dict[str, Any]] = []
    if equal.size:
        found.append(
            {
                "type": "eq",
                "fun": lambda x: stepping.constraints(x)[equal] - limits.lower[equal],
                "jac": lambda x: stepping.jacobian(x)[equal],
            }
        )
    if above.size + below.size:
        found.append({"type": "ineq", "fun": inequalities, "jac": slopes})
    return found
