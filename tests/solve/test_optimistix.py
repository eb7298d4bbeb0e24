"""The solvers of optimistix as they are, and those of couplax among its functions."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from solver_cases import SELLAR_Y_2, is_solved

TIGHT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10}

# By name: a solver, and the options that it wants.
OPTIMISTIX: dict[str, tuple[Any, dict[str, Any]]] = {
    "Newton": (optx.Newton(**TIGHT), {}),
    "Chord": (optx.Chord(**TIGHT), {}),
    "Dogleg": (optx.Dogleg(**TIGHT), {}),
    "LevenbergMarquardt": (optx.LevenbergMarquardt(**TIGHT), {}),
    "IndirectLevenbergMarquardt": (optx.IndirectLevenbergMarquardt(**TIGHT), {}),
    "GaussNewton": (optx.GaussNewton(**TIGHT), {}),
    "BFGS": (optx.BFGS(rtol=1e-12, atol=1e-12), {}),
    "FixedPointIteration": (optx.FixedPointIteration(**TIGHT), {}),
}
BRACKETED = {"Bisection": (optx.Bisection(**TIGHT), {"lower": 0.0, "upper": 3.0})}


@pytest.mark.parametrize("name", [*OPTIMISTIX, *BRACKETED])
def test_a_solver_of_optimistix_finds_a_fixed_point(name: str) -> None:
    solver, options = {**OPTIMISTIX, **BRACKETED}[name]
    solution = optx.fixed_point(
        lambda y, shift: jnp.cos(y) / 2 + shift, solver, jnp.asarray(0.5), 0.25, options=options
    )
    np.testing.assert_allclose(solution.value, np.cos(float(solution.value)) / 2 + 0.25, atol=1e-8)


@pytest.mark.parametrize("name", OPTIMISTIX)
def test_a_solver_of_optimistix_closes_sellars_cycle_as_it_is(name: str) -> None:
    d1 = cpx.component(lambda z_1, y_2: z_1**2 + 3 - 0.2 * y_2, "y_1", name="d1")
    d2 = cpx.component(lambda y_1, z_1: jnp.sqrt(jnp.abs(y_1)) + z_1 + 2, "y_2", name="d2")
    result = cpx.Model(d1, d2).close(OPTIMISTIX[name][0], cut="y_2").run(z_1=1.0, guess={"y_2": 1.0})
    np.testing.assert_allclose(result["y_2"], SELLAR_Y_2, rtol=1e-8)


@pytest.mark.parametrize("solver", [cpx.Newton(**TIGHT), cpx.Broyden(**TIGHT), cpx.Bisection(-3.0, 8.0)])
def test_a_root_finder_of_couplax_needs_no_options_of_its_own(solver: Any) -> None:
    solution = optx.root_find(lambda y, shift: jnp.sinh(y) - shift, solver, jnp.asarray(2.0), 1.5)
    assert is_solved(solution)
    np.testing.assert_allclose(solution.value, np.arcsinh(1.5), rtol=1e-7)


@pytest.mark.parametrize("solver", [cpx.Anderson(**TIGHT), cpx.GaussSeidel(**TIGHT), cpx.Newton(**TIGHT)])
def test_a_solver_of_couplax_finds_a_fixed_point_for_optimistix(solver: Any) -> None:
    solution = optx.fixed_point(lambda y, _: jnp.cos(y), solver, jnp.asarray(1.0))
    np.testing.assert_allclose(solution.value, 0.7390851332151607, rtol=1e-9)


def test_optimistix_raises_for_a_solver_of_couplax_that_fails() -> None:
    with pytest.raises(Exception, match="maximum number of steps"):
        optx.root_find(lambda y, _: jnp.exp(y) - 1, cpx.Newton(max_steps=3), jnp.asarray(30.0))
