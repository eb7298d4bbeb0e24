"""The interior-point optimiser IPOPT, where `cyipopt` is installed."""

import importlib
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from couplax._errors import MissingExtraError

from ._method import AbstractMethod, Outcome
from ._problem import Problem

Vector = np.ndarray[Any, Any]

# IPOPT's own constants: solved, and solved to the looser acceptable level.
_SOLVED = (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class IPOPT(AbstractMethod):
    """An interior-point method with a filter line search, for many variables and many constraints.

    It needs `cyipopt`: `pip install cyipopt`, beside the library IPOPT itself.

    Attributes:
        tolerance: of the scaled optimality conditions.
        max_iterations: how many steps are taken at most.
        exact_hessian: whether second derivatives are asked of the model; else they are approximated from
            gradients. Foreign codes seldom offer them.
        options: IPOPT's own, by name; they go before what couplax sets.

    Source: Waechter and Biegler (2006), On the implementation of an interior-point filter line-search
    algorithm, Math. Program. 106.
    """

    tolerance: float = 1e-9
    max_iterations: int = 500
    exact_hessian: bool = False
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def takes_bounds(self) -> bool:
        """Design variables may have bounds."""
        return True

    @property
    def takes_constraints(self) -> bool:
        """There may be constraints."""
        return True

    def minimise(self, problem: Problem) -> Outcome:
        """Returns where IPOPT ended, and how.

        Raises:
            MissingExtraError: `cyipopt` is not installed.
        """
        cyipopt = _cyipopt()
        kind = _ExactCallbacks if self.exact_hessian else _Callbacks
        callbacks = kind(problem, cyipopt.CyIpoptEvaluationError)
        solver = cyipopt.Problem(
            n=problem.size,
            m=problem.limits.lower.size,
            problem_obj=callbacks,
            lb=problem.bounds.lower,
            ub=problem.bounds.upper,
            cl=problem.limits.lower,
            cu=problem.limits.upper,
        )
        for name, value in {**self._set(), **self.options}.items():
            solver.add_option(name, value)
        x, info = solver.solve(problem.start)
        return Outcome(
            x=np.asarray(x),
            succeeded=info["status"] in _SOLVED,
            message=_words(info["status_msg"]),
            iterations=callbacks.iterations,
        )

    def _set(self) -> dict[str, Any]:
        """Returns the options that couplax sets."""
        return {
            "tol": self.tolerance,
            "max_iter": self.max_iterations,
            "hessian_approximation": "exact" if self.exact_hessian else "limited-memory",
            # The problem comes scaled, and its bounds are where the model can be evaluated.
            "nlp_scaling_method": "none",
            "bound_relax_factor": 0.0,
            "honor_original_bounds": "yes",
            "print_level": 0,
            "sb": "yes",
        }


def _cyipopt() -> Any:
    """Returns the module.

    Raises:
        MissingExtraError: it is not installed.
    """
    if find_spec("cyipopt") is None:
        raise MissingExtraError(
            "IPOPT needs `cyipopt`, not installed here. Install it with: pip install cyipopt (it needs the "
            "library IPOPT: `coinor-libipopt-dev` on Debian and Ubuntu, `cyipopt` of conda-forge brings it). "
            "couplax.SLSQP() and couplax.TrustConstr() need nothing."
        )
    return importlib.import_module("cyipopt")


def _words(message: Any) -> str:
    text = message.decode() if isinstance(message, bytes) else str(message)
    return text.split("(")[0].strip().rstrip(".")


class _Callbacks:
    """A problem's functions under the names by which IPOPT calls them.

    Where the model cannot be evaluated they raise what makes IPOPT step back.
    """

    def __init__(self, problem: Problem, failure: type[Exception]) -> None:
        self.problem = problem
        self.iterations = 0
        self._failure = failure
        self._x = problem.start

    def objective(self, x: Vector) -> float:
        """Returns f(x)."""
        self._x = np.array(x)
        return float(self.sound(self.problem.objective(x)))

    def gradient(self, x: Vector) -> Vector:
        """Returns the derivatives of f."""
        return self.sound(self.problem.gradient(x))

    def constraints(self, x: Vector) -> Vector:
        """Returns c(x)."""
        return self.sound(self.problem.constraints(x))

    def jacobian(self, x: Vector) -> Vector:
        """Returns the derivatives of c, row by row."""
        return self.sound(self.problem.jacobian(x)).ravel()

    def intermediate(self, *state: Any) -> bool:
        """Records an iteration; returns that the next may come."""
        iteration = int(state[1])
        if iteration > self.iterations:
            self.iterations = iteration
            self.problem.iterated(self._x)
        return True

    def sound(self, value: Any) -> Any:
        """Returns `value` where it is finite; raises where it is not."""
        if not np.isfinite(value).all():
            raise self._failure
        return value


class _ExactCallbacks(_Callbacks):
    """The same with second derivatives: `cyipopt` asks for them where there are such methods."""

    def hessian(self, x: Vector, multipliers: Vector, factor: float) -> Vector:
        """Returns the lower triangle of the Lagrangian's second derivatives."""
        found = self.problem.hessian(x, np.concatenate([[factor], multipliers]))
        return self.sound(found)[self.hessianstructure()]

    def hessianstructure(self) -> Any:
        """Returns the rows and columns of the lower triangle."""
        return np.tril_indices(self.problem.size)
