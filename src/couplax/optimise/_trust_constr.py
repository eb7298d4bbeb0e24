"""A trust-region method for constrained problems, by scipy."""

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ._method import AbstractMethod, Outcome
from ._problem import Problem
from ._scipy import scipy_optimize
from ._stepping import Stepping

Vector = np.ndarray[Any, Any]

# scipy's numbers for the ends that count.
_ENDS = {
    2: "the trust region is within tolerance",
    3: "the gradient of the Lagrangian and the barrier are within tolerance",
}


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
        with _quiet():
            found = scipy.minimize(
                stepping.objective,
                problem.start,
                jac=stepping.gradient,
                hess=self._hessian(problem),
                method="trust-constr",
                bounds=bounds if problem.bounds.any_finite else None,
                constraints=self._constraints(problem, stepping),
                callback=partial(self._ends, problem),
                options={
                    # The test of the gradient is made here: scipy's own heeds no barrier.
                    "gtol": 0.0,
                    "xtol": self.tolerance,
                    "barrier_tol": self.tolerance,
                    "maxiter": self.max_iterations,
                },
            )
        return Outcome(
            x=np.asarray(found.x),
            succeeded=int(found.status) in _ENDS,
            message=_ENDS.get(int(found.status), str(found.message).rstrip(".")),
            iterations=int(found.nit),
        )

    def _ends(self, problem: Problem, x: Vector, state: Any) -> bool:
        """Records an iteration; returns whether it is the last: flat, feasible, the barrier all but gone."""
        problem.iterated(x)
        left = max(state.optimality, state.constr_violation, state.get("barrier_parameter", 0.0))
        return bool(left <= self.tolerance)

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


@contextmanager
def _quiet() -> Generator[None]:
    """Keeps back what scipy says of curved models of linear functions, and of constraints in a corner.

    Neither can be helped by who reads it: a quasi-Newton matrix without a change stays as it is, and a
    singular factorisation is followed by one that is not.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "delta_grad == 0.0", UserWarning)
        warnings.filterwarnings("ignore", "Singular Jacobian matrix", UserWarning)
        yield
