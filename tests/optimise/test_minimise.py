"""Optima with published or closed-form values, and what they cost."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.optimise._method import AbstractMethod, Outcome
from couplax.optimise._problem import Problem
from optimised_models import F_SELLAR, SELLAR, bowl, constraints, d1, d2_numpy, objective, sellar

ARCHITECTURES = {"MDF": cpx.MDF(), "IDF": cpx.IDF(), "SAND": cpx.SAND()}
over_architectures = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)


@over_architectures
def test_sellars_optimum_is_that_of_the_reference_by_every_architecture(architecture: Any) -> None:
    optimum = cpx.minimise(sellar, "f", **SELLAR, architecture=architecture)
    assert optimum.converged
    # SLSQP stops within 1e-10 of the scaled objective.
    np.testing.assert_allclose(optimum["f"], F_SELLAR, rtol=0, atol=1e-9)
    np.testing.assert_allclose([optimum["z_1"], optimum["z_2"]], [1.977638883463, 0], atol=1e-8)
    np.testing.assert_allclose(optimum["x_1"], 0, atol=1e-8)
    np.testing.assert_allclose([optimum["y_1"], optimum["y_2"]], [3.16, 3.75527776692695], atol=1e-8)


@pytest.mark.skipif(find_spec("cyipopt") is None, reason="cyipopt is not installed")
@over_architectures
def test_sellars_optimum_by_ipopt_with_exact_hessians(architecture: Any) -> None:
    optimum = cpx.minimise(
        sellar, "f", **SELLAR, architecture=architecture, method=cpx.IPOPT(exact_hessian=True)
    )
    # An interior point stays off the bounds z_2 = 0 and x_1 = 0 by what its barrier is worth, 1e-9.
    np.testing.assert_allclose(optimum["f"], F_SELLAR, rtol=0, atol=1e-6)


# Each has 7 analyses and 7 gradients, or 24 and 18, or 11 and 11. An analysis by IDF and SAND calls the code
# once, a gradient three times: the code has three inputs. An analysis by MDF is a solve by Newton's method.
CALLS = {"MDF": (22, 36), "IDF": (24, 54), "SAND": (11, 33)}


@pytest.mark.parametrize("name", CALLS)
def test_a_code_in_numpy_is_called_once_for_an_analysis_and_once_for_each_slope(name: str) -> None:
    box = cpx.foreign(d2_numpy, jnp.float64, name="d2")
    model = cpx.Model(d1, cpx.component(box, "y_2", name="d2"), objective, constraints)
    # Codes made of equal parts are one code, with one count.
    box.tally.reset()
    optimum = cpx.minimise(model, "f", **SELLAR, architecture=ARCHITECTURES[name])
    # Forward differences leave 1e-8 in the slopes, and so in where they are zero.
    np.testing.assert_allclose(optimum["f"], F_SELLAR, rtol=0, atol=1e-7)
    assert (box.tally.values, box.tally.probes) <= CALLS[name]
    if name != "MDF":
        assert box.tally.values == optimum.evaluations.analyses
        assert box.tally.probes == 3 * optimum.evaluations.gradients


def d2_adjoint(primals: Any, cotangents: Any) -> Any:
    (y_1, _, _), w = primals, cotangents
    return w * np.sign(y_1) / (2 * np.sqrt(np.abs(y_1))), w, w


# What the code writes is read by f, by g_2 and by what meets its target; or by what meets its state alone.
@pytest.mark.parametrize(("name", "readers"), [("IDF", 3), ("SAND", 1)])
def test_a_code_with_an_adjoint_alone_is_differentiated_backwards_and_exactly(
    name: str, readers: int
) -> None:
    box = cpx.foreign(d2_numpy, jnp.float64, adjoint=d2_adjoint, name="d2 with an adjoint")
    model = cpx.Model(d1, cpx.component(box, "y_2", name="d2"), objective, constraints)
    box.tally.reset()
    optimum = cpx.minimise(model, "f", **SELLAR, architecture=ARCHITECTURES[name])
    np.testing.assert_allclose(optimum["f"], F_SELLAR, rtol=0, atol=1e-9)
    assert box.tally.probes == 0
    assert box.tally.adjoints == readers * optimum.evaluations.gradients


def test_the_free_paraboloid_has_its_minimum_where_algebra_says() -> None:
    for method in (cpx.BFGS(), cpx.LBFGS(), cpx.SLSQP(), cpx.TrustConstr()):
        optimum = cpx.minimise(bowl, "f", design=["x", "y"], start={"x": 0.0, "y": 0.0}, method=method)
        np.testing.assert_allclose([optimum["x"], optimum["y"]], [20 / 3, -22 / 3], atol=1e-5)
        np.testing.assert_allclose(optimum["f"], -82 / 3, rtol=1e-10)


@pytest.mark.parametrize("limits", [0, 0.0, (0, 0), np.array(0.0), (0.0, None)], ids=str)
def test_the_paraboloid_on_a_line_has_its_minimum_where_algebra_says(limits: Any) -> None:
    # The free minimum is below the line x + y = 0, so that a lower limit holds it there as an equality does.
    optimum = on_the_line(limits)
    np.testing.assert_allclose([optimum["x"], optimum["y"], optimum["f"]], [7, -7, -27], rtol=1e-7)
    # On the line f is (x - 3)^2 - x^2 + (4 - x)^2 - 3, of slope 0; across it df/dy = x + 2 (y + 4) = 1.
    np.testing.assert_allclose(optimum.multipliers["total"], -1, rtol=1e-6)


def test_a_limit_that_does_not_bind_lets_the_free_minimum_through() -> None:
    optimum = on_the_line((None, 0))
    np.testing.assert_allclose([optimum["x"], optimum["y"]], [20 / 3, -22 / 3], rtol=1e-6)
    assert optimum.multipliers["total"] == 0
    assert optimum.active == {}


def on_the_line(limits: Any) -> cpx.Optimum:
    bounds = {"x": (-50, 50), "y": (-50, 50)}
    return cpx.minimise(bowl, "f", design=bounds, constraints={"total": limits}, start={"x": 0.0, "y": 0.0})


@cpx.component("minus_power")
def rotor(a: Any) -> Any:
    return -4 * a * (1 - a) ** 2


def test_betz_limit_is_16_27ths_at_a_third() -> None:
    optimum = cpx.minimise(cpx.Model(rotor), "minus_power", design={"a": (0, 0.9)}, start={"a": 0.1})
    # The objective is exact to 1e-10, where it is flat its variable is to the root of that.
    np.testing.assert_allclose(optimum["minus_power"], -16 / 27, rtol=1e-9)
    np.testing.assert_allclose([optimum["a"], optimum["minus_power"]], [1 / 3, -16 / 27], rtol=1e-4)


A, B, C, D = (
    np.random.default_rng(7).normal(scale=0.4, size=size) for size in ((3, 4), (3, 2), (2, 3), (2, 4))
)
AIM = np.array([1.0, -2.0, 0.5])


@cpx.component("u")
def upper(x: Any, v: Any) -> Any:
    return A @ x.ravel() + B @ v


@cpx.component("v")
def lower(x: Any, u: Any) -> Any:
    return C @ u + D @ x.ravel()


@cpx.component("f")
def distance(x: Any, u: Any) -> Any:
    return jnp.sum((u - AIM) ** 2) + jnp.sum(x**2)


@cpx.component("h")
def held(x: Any, v: Any) -> Any:
    return jnp.stack([x[0] + x[1], v])


linear = cpx.Model(upper, lower, distance, held)


@over_architectures
def test_vectors_as_variables_couplings_and_constraints_give_the_closed_form(architecture: Any) -> None:
    optimum = cpx.minimise(
        linear,
        "f",
        design={"x": (np.full((2, 2), -10.0), 10)},
        constraints={"h": (LOW, HIGH)},
        start={"x": np.full((2, 2), 0.5), "u": np.zeros(3), "v": np.zeros(2)},
        architecture=architecture,
    )
    # The objective is exact to 1e-10, where it is flat its variables are to the root of that.
    np.testing.assert_allclose(optimum["x"].ravel(), closed_form(), atol=1e-4)
    np.testing.assert_allclose(optimum["u"], optimum["x"].ravel() @ A.T + optimum["v"] @ B.T, atol=1e-9)


# The sums of x are held, the couplings v are not.
LOW, HIGH = np.array([[0.3, -0.2], [-9.0, -9.0]]), np.array([[0.3, -0.2], [9.0, 9.0]])


def closed_form() -> Any:
    """Returns the least |U x - aim|^2 + |x|^2 with x_0 + x_2 = .3 and x_1 + x_3 = -.2, by its conditions."""
    u = np.linalg.solve(np.eye(3) - B @ C, A + B @ D)
    sums = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1]])
    matrix = np.block([[2 * u.T @ u + 2 * np.eye(4), sums.T], [sums, np.zeros((2, 2))]])
    return np.linalg.solve(matrix, [*(2 * u.T @ AIM), 0.3, -0.2])[:4]


@pytest.fixture
def traced() -> list[str]:
    """Returns a list that grows each time JAX traces the counted discipline."""
    TRACED.clear()
    return TRACED


TRACED: list[str] = []


def counted_d1(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
    TRACED.append("d1")
    return z_1**2 + z_2 + x_1 - 0.2 * y_2


def counted() -> cpx.Model:
    return cpx.Model(cpx.component(counted_d1, "y_1"), sellar.components[1], objective, constraints)


@over_architectures
def test_a_model_is_traced_for_its_programs_only_and_never_again(
    architecture: Any, traced: list[str]
) -> None:
    once = cpx.minimise(counted(), "f", **SELLAR, architecture=architecture)
    assert once.evaluations.analyses > 5
    # By MDF for the values, and at a solution for the derivatives; by IDF and SAND once, and once for the
    # start of y_1. What matters: not for each point.
    assert len(traced) <= 3
    traced.clear()
    # An equal model, built anew, from another start, with another fixed value and another limit.
    start: Any = {**SELLAR["start"], "z_1": 4.0, "y_2": 2.0}
    other: Any = {**SELLAR, "start": start, "constraints": {"g_1": (None, 0.1), "g_2": (None, 0)}}
    cpx.minimise(counted(), "f", **other, architecture=architecture, fixed={"least": 3.0})
    assert traced == []


COMPILED: list[str] = []


def heard(event: str, duration_secs: float, **_: Any) -> None:
    if event.endswith("backend_compile_duration"):
        COMPILED.append(event)


jax.monitoring.register_event_duration_secs_listener(heard)


@over_architectures
def test_an_equal_problem_compiles_nothing(architecture: Any) -> None:
    cpx.minimise(counted(), "f", **SELLAR, architecture=architecture)
    COMPILED.clear()
    cpx.minimise(counted(), "f", **SELLAR, architecture=architecture, fixed={"least": 3.1})
    assert COMPILED == []
    # What is heard is heard: another function compiles.
    jax.jit(lambda x: jnp.cos(x) ** 7)(1.0)
    assert len(COMPILED) == 1


@cpx.component("f")
def logarithmic(x: Any) -> Any:
    return 40 * (x - jnp.log(x))


def test_a_step_to_where_the_model_is_not_a_number_is_shortened() -> None:
    optimum = cpx.minimise(
        cpx.Model(logarithmic), "f", design={"x": None}, start={"x": 10.0}, autoscale=False
    )
    assert optimum.evaluations.failures > 0
    np.testing.assert_allclose(optimum["x"], 1, rtol=1e-6)


@cpx.component(cpx.output("y", guess=0.1))
def fold(x: Any, y: Any) -> Any:
    """Returns what y = x exp(y) has no solution of beyond x = 1/e."""
    return x * jnp.exp(y)


@cpx.component("f")
def near_the_fold(y: Any) -> Any:
    return 100 * (y - 0.9) ** 2


def test_a_step_to_where_a_solve_has_no_solution_is_shortened() -> None:
    model = cpx.Model(fold, near_the_fold)
    optimum = cpx.minimise(model, "f", design={"x": (0, 1)}, start={"x": 0.2})
    assert optimum.evaluations.failures > 0
    np.testing.assert_allclose(optimum["y"], 0.9, rtol=1e-6)
    np.testing.assert_allclose(optimum["x"], 0.9 * np.exp(-0.9), rtol=1e-6)


def test_a_solve_that_fails_at_the_start_says_so_as_a_run_does() -> None:
    with pytest.raises(cpx.SolveError, match="cycle `fold`"):
        cpx.minimise(cpx.Model(fold, near_the_fold), "f", design={"x": (0, 1)}, start={"x": 0.9})


def test_a_start_where_the_model_is_not_a_number_is_told_with_its_values() -> None:
    with pytest.raises(cpx.OptimiseError, match=r"`f` is infinite or NaN at the start, x=-1\."):
        cpx.minimise(cpx.Model(logarithmic), "f", design=["x"], start={"x": -1.0})


def test_an_optimisation_that_does_not_converge_raises_and_keeps_how_far_it_came() -> None:
    with pytest.raises(cpx.OptimiseError, match="not converged: Iteration limit reached") as caught:
        cpx.minimise(sellar, "f", **SELLAR, method=cpx.SLSQP(max_iterations=2))
    optimum = caught.value.optimum
    assert not optimum.converged
    assert F_SELLAR < optimum["f"] < 28.6
    with pytest.raises(cpx.OptimiseError, match="only an optimum has sensitivities"):
        optimum.sensitivity("least")


def test_throw_false_returns_what_did_not_converge() -> None:
    optimum = cpx.minimise(sellar, "f", **SELLAR, method=cpx.SLSQP(max_iterations=2), throw=False)
    assert not optimum.converged
    assert optimum.status.startswith("not converged: Iteration limit reached; ")


def test_constraints_that_cannot_all_hold_are_told() -> None:
    problem: Any = {**SELLAR, "constraints": {"g_1": (None, 0), "g_2": (None, -40)}}
    optimum = cpx.minimise(sellar, "f", **problem, throw=False)
    assert not optimum.converged
    assert "a limit is violated by" in optimum.status


@cpx.component("f")
def rooted(x: Any) -> Any:
    return jnp.sqrt(x) + x


@pytest.mark.parametrize("method", [cpx.SLSQP(), cpx.LBFGS(), cpx.TrustConstr()], ids=lambda each: each.name)
def test_a_slope_that_is_infinite_ends_the_way_and_names_its_variable(method: Any) -> None:
    said = "the derivative with respect to `x` is infinite or NaN at a point where the values are finite"
    with pytest.raises(cpx.OptimiseError, match=said) as caught:
        cpx.minimise(cpx.Model(rooted), "f", design={"x": (0, 4)}, start={"x": 0.0}, method=method)
    assert caught.value.optimum["f"] == 0
    assert np.isnan(caught.value.optimum.multipliers["x"])


def meshed(x: Any) -> Any:
    if x < 0.5:
        raise ValueError("no mesh below 0.5")
    return (x - 0.6) ** 4


@pytest.mark.parametrize(
    "method",
    [
        cpx.SLSQP(),
        cpx.LBFGS(),
        pytest.param(
            cpx.IPOPT(),
            marks=pytest.mark.skipif(find_spec("cyipopt") is None, reason="cyipopt is not installed"),
        ),
    ],
    ids=lambda each: each.name,
)
def test_what_a_foreign_code_raises_comes_through_as_it_is(method: Any) -> None:
    model = cpx.Model(cpx.component(cpx.foreign(meshed, jnp.float64, name="meshed"), "f"))
    with pytest.raises(ValueError, match=r"no mesh below 0\.5"):
        cpx.minimise(model, "f", design={"x": (-4, 4)}, start={"x": 3.0}, method=method)


def test_a_foreign_code_that_may_fail_makes_steps_shorter() -> None:
    box = cpx.foreign(meshed, jnp.float64, name="meshed", on_failure="nan")
    model = cpx.Model(cpx.component(box, "f"))
    optimum = cpx.minimise(model, "f", design={"x": (-4, 4)}, start={"x": 3.0}, scale={"f": 1.0})
    assert optimum.evaluations.failures > 0
    # The objective is a fourth power: 1e-10 of it leaves the fourth root of that.
    np.testing.assert_allclose(optimum["x"], 0.6, atol=1e-2)


@cpx.component(cpx.output("u", guess={"a": jnp.ones(2), "b": 1.0}))
def branched(v: Any, x: Any) -> Any:
    return {"a": jnp.array([1.0, 2.0]) * v * 0.1 + x, "b": 0.2 * v}


@cpx.component(cpx.output("v", guess=1.0))
def gathered(u: Any) -> Any:
    return u["a"].sum() * 0.2 + u["b"]


@over_architectures
def test_a_coupling_may_be_a_tree_of_arrays(architecture: Any) -> None:
    aim = cpx.component(lambda u, x: (u["a"] ** 2).sum() + (u["b"] - 1) ** 2 + x**2, "f", name="aim")
    optimum = cpx.minimise(
        cpx.Model(branched, gathered, aim),
        "f",
        design={"x": (-9, 9)},
        start={"x": 3.0},
        architecture=architecture,
    )
    # v = .4 x + .06 v + .2 v, so all is in proportion to x: a = (.1 v + x, .2 v + x), b = .2 v.
    v = 0.4 / (1 - 0.26)
    slopes = np.array([0.1 * v + 1, 0.2 * v + 1, 0.2 * v, 1])
    np.testing.assert_allclose(optimum["x"], slopes[2] / (slopes @ slopes), rtol=1e-5)


def test_a_design_variable_may_be_a_tree_of_arrays() -> None:
    aim = cpx.component(lambda p: (p["a"] ** 2).sum() + (p["b"] - 1) ** 2, "f", name="aim")
    start = {"p": {"a": np.ones(2), "b": 3.0}}
    optimum = cpx.minimise(cpx.Model(aim), "f", design={"p": (0.5, 9)}, start=start)
    np.testing.assert_allclose(optimum["p"]["a"], [0.5, 0.5])
    np.testing.assert_allclose(optimum["p"]["b"], 1, rtol=1e-6)
    np.testing.assert_allclose(optimum.multipliers["p"]["a"], [-1, -1], rtol=1e-6)


@dataclass(frozen=True, slots=True)
class Pointing(AbstractMethod):
    """A method that points at a design."""

    x: tuple[float, ...]
    succeeded: bool = False

    @property
    def takes_bounds(self) -> bool:
        return True

    @property
    def takes_constraints(self) -> bool:
        return True

    def minimise(self, problem: Problem) -> Outcome:
        return Outcome(x=np.array(self.x), succeeded=self.succeeded, message="no further", iterations=0)


def test_an_optimum_is_one_whatever_its_method_says_of_it() -> None:
    lowest: Any = {"design": ["x", "y"], "start": {"x": 1.0, "y": 1.0}}
    right = cpx.minimise(bowl, "f", **lowest, method=Pointing((20 / 3, -22 / 3)))
    assert right.converged
    assert right.status.startswith("converged: the optimality conditions hold to ")
    wrong = cpx.minimise(bowl, "f", **lowest, method=Pointing((6.0, -7.0)), throw=False)
    assert wrong.status.startswith("not converged: no further; a slope of ")
    early = cpx.minimise(bowl, "f", **lowest, method=Pointing((6.0, -7.0), succeeded=True), throw=False)
    assert early.status.startswith("not converged: stopped by its own test, too early (no further); a slope")


def test_without_a_step_that_can_be_evaluated_the_way_ends_where_it_was() -> None:
    shelf = cpx.component(lambda x: jnp.where(x >= 1, x, jnp.nan), "f", name="shelf")
    said = r"the model cannot be evaluated where it stopped .* 11 of 12 analyses failed"
    with pytest.raises(cpx.OptimiseError, match=said) as caught:
        cpx.minimise(cpx.Model(shelf), "f", design={"x": (0, 4)}, start={"x": 1.0})
    assert caught.value.optimum["x"] == 1


def test_an_optimum_stays_where_it_started_if_that_is_one() -> None:
    optimum = cpx.minimise(bowl, "f", design=["x", "y"], start={"x": 20 / 3, "y": -22 / 3})
    assert optimum.converged
    assert optimum.evaluations.analyses <= 3
    np.testing.assert_allclose(optimum["f"], -82 / 3)


def test_a_design_variable_may_be_the_objective() -> None:
    optimum = cpx.minimise(
        bowl,
        "x",
        design={"x": (-50, 50), "y": (-50, 50)},
        constraints={"f": (None, 0)},
        start={"x": 5.0, "y": -5.0},
    )
    # The leftmost point of the ellipse f = 0, where df/dy = x + 2 (y + 4) = 0: 3 x^2 / 4 - 10 x + 6 = 0.
    np.testing.assert_allclose(optimum["x"], (10 - np.sqrt(82)) / 1.5, rtol=1e-7)


def test_values_that_the_problem_does_not_need_stand_in_the_optimum_too() -> None:
    optimum = cpx.minimise(bowl, "f", design=["x", "y"], start={"x": 0.0, "y": 0.0})
    np.testing.assert_allclose(optimum["total"], optimum["x"] + optimum["y"])
    assert list(optimum) == ["x", "y", "a", "f", "total"]


def test_a_model_that_is_closed_is_optimised_with_its_own_solver() -> None:
    model = sellar.close(cpx.Newton(rtol=1e-12, atol=1e-12), cut="y_1")
    problem: Any = {**SELLAR, "start": {**SELLAR["start"], "y_1": 1.0}}
    optimum = cpx.minimise(model, "f", **problem)
    np.testing.assert_allclose(optimum["f"], F_SELLAR, atol=1e-9)


def test_given_scales_go_before_those_that_are_found() -> None:
    scale = {"z_1": 1.0, "f": 0.5, "g_1": 2.0}
    optimum = cpx.minimise(sellar, "f", **SELLAR, scale=scale)
    np.testing.assert_allclose(optimum["f"], F_SELLAR, atol=1e-9)
    np.testing.assert_allclose(optimum.multipliers["g_1"], 0.98683987402716, rtol=1e-8)


def test_in_single_precision_an_optimum_is_as_exact_as_that_allows() -> None:
    with jax.enable_x64(False):
        optimum = cpx.minimise(bowl, "f", design={"x": (-50, 50), "y": (-50, 50)}, start={"x": 0.0, "y": 0.0})
        short: Any = {"design": ["x", "y"], "start": {"x": 0.0, "y": 0.0}, "throw": False}
        failed = cpx.minimise(bowl, "f", **short, method=cpx.SLSQP(max_iterations=1))
    np.testing.assert_allclose(optimum["f"], -82 / 3, rtol=1e-5)
    assert "JAX computes in single precision" in failed.status


def test_many_variables_at_their_bounds_have_their_multipliers() -> None:
    aim = np.linspace(-1, 1, 5000)
    weight = np.linspace(1, 3, 5000)
    bowls = cpx.component(lambda x: jnp.sum(weight * (x - aim) ** 2), "f", name="bowls")
    optimum = cpx.minimise(
        cpx.Model(bowls), "f", design={"x": (-2, 0.5)}, start={"x": np.zeros(5000)}, method=cpx.LBFGS()
    )
    np.testing.assert_allclose(optimum["x"], np.minimum(aim, 0.5), atol=1e-6)
    np.testing.assert_allclose(optimum.multipliers["x"], np.maximum(2 * weight * (aim - 0.5), 0), atol=1e-5)
