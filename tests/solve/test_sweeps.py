"""Gauss-Seidel and Jacobi: sweeps, relaxation, Aitken's acceleration."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from solver_cases import fixed_point, is_solved

CHAIN = (
    cpx.component(lambda z: jnp.cos(z) / 2 + 1, cpx.output("x", guess=0.25), name="first"),
    cpx.component(lambda x: jnp.sin(x) / 2, cpx.output("y", guess=0.25), name="second"),
    cpx.component(lambda x, y: x * y / 4, cpx.output("z", guess=0.25), name="third"),
)


def steps(solution: Any) -> int:
    return int(solution.stats["num_steps"])


def test_a_gauss_seidel_sweep_reads_what_was_just_written() -> None:
    result = cpx.Model(*CHAIN).close(cpx.GaussSeidel(max_steps=3), cut="z").run(throw=False)
    z = 0.25
    for _ in range(3):
        x = np.cos(z) / 2 + 1
        z = x * np.sin(x) / 2 / 4
    np.testing.assert_allclose(result["z"], z, rtol=1e-14)


def test_a_jacobi_sweep_reads_what_the_last_sweep_wrote() -> None:
    model = cpx.Model(*CHAIN).close(cpx.Jacobi(max_steps=3), cut=("x", "y", "z"))
    result = model.run(throw=False)
    x = y = z = 0.25
    for _ in range(3):
        x, y, z = np.cos(z) / 2 + 1, np.sin(x) / 2, x * y / 4
    np.testing.assert_allclose([result["x"], result["y"], result["z"]], [x, y, z], rtol=1e-14)


def test_a_jacobi_solver_says_that_it_wants_every_coupling_cut() -> None:
    assert (cpx.Jacobi.cuts_all, cpx.GaussSeidel.cuts_all) == (True, False)


@pytest.mark.parametrize("solver", [cpx.GaussSeidel, cpx.Jacobi])
@pytest.mark.parametrize("weight", [1.0, 0.5, 1.2])
def test_a_relaxed_sweep_contracts_by_its_own_rate(solver: Any, weight: float) -> None:
    slope = -0.5
    solution = fixed_point(
        solver(relaxation=weight, max_steps=4), lambda y, _: slope * y + 3, jnp.asarray(0.0)
    )
    # The error is (1 + w (a - 1))^4 times what it was, the root 3 / (1 - a).
    np.testing.assert_allclose(solution.value, 2 - 2 * (1 + weight * (slope - 1)) ** 4, rtol=1e-13)


def away(y: Any, _: Any) -> Any:
    return 2 * jnp.cos(y) * jnp.array([1.0, 1.1, 0.9])


def test_passes_that_diverge_converge_when_they_are_damped() -> None:
    plain = fixed_point(cpx.GaussSeidel(), away, jnp.ones(3))
    damped = fixed_point(cpx.GaussSeidel(relaxation=0.4), away, jnp.ones(3))
    assert not is_solved(plain)
    assert is_solved(damped)
    np.testing.assert_allclose(damped.value, away(damped.value, None), rtol=1e-7)


def test_aitkens_relaxation_finds_its_own_damping() -> None:
    solution = fixed_point(cpx.GaussSeidel(aitken=True), away, jnp.ones(3))
    assert is_solved(solution)
    assert steps(solution) < steps(fixed_point(cpx.GaussSeidel(relaxation=0.4), away, jnp.ones(3)))
    np.testing.assert_allclose(solution.value, away(solution.value, None), rtol=1e-7)


def test_aitkens_relaxation_of_one_unknown_is_steffensens_secant() -> None:
    solution = fixed_point(
        cpx.GaussSeidel(aitken=True, relaxation=0.5, max_steps=2), lambda y, _: jnp.cos(y), jnp.asarray(0.0)
    )
    f = [np.cos(0.0) - 0.0, np.cos(0.5) - 0.5]
    np.testing.assert_allclose(solution.value, 0.5 - f[1] * 0.5 / (f[1] - f[0]), rtol=1e-13)


def test_a_change_that_stays_the_same_leaves_aitkens_relaxation_as_it_is() -> None:
    solution = fixed_point(cpx.GaussSeidel(aitken=True, max_steps=5), lambda y, _: y + 1, jnp.asarray(0.0))
    np.testing.assert_allclose(solution.value, 5.0, rtol=1e-14)


def test_passes_that_run_away_to_infinity_are_said_to() -> None:
    solution = fixed_point(cpx.GaussSeidel(max_steps=500), lambda y, _: y**3 + 1, jnp.asarray(2.0))
    assert bool(solution.result == optx.RESULTS.nonfinite)


def test_an_unknown_with_a_residual_of_its_own_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"GaussSeidel repeats passes.*`u` has a residual of its own"):
        optx.fixed_point(
            lambda y, _: y, cpx.GaussSeidel(), {"u": jnp.asarray(0.0)}, options={"changes": {"u": False}}
        )
