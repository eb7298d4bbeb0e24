"""Newton's method: where it converges, what it says where it does not, what it costs."""

from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import lineax as lx
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


def large(y: Any, shift: Any) -> Any:
    """Returns 200 residuals of a pytree of two vectors."""
    flat = jnp.concatenate([y["u"], y["v"]])
    residual = jnp.tanh(jnp.roll(flat, 1) - 0.7 * jnp.roll(flat, 3)) + shift - flat
    return {"u": residual[:150], "v": residual[150:]}


LARGE_START = {"u": np.zeros(150), "v": np.zeros(50)}


def largest_made(jaxpr: Any) -> int:
    """Returns the size of the largest array that an equation of `jaxpr` makes, inner ones included."""
    inner = [largest_made(sub) for eqn in jaxpr.eqns for sub in jec.jaxprs_in_params(eqn.params) if sub.eqns]
    return max([*inner, *(out.aval.size for eqn in jaxpr.eqns for out in eqn.outvars)])


@pytest.mark.parametrize("krylov", [lx.GMRES, lx.BiCGStab])
def test_a_krylov_linear_solver_finds_200_unknowns_as_the_dense_one_does(krylov: Any) -> None:
    dense = found(large, LARGE_START, jnp.ones(200))
    solution = found(large, LARGE_START, jnp.ones(200), linear_solver=krylov(rtol=1e-6, atol=1e-6))
    assert bool(solution.result == optx.RESULTS.successful)
    assert int(solution.stats["num_steps"]) <= int(dense.stats["num_steps"]) + 2
    for name in ("u", "v"):
        np.testing.assert_allclose(solution.value[name], dense.value[name], rtol=1e-7, atol=1e-7)


def test_a_krylov_linear_solver_forms_no_matrix() -> None:
    def sizes(**options: Any) -> int:
        solve = jax.make_jaxpr(lambda shift: found(large, LARGE_START, shift, **options).value)
        return largest_made(solve(jnp.ones(200)).jaxpr)

    assert sizes() == 200 * 200
    # GMRES keeps its last 20 directions.
    assert sizes(linear_solver=lx.GMRES(rtol=1e-6, atol=1e-6)) <= 200 * 21


@pytest.mark.parametrize("krylov", [lx.GMRES, lx.BiCGStab])
def test_one_unknown_is_a_division_whatever_the_linear_solver(krylov: Any) -> None:
    solution = found(
        lambda y, _: {"f": y["u"] ** 2 - 2},
        {"u": jnp.ones((1, 1))},
        linear_solver=krylov(rtol=1e-6, atol=1e-6),
    )
    np.testing.assert_allclose(solution.value["u"], [[np.sqrt(2)]], rtol=1e-10)


@pytest.mark.parametrize("v_2", [1e-3, 0.5, 1.0])
def test_the_default_tolerances_are_errors_of_the_voltages_not_of_the_currents(v_2: float) -> None:
    # The currents are 1e-3 of the voltages' size and fall below 1e-8 A long before the voltages are right.
    solution = found(diode, jnp.array([1.0, v_2]), jnp.asarray(0.1))
    assert bool(solution.result == optx.RESULTS.successful)
    np.testing.assert_allclose(solution.value, [9.908047345079474, 0.7127818530267862], rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_units_of_a_residual_change_no_step(scale: float) -> None:
    def fn(y: Any, scale: Any) -> Any:
        return scale * jnp.stack([y[0] ** 2 - y[1] - 1, jnp.exp(y[1]) - y[0]])

    solution = found(fn, jnp.array([2.0, 0.5]), jnp.asarray(scale))
    plain = found(fn, jnp.array([2.0, 0.5]), jnp.asarray(1.0))
    assert int(solution.stats["num_steps"]) == int(plain.stats["num_steps"])
    np.testing.assert_allclose(solution.value, plain.value, atol=1e-13)


@pytest.mark.parametrize(
    "fn", [lambda y, _: 1e-20 / y, lambda y, _: 1e-20 * jnp.exp(-y)], ids=["1/y", "exp(-y)"]
)
def test_an_unknown_that_runs_away_from_a_small_residual_has_not_converged(fn: Any) -> None:
    solution = found(fn, jnp.asarray(2.0))
    assert bool(solution.result == optx.RESULTS.nonlinear_max_steps_reached)


def test_a_change_is_compared_with_its_own_unknown() -> None:
    def steps(**options: Any) -> int:
        solver = cpx.Newton(rtol=3.5e-3, atol=0.0)
        solution = optx.root_find(
            lambda y, _: y**2 / 4 + 0.5 - y, solver, jnp.asarray(0.5), options=options, throw=False
        )
        return int(solution.stats["num_steps"])

    # By hand: f(0.5) = 0.0625 and f' = -0.75, so that the first step is 0.0833 and leaves f = 0.0017 at
    # y = 0.583, where the tolerance is 0.0020. Not known to be a change, f leaves 0.0833 * 0.0017 / 0.0625 =
    # 0.0023 to be feared.
    assert steps(changes=True) == 1
    assert steps() == 2


def test_changes_may_be_told_unknown_by_unknown() -> None:
    def fn(y: Any, _: Any) -> Any:
        return {"u": 1e-9 * (y["u"] ** 2 - 2), "v": jnp.cos(y["u"]) - y["v"]}

    start = {"u": jnp.asarray(1.0), "v": jnp.asarray(1.0)}
    solution = optx.root_find(
        fn, cpx.Newton(), start, options={"changes": {"u": False, "v": True}}, throw=False
    )
    np.testing.assert_allclose(solution.value["u"], np.sqrt(2), rtol=1e-8)
    np.testing.assert_allclose(solution.value["v"], np.cos(np.sqrt(2)), rtol=1e-8)


def test_a_step_that_a_bound_cuts_off_does_not_count_as_the_newton_step() -> None:
    solution = optx.root_find(
        lambda y, _: y - 5, cpx.Newton(), jnp.asarray(0.0), options={"upper": 2.0}, throw=False
    )
    assert bool(solution.result == optx.RESULTS.nonlinear_divergence)
    assert float(solution.value) == 2


def test_a_root_at_a_bound_is_found() -> None:
    solution = optx.root_find(
        lambda y, _: jnp.exp(y - 2) - 1, cpx.Newton(), jnp.asarray(0.0), options={"upper": 2.0}, throw=False
    )
    assert bool(solution.result == optx.RESULTS.successful)
    np.testing.assert_allclose(solution.value, 2, rtol=1e-8)


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
