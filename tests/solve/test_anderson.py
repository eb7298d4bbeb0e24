"""Anderson acceleration against what is proved of it."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest
import scipy.sparse.linalg

import couplax as cpx
from couplax.solve._anderson import _least_squares
from solver_cases import fixed_point, is_solved


def rotation(size: int, scale: float) -> np.ndarray[Any, Any]:
    """Returns a matrix of which every singular value is `scale`, and no eigenvalue is real but by chance."""
    orthogonal, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(size, size)))
    return scale * orthogonal


def test_on_a_linear_cycle_it_is_gmres() -> None:
    # Walker and Ni (2011), theorem 2.2: with a memory of all steps y_(k+1) = g(y_k of GMRES), while that
    # does not stagnate.
    matrix, shift = rotation(8, 0.9), np.arange(1.0, 9.0)
    residuals: list[float] = []
    scipy.sparse.linalg.gmres(
        np.eye(8) - matrix,
        shift,
        rtol=1e-12,
        restart=8,
        callback=residuals.append,
        callback_type="pr_norm",
    )
    solver = cpx.Anderson(memory=8, rtol=1e-10, atol=1e-10)
    for steps in (1, 3, 5):
        # A tolerance that is alike for all unknowns: lengths are measured in tolerances.
        short = cpx.Anderson(memory=8, rtol=0.0, atol=1e-6, max_steps=steps)
        solution = fixed_point(short, lambda y, _: matrix @ y + shift, jnp.zeros(8))
        # |f(y_(k+1))| = |A f(y_k of GMRES)|, and A scales every length alike.
        length = np.linalg.norm(matrix @ np.asarray(solution.value) + shift - np.asarray(solution.value))
        before = 1.0 if steps == 1 else residuals[steps - 2]
        np.testing.assert_allclose(length, 0.9 * before * np.linalg.norm(shift), rtol=1e-6)
    solution = fixed_point(solver, lambda y, _: matrix @ y + shift, jnp.zeros(8))
    assert is_solved(solution)
    np.testing.assert_allclose(solution.value, np.linalg.solve(np.eye(8) - matrix, shift), rtol=1e-8)


def test_a_cycle_whose_passes_diverge_is_solved() -> None:
    matrix = rotation(5, 2.0)
    solution = fixed_point(cpx.Anderson(), lambda y, _: matrix @ y + 1, jnp.zeros(5))
    assert is_solved(solution)
    assert int(solution.stats["num_steps"]) <= 12
    np.testing.assert_allclose(solution.value, np.linalg.solve(np.eye(5) - matrix, np.ones(5)), rtol=1e-6)


def test_a_slow_cycle_of_many_unknowns_takes_a_fifth_of_the_passes() -> None:
    rates = jnp.linspace(0.0, 0.97, 500)

    def passed(y: Any, _: Any) -> Any:
        return rates * y + jnp.sin(y) / 50 + 1

    plain = fixed_point(cpx.GaussSeidel(max_steps=2000), passed, jnp.zeros(500))
    accelerated = fixed_point(cpx.Anderson(memory=10), passed, jnp.zeros(500))
    assert is_solved(accelerated)
    assert int(accelerated.stats["num_steps"]) * 5 < int(plain.stats["num_steps"])
    value = np.asarray(accelerated.value)
    # The residual is within 1e-8 (1 + |y|) and the slowest slope of f is about 1/100.
    np.testing.assert_allclose(value, rates * value + np.sin(value) / 50 + 1, rtol=2.1e-8)


def test_relaxation_takes_a_part_of_what_is_left() -> None:
    solution = fixed_point(
        cpx.Anderson(relaxation=0.25, max_steps=1), lambda y, _: jnp.cos(y) + 1, jnp.asarray(0.0)
    )
    np.testing.assert_allclose(solution.value, 0.25 * 2, rtol=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_the_least_squares_leave_dependent_columns_and_columns_of_zeros_alone(dtype: Any) -> None:
    rng = np.random.default_rng(5)
    first, second, target = rng.normal(size=(3, 6)).astype(dtype)
    columns = jnp.stack([jnp.asarray(first), jnp.asarray(second), jnp.zeros(6, dtype)], axis=1)
    wanted = np.linalg.lstsq(np.stack([first, second], axis=1), target, rcond=None)[0]
    weights = _least_squares(columns, jnp.asarray(target))
    np.testing.assert_allclose(weights, [*wanted, 0], rtol=1e-5)
    twice = jnp.stack([jnp.asarray(first), 2 * jnp.asarray(first)], axis=1)
    left = target - twice @ _least_squares(twice, jnp.asarray(target))
    np.testing.assert_allclose(left @ first, 0, atol=1e-5)


def test_a_start_where_a_pass_overflows_later_is_survived() -> None:
    # From 0.2 the first pass leads to where the logarithm is not defined.
    solution = fixed_point(cpx.Anderson(), lambda y, _: 1 + 2 * jnp.log(y) / 3 + 0.1 * y, jnp.asarray(0.2))
    assert is_solved(solution)
    root = float(solution.value)
    np.testing.assert_allclose(root, 1 + 2 * np.log(root) / 3 + 0.1 * root, rtol=1e-7)


def test_a_memory_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Anderson\(memory=0\).*at least 1"):
        cpx.Anderson(memory=0)


def test_an_unknown_with_a_residual_of_its_own_is_refused_by_name() -> None:
    start = {"u": jnp.asarray(0.0), "v": jnp.asarray(0.0)}
    with pytest.raises(ValueError, match=r"Anderson repeats passes.*`u` has a residual of its own"):
        optx.fixed_point(lambda y, _: y, cpx.Anderson(), start, options={"changes": {"u": False, "v": True}})
