"""The laws that every solver of couplax keeps, over the table of them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from couplax.solve import _progress
from solver_cases import ALL, SELLAR_Y_2, VECTOR, fixed_point, is_solved, sellar

pytestmark = pytest.mark.long_table(2)

TIGHT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10}


@cpx.component("y_1")
def d1(z_1: Any, y_2: Any) -> Any:
    return z_1**2 + 3 - 0.2 * y_2


def d2_numpy(y_1: Any, z_1: Any) -> Any:
    return np.sqrt(np.abs(y_1)) + z_1 + 2


def d2(y_1: Any, z_1: Any) -> Any:
    return jnp.sqrt(jnp.abs(y_1)) + z_1 + 2


def test_every_solver_of_couplax_is_in_the_table() -> None:
    def leaves(kind: type) -> set[type]:
        below = kind.__subclasses__()
        return {leaf for one in below for leaf in leaves(one)} if below else {kind}

    assert {type(make()) for make in ALL.values()} == leaves(_progress.AbstractRecorded)


@pytest.mark.parametrize("name", ALL)
def test_sellars_cycle_has_its_reference_values(name: str) -> None:
    model = cpx.Model(d1, cpx.component(d2, "y_2")).close(ALL[name](**TIGHT), cut="y_2")
    result = model.run(z_1=1.0, guess={"y_2": 1.0})
    np.testing.assert_allclose(result["y_2"], SELLAR_Y_2, rtol=1e-9)
    np.testing.assert_allclose(result["y_1"], 3.0506762937470167, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "calls"),
    # Broyden's, Anderson's and Aitken's steps are those of the secant method on one unknown.
    [("newton", (7, 9)), ("broyden", (5, 7)), ("anderson", (5, 7)), ("gauss-seidel, aitken", (5, 7))],
)
def test_a_numpy_discipline_is_called_this_often_for_the_solve_and_with_the_gradient(
    name: str, calls: tuple[int, int]
) -> None:
    box = cpx.foreign(d2_numpy, jnp.float64, name="box")
    model = cpx.Model(d1, cpx.component(box, "y_2", name="d2")).close(ALL[name](**TIGHT), cut="y_2")
    box.tally.reset()
    result = model.run(z_1=1.0, guess={"y_2": 1.0})
    solve = box.tally.calls
    np.testing.assert_allclose(result["y_2"], SELLAR_Y_2, rtol=1e-9)
    box.tally.reset()
    slope = jax.grad(model.function("z_1", "y_2", guess={"y_2": 1.0}))(1.0)
    assert (solve, box.tally.calls) == calls
    # y_2' = y_1' / (2 sqrt(y_1)) + 1 with y_1' = 2 z_1 - 0.2 y_2'; forward differences.
    half = 0.5 / np.sqrt(3.0506762937470167)
    np.testing.assert_allclose(slope, (2 * half + 1) / (1 + 0.2 * half), rtol=1e-7)


MATRIX = np.array([[0.1, -0.3, 0.2, 0.0], [0.2, 0.1, 0.0, -0.1], [0.0, 0.3, -0.2, 0.1], [0.1, 0.0, 0.2, 0.2]])
SHIFT = np.array([1.0, -2.0, 0.5, 3.0])


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("name", VECTOR)
def test_a_pytree_of_several_shapes_is_solved_in_its_own_precision(name: str, dtype: Any) -> None:
    def passed(y: Any, _: Any) -> Any:
        flat = jnp.asarray(MATRIX, dtype) @ jnp.concatenate([y["a"][None], y["b"][0].ravel()])
        flat = flat + jnp.asarray(SHIFT, dtype)
        return {"a": flat[0], "b": (flat[1:].reshape(1, 3),)}

    start = {"a": jnp.zeros((), dtype), "b": (jnp.zeros((1, 3), dtype),)}
    solution = fixed_point(VECTOR[name](), passed, start)
    assert is_solved(solution)
    assert {leaf.dtype for leaf in jax.tree.leaves(solution.value)} == {jnp.dtype(dtype)}
    wanted = np.linalg.solve(np.eye(4) - MATRIX, SHIFT)
    found = np.concatenate([solution.value["a"][None], solution.value["b"][0].ravel()])
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == jnp.float32 else 1e-7)


@pytest.mark.parametrize("name", VECTOR)
def test_the_units_of_the_unknowns_change_no_step(name: str) -> None:
    def passed(y: Any, units: Any) -> Any:
        return units * (jnp.cos(MATRIX @ (y / units)) + SHIFT / 4)

    def solved(units: Any) -> Any:
        return fixed_point(VECTOR[name](atol=0.0), passed, units, units)

    # Powers of two, by which no rounding changes.
    units = 2.0 ** jnp.array([20, -17, 0, 9])
    plain, scaled = (jax.jit(solved)(each) for each in (jnp.ones(4), units))
    assert int(scaled.stats["num_steps"]) == int(plain.stats["num_steps"])
    # GMRES has tolerances of its own, which are not scaled.
    np.testing.assert_allclose(scaled.value / units, plain.value, rtol=1e-10)


def pair(y: Any, weight: Any) -> Any:
    return weight * jnp.stack([jnp.cos(y[1]), jnp.sin(y[0]) + 1])


@pytest.mark.parametrize("name", VECTOR)
def test_a_hard_lane_of_a_vmap_changes_no_bit_of_an_easy_one(name: str) -> None:
    def solved(weight: Any) -> Any:
        return fixed_point(VECTOR[name](max_steps=30), pair, jnp.zeros(2), weight)

    lanes = jax.jit(jax.vmap(solved))
    easy, mixed = lanes(jnp.array([0.2, 0.2])), lanes(jnp.array([0.2, 0.9]))
    np.testing.assert_array_equal(mixed.value[0], easy.value[0])
    np.testing.assert_array_equal(mixed.stats["residuals"][0], easy.stats["residuals"][0])
    assert int(mixed.stats["num_steps"][1]) > int(mixed.stats["num_steps"][0])
    np.testing.assert_allclose(mixed.value[0], pair(mixed.value[0], 0.2), rtol=1e-7)


@pytest.mark.parametrize("name", ALL)
def test_the_slope_is_that_of_the_implicit_function_theorem_both_ways(name: str) -> None:
    def value(z_1: Any) -> Any:
        return fixed_point(ALL[name](**TIGHT), sellar, jnp.asarray(1.0), z_1).value

    # dy = (dg/dz) / (1 - dg/dy), by hand.
    half = 0.5 / np.sqrt(4 - 0.2 * SELLAR_Y_2)
    wanted = (2 * half + 1) / (1 + 0.2 * half)
    _, forward = jax.jvp(value, (1.0,), (1.0,))
    np.testing.assert_allclose(forward, wanted, rtol=1e-9)
    np.testing.assert_allclose(jax.grad(value)(1.0), wanted, rtol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_the_residuals_are_told_from_the_start_to_the_end(name: str) -> None:
    solution = fixed_point(ALL[name](max_steps=40), sellar, jnp.asarray(1.0), jnp.asarray(1.0))
    told, steps = np.asarray(solution.stats["residuals"]), int(solution.stats["num_steps"])
    assert told.shape == (41,)
    assert np.isfinite(told).tolist() == [True] * (steps + 1) + [False] * (40 - steps)
    # The residual of the point that is returned, and no other, is the last one.
    residual = float(sellar(solution.value, 1.0) - solution.value)
    np.testing.assert_allclose(told[steps], abs(residual), rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("name", VECTOR)
def test_the_first_residual_is_that_of_the_guess(name: str) -> None:
    solution = fixed_point(VECTOR[name](), sellar, jnp.asarray(1.0), jnp.asarray(1.0))
    first = abs(float(sellar(1.0, 1.0)) - 1)
    np.testing.assert_allclose(solution.stats["residuals"][0], first, rtol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_the_limit_of_steps_is_kept_whatever_optimistix_allows(name: str) -> None:
    solution = fixed_point(ALL[name](max_steps=2, **TIGHT), sellar, jnp.asarray(1.0), jnp.asarray(1.0))
    assert bool(solution.result == optx.RESULTS.nonlinear_max_steps_reached)
    assert int(solution.stats["num_steps"]) == 2


@pytest.mark.parametrize("name", ALL)
def test_a_pass_that_gives_nan_at_the_start_is_said_to(name: str) -> None:
    solution = fixed_point(ALL[name](), lambda y, _: y * jnp.nan, jnp.asarray(1.0))
    assert bool(solution.result == optx.RESULTS.nonfinite)


@pytest.mark.parametrize("name", VECTOR)
def test_a_guess_that_solves_the_cycle_is_returned_without_a_step(name: str) -> None:
    solution = fixed_point(VECTOR[name](), lambda y, _: 3 - 2 * y, jnp.ones(2))
    assert is_solved(solution)
    assert int(solution.stats["num_steps"]) == 0
    np.testing.assert_array_equal(solution.value, jnp.ones(2))


@pytest.mark.parametrize("name", VECTOR)
def test_no_point_beyond_the_bounds_is_evaluated(name: str) -> None:
    points: list[np.ndarray] = []

    def passed(y: Any, _: Any) -> Any:
        jax.debug.callback(lambda at: points.append(np.array(at)), y)
        return y + 1 / y - 1

    def solved(**bounds: Any) -> Any:
        points.clear()
        solution = fixed_point(VECTOR[name](), passed, jnp.array([0.3, 1.9]), **bounds)
        jax.effects_barrier()
        return solution

    # Unbounded, Newton steps from 1.9 to 0.19, and a fixed-point iteration from 0.3 to 2.63.
    solved()
    assert any(point[0] > 2.1 or point[1] < 0.2 for point in points)
    solution = solved(lower=0.2, upper=jnp.array([2.1, jnp.inf]))
    assert all(0.2 <= point.min() and point[0] <= 2.1 for point in points)
    np.testing.assert_allclose(solution.value, [1, 1], rtol=1e-7)
