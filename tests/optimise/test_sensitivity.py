"""Derivatives of optima, against closed forms and against optimisations repeated nearby."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from optimised_models import SELLAR, bowl, sellar

ARCHITECTURES = {"MDF": cpx.MDF(), "IDF": cpx.IDF(), "SAND": cpx.SAND()}
over_architectures = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)


def test_the_free_paraboloids_minimum_moves_as_algebra_says() -> None:
    optimum = cpx.minimise(bowl, "f", design=["x", "y"], start={"x": 0.0, "y": 0.0})
    # 2 (x - a) + y = 0 and x + 2 (y + 4) = 0: x = (4 a + 8) / 3, y = -(2 a + 16) / 3; df/da = -2 (x - a).
    found = optimum.sensitivity("a")
    np.testing.assert_allclose(found["x"]["a"], 4 / 3, rtol=1e-9)
    np.testing.assert_allclose(found["y"]["a"], -2 / 3, rtol=1e-9)
    np.testing.assert_allclose(found["total"]["a"], 2 / 3, rtol=1e-9)
    # The optimum itself is exact to 1e-5, so is x - a.
    np.testing.assert_allclose(found["f"]["a"], -2 * (20 / 3 - 3), rtol=1e-4)


def test_on_a_line_the_minimum_keeps_to_it() -> None:
    optimum = cpx.minimise(bowl, "f", design=["x", "y"], constraints={"total": 0}, start={"x": 0.0, "y": 0.0})
    # With y = -x: df/dx = 2 (x - a) - 2 x + 2 (x - 4) = 0, x = a + 4.
    found = optimum.sensitivity("a")
    np.testing.assert_allclose([found["x"]["a"], found["y"]["a"]], [1, -1], rtol=1e-9)
    np.testing.assert_allclose(found["total"]["a"], 0, atol=1e-9)
    np.testing.assert_allclose(found["f"]["a"], -2 * (7 - 3), rtol=1e-5)


# Discipline 1 with weights, so that the optimum depends on them in more than one place.
@cpx.component("y_1")
def weighted(x_1: Any, z_1: Any, z_2: Any, y_2: Any, w: Any = (1.0, -0.2)) -> Any:
    return z_1**2 + z_2 + w[0] * x_1 + w[1] * y_2


tunable = cpx.Model(weighted, *sellar.components[1:])


@pytest.fixture(scope="module", params=list(ARCHITECTURES.values()), ids=list(ARCHITECTURES))
def solved(request: pytest.FixtureRequest) -> Any:
    """Returns Sellar's optimum by each architecture, and how to repeat it with other values."""

    def solve(**fixed: Any) -> cpx.Optimum:
        # The first variable is bounded away from zero, so that it counts.
        problem: Any = {**SELLAR, "design": {"z_1": (-10, 10), "z_2": (0, 10), "x_1": (0.5, 10)}}
        given: Any = {"w": np.array([1.0, -0.2]), "least": 3.16, **fixed}
        return cpx.minimise(tunable, "f", **problem, architecture=request.param, fixed=given)

    return solve


def test_a_constrained_coupled_optimum_moves_as_optimisations_nearby_say(solved: Any) -> None:
    found = solved().sensitivity(["least", "w"])
    step = 1e-4
    high, low = solved(least=3.16 + step), solved(least=3.16 - step)
    first = [solved(w=np.array([1.0 + sign * step, -0.2])) for sign in (1, -1)]
    second = [solved(w=np.array([1.0, -0.2 + sign * step])) for sign in (1, -1)]
    for name in ("f", "z_1", "z_2", "x_1", "y_1", "y_2", "g_1", "g_2"):
        nearby = (high[name] - low[name]) / (2 * step)
        # Optimisations end within 1e-10, over twice the step.
        np.testing.assert_allclose(found[name]["least"], nearby, rtol=1e-4, atol=1e-6, err_msg=name)
        columns = [(up[name] - down[name]) / (2 * step) for up, down in (first, second)]
        np.testing.assert_allclose(found[name]["w"], columns, rtol=1e-4, atol=1e-6, err_msg=name)


def test_the_objectives_slope_is_the_multiplier_where_a_limit_moves(solved: Any) -> None:
    optimum = solved()
    # `least` enters g_1 alone, with slope 1: as if its upper limit moved down by as much.
    np.testing.assert_allclose(
        optimum.sensitivity("least")["f"]["least"], optimum.multipliers["g_1"], rtol=1e-9
    )


def test_a_bounds_multiplier_is_what_moving_the_bound_would_change() -> None:
    def least(bound: float) -> cpx.Optimum:
        problem: Any = {**SELLAR, "design": {"z_1": (-10, 10), "z_2": (0, 10), "x_1": (bound, 10)}}
        return cpx.minimise(sellar, "f", **problem)

    nearby = (least(0.5 + 1e-4)["f"] - least(0.5 - 1e-4)["f"]) / 2e-4
    np.testing.assert_allclose(-least(0.5).multipliers["x_1"], nearby, rtol=1e-5)


def test_vectors_have_the_shape_of_the_value_and_then_of_the_parameter() -> None:
    aim = np.array([[1.0, -2.0], [0.5, 3.0]])
    distance = cpx.component(lambda x, aim: jnp.sum((x - 2 * aim) ** 2), "f", name="distance")
    double = cpx.component(lambda x: 3 * x[0], "y", name="double")
    optimum = cpx.minimise(
        cpx.Model(distance, double),
        "f",
        design={"x": (-50, 50)},
        start={"x": np.zeros((2, 2))},
        fixed={"aim": aim},
    )
    found = optimum.sensitivity("aim")
    np.testing.assert_allclose(found["x"]["aim"], 2 * np.eye(4).reshape(2, 2, 2, 2), atol=1e-9)
    np.testing.assert_allclose(found["y"]["aim"], 6 * np.eye(2, 4).reshape(2, 2, 2), atol=1e-9)
    assert found["f"]["aim"].shape == (2, 2)


def test_a_parameter_that_only_other_values_read_moves_those_alone() -> None:
    shifted = cpx.component(lambda total, p: total + p**2, "shifted", name="shift")
    model = cpx.Model(*bowl.components, shifted)
    optimum = cpx.minimise(model, "f", design=["x", "y"], start={"x": 0.0, "y": 0.0}, fixed={"p": 3.0})
    found = optimum.sensitivity("p")
    np.testing.assert_allclose(
        [found["shifted"]["p"], found["x"]["p"], found["f"]["p"]], [6, 0, 0], atol=1e-9
    )


def test_unknown_parameters_are_told_with_close_matches() -> None:
    optimum = cpx.minimise(sellar, "f", **SELLAR)
    with pytest.raises(cpx.ModelError) as caught:
        optimum.sensitivity(["leest", "z_1"])
    first, second = caught.value.faults
    assert first.startswith("parameter `leest` is no input that the optimisation held fixed. Close: `least`.")
    assert second.startswith("parameter `z_1` is no input that the optimisation held fixed.")


def test_a_parameter_of_whole_numbers_has_no_slopes() -> None:
    power = cpx.component(lambda x, n: (x - 1) ** 2 + x / n, "f", name="power")
    optimum = cpx.minimise(
        cpx.Model(power), "f", design=["x"], start={"x": 0.0}, fixed={"n": np.array(3, dtype="int64")}
    )
    with pytest.raises(cpx.ModelError, match="parameter `n` is of whole numbers"):
        optimum.sensitivity("n")


@cpx.component("f")
def slope(x: Any, y: Any, p: Any) -> Any:
    return (x - p) ** 2 + (y - 1.0) ** 2


@cpx.component("g", "h")
def corner(x: Any, y: Any) -> Any:
    return x, x + 0.0 * y


wedge = cpx.Model(slope, corner)


def test_a_limit_that_is_met_and_does_not_push_makes_an_optimum_irregular() -> None:
    # Without its limit the minimum would be right there: to one side the optimum moves, to the other not.
    optimum = cpx.minimise(
        wedge,
        "f",
        design=["x", "y"],
        constraints={"g": (None, 2.0)},
        start={"x": 2.0, "y": 0.0},
        fixed={"p": 2.0},
    )
    with pytest.raises(cpx.OptimiseError, match="`g` is at a limit that does not push"):
        optimum.sensitivity("p")


def test_active_constraints_that_depend_on_each_other_make_an_optimum_irregular() -> None:
    optimum = cpx.minimise(
        wedge,
        "f",
        design=["x", "y"],
        constraints={"g": (None, 1.0), "h": (None, 1.0)},
        start={"x": 0.0, "y": 0.0},
        fixed={"p": 2.0},
        throw=False,
    )
    np.testing.assert_allclose(optimum["x"], 1)
    with pytest.raises(cpx.OptimiseError, match=r"`g`, `h` depend on each other \(2 of them, of rank 1"):
        optimum.sensitivity("p")


def test_a_valley_of_optima_has_no_derivative() -> None:
    valley = cpx.component(lambda x, y, p: (x + y - p) ** 2, "f", name="valley")
    optimum = cpx.minimise(
        cpx.Model(valley), "f", design=["x", "y"], start={"x": 0.0, "y": 0.0}, fixed={"p": 1.0}
    )
    with pytest.raises(cpx.OptimiseError, match="it is not alone"):
        optimum.sensitivity("p")


def test_a_code_without_second_derivatives_says_so() -> None:
    square = cpx.foreign(lambda x: np.sin(x) + x**2, jnp.float64, name="square")
    model = cpx.Model(cpx.component(square, "s"), cpx.component(lambda s, p, x: s + p * x, "f", name="sum"))
    optimum = cpx.minimise(model, "f", design={"x": (-2, 2)}, start={"x": 1.0}, fixed={"p": 0.1})
    with pytest.raises(cpx.CouplaxError, match="square"):
        optimum.sensitivity("p")
