"""Laws of every method, on problems in plain numbers whose solutions are published or plain."""

import dataclasses
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import couplax as cpx
from couplax.optimise._method import AbstractMethod, faults_of
from couplax.optimise._problem import Problem, Stop
from optimised_models import numbers

needs_ipopt = pytest.mark.skipif(find_spec("cyipopt") is None, reason="cyipopt is not installed")

METHODS = {
    "SLSQP": cpx.SLSQP(),
    "TrustConstr": cpx.TrustConstr(),
    "TrustConstr, exact": cpx.TrustConstr(exact_hessian=True),
    "LBFGS": cpx.LBFGS(),
    "BFGS": cpx.BFGS(),
    "IPOPT": cpx.IPOPT(),
    "IPOPT, exact": cpx.IPOPT(exact_hessian=True),
}


def table(*, bounds: bool = False, constraints: bool = False) -> Any:
    """Returns the parameters of a test over the methods that take bounds, or constraints, if asked for."""
    return pytest.mark.parametrize(
        "method",
        [
            pytest.param(method, id=name, marks=needs_ipopt if name.startswith("IPOPT") else ())
            for name, method in METHODS.items()
            if (method.takes_bounds or not bounds) and (method.takes_constraints or not constraints)
        ],
    )


def valley(x: Any) -> float:
    return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)


def valley_slopes(x: Any) -> Any:
    return np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])


def valley_bends(x: Any, weights: Any) -> Any:
    return weights[0] * np.array([[1200 * x[0] ** 2 - 400 * x[1] + 2, -400 * x[0]], [-400 * x[0], 200.0]])


def rosenbrock(**more: Any) -> tuple[Problem, list[Any]]:
    return numbers(valley, valley_slopes, [-1.2, 1.0], hessian=valley_bends, **more)


def hs71() -> tuple[Problem, list[Any]]:
    """Returns problem 71 of Hock and Schittkowski: an inequality and an equality, within bounds."""

    def f(x: Any) -> float:
        return float(x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2])

    def slopes(x: Any) -> Any:
        total = x[0] + x[1] + x[2]
        return np.array([x[3] * (total + x[0]), x[0] * x[3], x[0] * x[3] + 1, x[0] * total])

    def bends(x: Any, weights: Any) -> Any:
        of_f = np.array(
            [
                [2 * x[3], x[3], x[3], 2 * x[0] + x[1] + x[2]],
                [x[3], 0, 0, x[0]],
                [x[3], 0, 0, x[0]],
                [2 * x[0] + x[1] + x[2], x[0], x[0], 0],
            ]
        )
        of_product = np.prod(x) / np.outer(x, x) * (1 - np.eye(4))
        return weights[0] * of_f + weights[1] * of_product + weights[2] * 2 * np.eye(4)

    return numbers(
        f,
        slopes,
        [1.0, 5.0, 5.0, 1.0],
        bounds=(1.0, 5.0),
        constraints=lambda x: np.array([np.prod(x), np.sum(x**2)]),
        jacobian=lambda x: np.array([np.prod(x) / x, 2 * x]),
        limits=([25.0, 40.0], [np.inf, 40.0]),
        hessian=bends,
    )


@table()
def test_a_method_finds_the_bottom_of_rosenbrocks_valley(method: AbstractMethod) -> None:
    problem, _ = rosenbrock()
    outcome = method.minimise(problem)
    assert outcome.succeeded, outcome.message
    # The valley is flat: a slope of 1e-8 leaves 1e-5.
    np.testing.assert_allclose(outcome.x, [1, 1], atol=1e-4)


@table(bounds=True)
def test_a_bound_holds_and_the_optimum_lies_on_it(method: AbstractMethod) -> None:
    problem, _ = rosenbrock(bounds=([-2.0, -2.0], [0.5, 2.0]))
    outcome = method.minimise(problem)
    assert outcome.succeeded, outcome.message
    np.testing.assert_allclose(outcome.x, [0.5, 0.25], atol=1e-4)
    assert np.all(outcome.x <= problem.bounds.upper + 1e-9)


@table(constraints=True)
def test_a_constrained_problem_gives_its_published_solution(method: AbstractMethod) -> None:
    problem, _ = hs71()
    outcome = method.minimise(problem)
    assert outcome.succeeded, outcome.message
    np.testing.assert_allclose(problem.objective(outcome.x), 17.0140172892, rtol=1e-6)
    np.testing.assert_allclose(outcome.x, [1, 4.7429994, 3.8211503, 1.3794082], rtol=1e-4)


@table()
def test_every_iteration_is_told_of_and_the_last_is_where_it_ends(method: AbstractMethod) -> None:
    problem, iterates = rosenbrock()
    outcome = method.minimise(problem)
    assert len(iterates) >= outcome.iterations - 1 > 5
    np.testing.assert_allclose(iterates[-1], outcome.x, atol=1e-6)


@table()
def test_the_limit_of_iterations_is_kept_and_told(method: Any) -> None:
    problem, iterates = rosenbrock()
    outcome = dataclasses.replace(method, max_iterations=3).minimise(problem)
    assert not outcome.succeeded
    assert len(iterates) <= 4
    assert any(word in outcome.message.lower() for word in ("limit", "maximum", "exceeded"))


def well(x: Any) -> float:
    """Returns 40 (x - log x), which is not a number below zero."""
    return float(40 * (x[0] - np.log(x[0]))) if x[0] > 0 else np.nan


def well_slopes(x: Any) -> Any:
    return np.array([40 * (1 - 1 / x[0]) if x[0] > 0 else np.nan])


@table()
def test_a_method_steps_back_from_where_the_model_cannot_be_evaluated(method: AbstractMethod) -> None:
    tried: list[float] = []

    def f(x: Any) -> float:
        tried.append(x[0])
        return well(x)

    # The first step, as long as the slope, leads far below zero.
    problem, _ = numbers(f, well_slopes, [10.0], hessian=lambda x, w: np.array([[w[0] * 40 / x[0] ** 2]]))
    outcome = method.minimise(problem)
    assert min(tried) < 0 or method.name in ("TrustConstr", "IPOPT"), "no step led outside"
    assert outcome.succeeded, outcome.message
    np.testing.assert_allclose(outcome.x, [1.0], atol=1e-6)


def test_slsqp_stops_where_no_step_can_be_evaluated() -> None:
    problem, _ = numbers(
        lambda x: x[0] if x[0] >= 1 else np.nan,
        lambda x: np.array([1.0 if x[0] >= 1 else np.nan]),
        [1.0],
    )
    with pytest.raises(Stop, match="cannot be evaluated at any step"):
        cpx.SLSQP().minimise(problem)


def test_a_method_that_takes_no_constraints_says_which_do() -> None:
    (fault,) = faults_of(cpx.LBFGS(), constraints=["g_1"], bounded=["x"])
    assert fault.startswith("LBFGS takes no constraints, and came with `g_1`.")
    assert "couplax.SLSQP()" in fault


def test_a_method_that_takes_no_bounds_names_the_variables_that_have_some() -> None:
    (fault,) = faults_of(cpx.BFGS(), constraints=[], bounded=["x", "y", "z", "w"])
    assert "`x`, `y`, `z` and 1 more have some" in fault
    assert "couplax.LBFGS()" in fault


def test_ipopt_says_what_to_install_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couplax.optimise._ipopt.find_spec", lambda name: None)
    problem, _ = rosenbrock()
    with pytest.raises(cpx.MissingExtraError, match="pip install cyipopt"):
        cpx.IPOPT().minimise(problem)


@needs_ipopt
def test_ipopt_takes_its_own_options_before_those_of_couplax() -> None:
    problem, _ = rosenbrock()
    outcome = cpx.IPOPT(options={"max_iter": 2}).minimise(problem)
    assert not outcome.succeeded
    assert outcome.iterations == 2
