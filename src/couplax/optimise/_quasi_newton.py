"""Quasi-Newton methods for problems without constraints, by scipy."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._method import AbstractMethod, Outcome
from ._problem import Problem
from ._scipy import scipy_optimize
from ._stepping import Stepping


@dataclass(frozen=True, slots=True, kw_only=True)
class LBFGS(AbstractMethod):
    """L-BFGS-B: bounds, no constraints, any number of design variables.

    Attributes:
        tolerance: of the largest projected slope, scaled.
        max_iterations: how many line searches are made at most.
        memory: how many pairs of steps and gradients the approximate Hessian is made of.

    Source: Byrd, Lu, Nocedal and Zhu (1995), A limited memory algorithm for bound constrained optimization,
    SIAM J. Sci. Comput. 16.
    """

    tolerance: float = 1e-8
    max_iterations: int = 1000
    memory: int = 20

    @property
    def takes_bounds(self) -> bool:
        """Design variables may have bounds."""
        return True

    @property
    def takes_constraints(self) -> bool:
        """There may be no constraints."""
        return False

    def minimise(self, problem: Problem) -> Outcome:
        """Returns where scipy's implementation ended, and how."""
        bounds = list(zip(problem.bounds.lower, problem.bounds.upper, strict=True))
        options = {"gtol": self.tolerance, "ftol": 0.0, "maxiter": self.max_iterations, "maxcor": self.memory}
        return _by_scipy(problem, "L-BFGS-B", {**options, "maxfun": 20 * self.max_iterations}, bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class BFGS(AbstractMethod):
    """The method of Broyden, Fletcher, Goldfarb and Shanno: no bounds, no constraints.

    Attributes:
        tolerance: of the largest slope, scaled.
        max_iterations: how many line searches are made at most.

    Source: Nocedal and Wright (2006), Numerical Optimization, section 6.1.
    """

    tolerance: float = 1e-8
    max_iterations: int = 1000

    @property
    def takes_bounds(self) -> bool:
        """Design variables may have no bounds."""
        return False

    @property
    def takes_constraints(self) -> bool:
        """There may be no constraints."""
        return False

    def minimise(self, problem: Problem) -> Outcome:
        """Returns where scipy's implementation ended, and how."""
        return _by_scipy(problem, "BFGS", {"gtol": self.tolerance, "maxiter": self.max_iterations}, None)


def _by_scipy(problem: Problem, method: str, options: dict[str, Any], bounds: Any) -> Outcome:
    """Returns where scipy's method of that name ended, and how."""
    stepping = Stepping(problem)
    found = scipy_optimize().minimize(
        stepping.objective,
        problem.start,
        jac=stepping.gradient,
        method=method,
        bounds=bounds,
        callback=problem.iterated,
        options=options,
    )
    return Outcome(
        x=np.asarray(found.x),
        succeeded=bool(found.success),
        message=str(found.message).rstrip(" .:"),
        iterations=int(found.nit),
    )
