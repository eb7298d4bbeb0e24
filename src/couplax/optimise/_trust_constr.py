"""A trust-region method for constrained problems, by scipy."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._method import AbstractMethod, Outcome
from ._problem import Problem
from ._scipy import scipy_optimize
from ._stepping import Stepping


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustConstr(AbstractMethod):
    """Byrd and Omojokun's trust-region method for equalities, with an interior point for inequalities.

    Slower than SLSQP, and it gets through where the constraints are badly curved.

    Attributes:
        tolerance: of the gradient of the Lagrangian, of the trust region and of the barrier, scaled.
        max_iterations: how many steps are tried at most.
        exact_hessian: whether second derivatives are asked of the model; else they are approximated from
            gradients. Foreign codes seldom offer them.

    Source: Byrd, Hribar and Nocedal (1999), An interior point algorithm for large-scale nonlinear
    programming, SIAM J. Optim. 9.
    """

    tolerance: float = 1e-8
    max_iterations: int = 1000
    exact_hessian: bool = False

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
        scipy = scipy_optimize()
        stepping = Stepping(problem)
        bounds = scipy.Bounds(problem.bounds.lower, problem.bounds.upper)
        found = scipy.minimize(
            stepping.objective,
            problem.start,
            jac=stepping.gradient,
            hess=self._hessian(problem),
            method="trust-constr",
            bounds=bounds if problem.bounds.any_finite else None,
            constraints=self._constraints(problem, stepping),
            callback=lambda x, state: problem.iterated(x),
            options={
                "gtol": self.tolerance,
                "xtol": self.tolerance,
                "barrier_tol": self.tolerance,
                "maxiter": self.max_iterations,
            },
        )
        return Outcome(
            x=np.asarray(found.x),
            succeeded=int(found.status) in (1, 2),
            message=str(found.message).rstrip("."),
            iterations=int(found.nit),
        )

    def _hessian(self, problem: Problem) -> Any:
        """Returns the second derivatives of the objective, or what approximates them."""
        count = problem.limits.lower.size
        if not self.exact_hessian:
            return scipy_optimize().BFGS()
        return lambda x: problem.hessian(x, np.concatenate([[1.0], np.zeros(count)]))

    def _constraints(self, problem: Problem, stepping: Stepping) -> Any:
        if not problem.is_constrained:
            return ()

        def exact(x: Any, multipliers: Any) -> Any:
            return problem.hessian(x, np.concatenate([[0.0], multipliers]))

        scipy = scipy_optimize()
        return scipy.NonlinearConstraint(
            stepping.constraints,
            problem.limits.lower,
            problem.limits.upper,
            jac=stepping.jacobian,
            hess=exact if self.exact_hessian else scipy.BFGS(),
        )
