"""Newton's method: where it converges, what it says where it does not, what it costs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from couplax import SolveError

DIODE = {"current": 0.1, "r_1": 100.0, "r_2": 10000.0, "saturation": 1e-15, "thermal": 0.025875}


def found(fn: Any, start: Any, args: Any = None, solver: Any = None, **options: Any) -> Any:
    """Returns optimistix's solution of fn(y, args) = 0 from `start`."""
    solver = solver or cpx.Newton(**options)
    return optx.root_find(fn, solver, start, args, max_steps=solver.max_steps, throw=False)


def diode(nodes: Any, current: Any) -> Any:
    v_1, v_2 = nodes
    between = (v_1 - v_2) / DIODE["r_2"]
    first = v_1 / DIODE["r_1"] + between - current
    second = between - DIODE["saturation"] * (jnp.exp(v_2 / DIODE["thermal"]) - 1)
    return jnp.stack([first, second])


def test_the_line_search_converges_where_plain_newton_diverges() -> None:
    solution = found(lambda y, _: jnp.arctan(y), jnp.asarray(3.0))
    assert bool(solution.result == optx.RESULTS.successful)
    np.testing.assert_allclose(solution.value, 0, atol=1e-8)


@pytest.mark.parametrize("v_2", [1e-3, 0.5, 1.0])
def test_the_diode_circuit_converges_to_its_reference(v_2: float) -> None:
    solution = found(diode, jnp.array([1.0, v_2]), jnp.asarray(0.1), rtol=1e-12, atol=1e-14, max_steps=400)
    assert bool(solution.result == optx.RESULTS.successful)
    # The current through the diode bears an error of 1e-14 A, against a slope of 4e-3 A/V.
    np.testing.assert_allclose(solution.value, [9.908047345079474, 0.7127818530267862], rtol=1e-9)


def test_the_diode_circuits_slopes_are_implicit() -> None:
    def voltages(current: Any) -> Any:
        return found(diode, jnp.array([9.0, 0.7]), current, rtol=1e-12, atol=1e-14, max_steps=400).value

    slopes = jax.jacfwd(voltages)(jnp.asarray(0.1))
    np.testing.assert_allclose(slopes, [99.01265182824298, 0.277834652539116], rtol=1e-8)


def test_a_tolerance_finer_than_float32_still_converges() -> None:
    start = jnp.ones(3, jnp.float32)
    solution = found(lambda y, _: y**2 - jnp.array([2, 3, 5], jnp.float32), start, rtol=1e-10, atol=1e-10)
    assert bool(solution.result == optx.RESULTS.successful)
    np.testing.assert_allclose(solution.value, np.sqrt([2, 3, 5]), rtol=1e-6)


def test_a_singular_jacobian_is_said() -> None:
    solution = found(lambda y, _: jnp.stack([y[0] + y[1] - 1, y[0] + y[1] - 2]), jnp.zeros(2))
    assert bool(solution.result == optx.RESULTS.singular)


def test_an_equation_without_a_root_stalls() -> None:
    solution = found(lambda y, _: y**2 + 1, jnp.asarray(0.5))
    assert not bool(solution.result == optx.RESULTS.successful)
    assert int(solution.stats["num_steps"]) <= 100


def test_a_start_that_is_nan_is_said_to_be() -> None:
    solution = found(lambda y, _: y - 1, jnp.asarray(jnp.nan))
    assert bool(solution.result == optx.RESULTS.nonfinite)


def test_the_limit_of_steps_holds() -> None:
    solution = found(lambda y, _: jnp.exp(y) - 1, jnp.asarray(30.0), max_steps=5)
    assert bool(solution.result == optx.RESULTS.nonlinear_max_steps_reached)
    assert int(solution.stats["num_steps"]) == 5


def test_a_start_at_the_root_takes_no_step() -> None:
    solution = found(lambda y, _: y - 1, jnp.asarray(1.0))
    assert (int(solution.stats["num_steps"]), float(solution.value)) == (0, 1.0)


def test_a_hard_lane_of_a_vmap_changes_no_other() -> None:
    def solved(start: Any, target: Any) -> Any:
        solution = found(
            lambda y, target: jnp.where(target > 1, y**2 + 1, jnp.arctan(y) - target), start, target
        )
        return solution.value, solution.result == optx.RESULTS.successful

    # The second lane has no root, the third starts where plain Newton diverges.
    starts, targets = jnp.array([0.1, 0.5, 3.0]), jnp.array([0.3, 2.0, 0.0])
    values, converged = jax.vmap(solved)(starts, targets)
    assert converged.tolist() == [True, False, True]
    for lane in (0, 2):
        np.testing.assert_array_equal(values[lane], solved(starts[lane], targets[lane])[0])


@pytest.mark.parametrize(
    "solver",
    [
        optx.Newton(rtol=1e-10, atol=1e-10),
        optx.Chord(rtol=1e-10, atol=1e-10),
        optx.Dogleg(rtol=1e-10, atol=1e-10),
        optx.LevenbergMarquardt(rtol=1e-10, atol=1e-10),
    ],
)
def test_a_solver_of_optimistix_closes_a_cycle_as_it_is(solver: Any) -> None:
    half = cpx.component(lambda y, c: jnp.cos(y) / 2 + c, cpx.output("x", guess=0.0), name="half")
    same = cpx.component(lambda x: x, "y", name="same")
    result = cpx.Model(half, same).close(solver).run(c=0.0)
    np.testing.assert_allclose(result["x"], np.cos(float(result["x"])) / 2, atol=1e-9)


def test_a_solve_that_fails_names_status_steps_unknowns_and_ways_out() -> None:
    away = cpx.component(lambda x: x**2 + x + 1, cpx.output("x", guess=0.5), name="away")
    model = cpx.Model(away).close(cpx.Newton(max_steps=7))
    with pytest.raises(SolveError) as caught:
        model.run()
    message = str(caught.value)
    for part in (
        "cycle `away`",
        "Newton ended after 7 steps",
        "limit of steps",
        "x: residual",
        "guess=",
        "throw=False",
    ):
        assert part in message
