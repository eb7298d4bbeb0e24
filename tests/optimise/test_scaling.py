"""What optimisers see: numbers near one."""

import numpy as np
import pytest

import couplax as cpx
from couplax.optimise._layout import Layout, block_of
from couplax.optimise._limits import Limits, free, joined, limits_of
from couplax.optimise._scaling import constraint_scale, design_scale, objective_scale, overridden
from optimised_models import SELLAR, sellar

TWO = Layout((block_of("a", 1.0), block_of("b", np.ones(3))))


def test_a_variable_is_scaled_by_its_range_and_where_it_has_none_by_its_start() -> None:
    limits = joined([limits_of((-10, 30), TWO.blocks[0]), limits_of((0, None), TWO.blocks[1])])
    scale = design_scale(TWO, limits, np.array([5.0, -200.0, 0.0, 4.0]))
    # What is zero at the start is taken to be like the largest beside it.
    np.testing.assert_array_equal(scale, [40, 200, 200, 4])


def test_a_variable_that_starts_at_zero_without_bounds_is_left_as_it_is() -> None:
    limits = joined([free(block) for block in TWO.blocks])
    np.testing.assert_array_equal(design_scale(TWO, limits, np.zeros(4)), np.ones(4))


def test_an_objective_is_scaled_by_its_steepest_slope() -> None:
    assert objective_scale(100.0, np.array([-50.0, 3.0])) == 50.0
    # A flat start says nothing: the value decides, and where there is none, one.
    assert objective_scale(100.0, np.zeros(2)) == 100.0 * 1e-4
    assert objective_scale(0.0, np.zeros(2)) == 1.0


def test_a_constraint_is_scaled_by_its_own_steepest_slope() -> None:
    limits = Limits(np.full(4, -np.inf), np.array([0.0, 0.0, 0.0, 3e6]))
    jacobian = np.array([[3.0, -4.0], [0.0, 20.0], [0.0, 0.0], [1e-9, 0.0]])
    scale = constraint_scale(TWO, np.array([1.0, 1.0, 0.0, 1.0]), limits, jacobian)
    np.testing.assert_allclose(scale, [4, 20, 20e-5, 300])


def test_given_magnitudes_go_before_those_that_are_found() -> None:
    found = overridden(TWO, np.ones(4), {"b": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(found, [1, 1, 2, 3])


@pytest.mark.parametrize("autoscale", [True, False])
def test_multipliers_are_those_of_the_models_units_whatever_the_scale(autoscale: bool) -> None:
    optimum = cpx.minimise(sellar, "f", **SELLAR, autoscale=autoscale, scale={"g_1": 7.0, "f": 3.0})
    # At the optimum y_2 = sqrt(3.16) + z_1, so that df/dg_1 = -(1 - exp(-y_2) dy_2/dy_1) with z_1 following.
    y_1, z_1 = 3.16, optimum["z_1"]
    # g_1 moves y_1, which has y_1 = z_1^2 - y_2 / 5: dz_1 = (1 + 0.1 / sqrt(y_1)) / (2 z_1 - 0.2) dy_1.
    dz_1 = (1 + 0.1 / np.sqrt(y_1)) / (2 * z_1 - 0.2)
    dy_2 = 0.5 / np.sqrt(y_1) + dz_1
    np.testing.assert_allclose(optimum.multipliers["g_1"], 1 - np.exp(-optimum["y_2"]) * dy_2, rtol=1e-7)


def test_a_problem_in_other_units_takes_the_same_steps() -> None:
    def least(unit: float) -> cpx.Optimum:
        cost = cpx.component(lambda x, y: 1e3 * unit * ((x / unit - 3) ** 4 + (y - 1) ** 2), "f", name="cost")
        near = cpx.component(lambda x, y: x / unit + y, "g", name="near")
        return cpx.minimise(
            cpx.Model(cost, near),
            "f",
            design={"x": (0, 10 * unit), "y": (0, 10)},
            constraints={"g": (None, 3)},
            start={"x": 9 * unit, "y": 8.0},
        )

    one, other = least(1.0), least(1e5)
    assert one.iterations == other.iterations
    np.testing.assert_allclose(other["x"], 1e5 * one["x"], rtol=1e-6)
