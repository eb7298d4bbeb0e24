"""Broyden's method: how fast it converges, what it costs, how it holds where plain steps run away."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from couplax.solve._broyden import _Inverse
from solver_cases import fixed_point, is_solved, largest


def found(fn: Any, start: Any, changes: Any = False, **options: Any) -> Any:
    """Returns optimistix's solution of fn(y) = 0 from `start` by Broyden's method."""
    solver = cpx.Broyden(**options)
    return optx.root_find(
        lambda y, _: fn(y), solver, start, options={"changes": changes}, max_steps=None, throw=False
    )


def test_a_rank_one_correction_maps_the_change_to_the_move_and_leaves_what_is_orthogonal() -> None:
    rng = np.random.default_rng(7)
    jacobian = rng.normal(size=(4, 4)) + 3 * np.eye(4)
    move, change = rng.normal(size=4), rng.normal(size=4)
    # The good update of J itself: J + (df - J s) s^T / s^T s.
    wanted = jacobian + np.outer(change - jacobian @ move, move) / (move @ move)
    memory = _Inverse(jnp.linalg.inv(jacobian)).learned(jnp.asarray(move), jnp.asarray(change))
    np.testing.assert_allclose(memory.matrix, np.linalg.inv(wanted), rtol=1e-9, atol=1e-12)


def test_a_correction_that_would_make_the_jacobian_singular_is_damped() -> None:
    memory = _Inverse(jnp.eye(2)).learned(jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]))
    # s^T H df = 0: undamped the inverse would be infinite; Powell's least curvature is a tenth.
    jacobian = np.linalg.inv(memory.matrix)
    np.testing.assert_allclose(np.linalg.det(jacobian), 0.1, rtol=1e-12)


def test_a_move_of_nothing_teaches_nothing() -> None:
    memory = _Inverse(jnp.eye(2)).learned(jnp.zeros(2), jnp.zeros(2))
    np.testing.assert_array_equal(memory.matrix, np.eye(2))


def circle(y: Any) -> Any:
    """Returns Dennis and Schnabel's example 5.4.1, whose root is (1, 1)."""
    return jnp.stack([y[0] ** 2 + y[1] ** 2 - 2, jnp.exp(y[0] - 1) + y[1] ** 3 - 2])


def test_convergence_is_superlinear() -> None:
    solution = found(circle, jnp.array([1.5, 2.0]), rtol=1e-15, atol=1e-15)
    assert is_solved(solution)
    np.testing.assert_allclose(solution.value, [1, 1], rtol=1e-13)
    told = np.asarray(solution.stats["residuals"])[: int(solution.stats["num_steps"]) + 1]
    rates = told[1:] / told[:-1]
    # A linear rate would stay as it is.
    assert rates[1:4].min() > 0.3
    assert rates[-3:].max() < 0.01
    assert (np.diff(rates[-4:]) < 0).all()


def test_a_linear_cycle_is_solved_in_twice_as_many_steps_as_it_has_unknowns() -> None:
    # Gay (1979), Some convergence properties of Broyden's method, theorem 2.2.
    matrix = jnp.array([[0.0, 0.9, 0.0], [0.0, 0.0, 0.8], [-0.7, 0.0, -0.3]])
    solution = fixed_point(cpx.Broyden(rtol=1e-10, atol=1e-10), lambda y, _: matrix @ y + 1, jnp.zeros(3))
    assert is_solved(solution)
    assert int(solution.stats["num_steps"]) <= 6
    np.testing.assert_allclose(solution.value, np.linalg.solve(np.eye(3) - matrix, np.ones(3)), rtol=1e-8)


def test_a_cycle_is_never_differentiated() -> None:
    @jax.custom_jvp
    def passed(y: Any) -> Any:
        return jnp.cos(y)

    @passed.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise AssertionError("a derivative was asked for")

    solution = fixed_point(cpx.Broyden(), lambda y, _: passed(y), jnp.zeros(2))
    # The number at which the cosine is itself.
    np.testing.assert_allclose(solution.value, [0.7390851332151607] * 2, rtol=1e-8)


@pytest.mark.parametrize("start", [3.0, -3.0, 10.0])
def test_a_general_residual_converges_where_plain_newton_runs_away(start: float) -> None:
    solution = found(jnp.arctan, jnp.asarray(start))
    assert is_solved(solution)
    np.testing.assert_allclose(solution.value, 0, atol=1e-7)


def diode(nodes: Any) -> Any:
    v_1, v_2 = nodes
    between = (v_1 - v_2) / 10000
    return jnp.stack([v_1 / 100 + between - 0.1, between - 1e-15 * (jnp.exp(v_2 / 0.025875) - 1)])


@pytest.mark.parametrize("v_2", [1e-3, 0.5, 1.0])
def test_the_diode_circuit_converges_to_its_reference(v_2: float) -> None:
    solution = found(diode, jnp.array([1.0, v_2]))
    assert is_solved(solution)
    np.testing.assert_allclose(solution.value, [9.908047345079474, 0.7127818530267862], rtol=1e-6)


def test_residuals_and_changes_are_solved_together() -> None:
    def both(y: Any) -> Any:
        return {"u": y["u"] ** 3 - y["v"] - 1, "v": jnp.cos(y["u"]) / 2 - y["v"]}

    start = {"u": jnp.asarray(2.0), "v": jnp.asarray(0.0)}
    solution = found(both, start, {"u": False, "v": True}, rtol=1e-10, atol=1e-10)
    assert is_solved(solution)
    assert largest(both(solution.value)) < 1e-9


def test_a_residual_of_zero_slope_is_said_to_be_singular() -> None:
    solution = found(lambda y: y**2 - 1, jnp.asarray(0.0))
    assert bool(solution.result == optx.RESULTS.singular)


def test_an_equation_without_a_root_is_said_not_to_fall_further() -> None:
    solution = found(lambda y: y**2 + 1, jnp.asarray(0.5), max_steps=300)
    assert bool(solution.result == optx.RESULTS.nonlinear_divergence)


def test_more_residuals_than_unknowns_are_refused() -> None:
    with pytest.raises(ValueError, match="given 3 residuals for 1 unknowns"):
        found(lambda y: y * jnp.ones(3), jnp.asarray(1.0))
