"""Multipliers and active limits at points where they are known."""

from typing import Any

import numpy as np
import pytest

from couplax.optimise._optimality import optimality
from optimised_models import numbers

AIM = np.array([3.0, -1.0])


def near(**more: Any) -> Any:
    """Returns min |x - (3, -1)|^2 / 2, with more."""
    problem, _ = numbers(lambda x: float(np.sum((x - AIM) ** 2) / 2), lambda x: x - AIM, [0.0, 0.0], **more)
    return problem


def test_a_free_minimum_has_no_multipliers() -> None:
    found = optimality(near(), AIM)
    assert found.stationarity == 0
    np.testing.assert_array_equal(found.active_bounds, [0, 0])


def test_bounds_have_multipliers_of_the_sign_of_their_side() -> None:
    found = optimality(near(bounds=([0.0, 0.0], [1.0, 5.0])), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(found.active_bounds, [1, -1])
    np.testing.assert_allclose(found.bound_multipliers, [2, -1])
    assert found.stationarity < 1e-12


SUM: dict[str, Any] = {
    "constraints": lambda x: np.array([x[0] + x[1]]),
    "jacobian": lambda x: np.ones((1, 2)),
}


@pytest.mark.parametrize(
    ("limits", "x", "side", "multiplier"),
    [
        (([-np.inf], [0.0]), [2.0, -2.0], 1, 1.0),
        (([5.0], [np.inf]), [4.5, 0.5], -1, -1.5),
        (([5.0], [5.0]), [4.5, 0.5], 1, -1.5),
        (([-np.inf], [9.0]), [3.0, -1.0], 0, 0.0),
    ],
    ids=["upper", "lower", "equality", "inactive"],
)
def test_a_constraint_has_the_multiplier_that_algebra_gives(
    limits: Any, x: Any, side: int, multiplier: float
) -> None:
    found = optimality(near(**SUM, limits=limits), np.array(x))
    np.testing.assert_array_equal(found.active, [side])
    np.testing.assert_allclose(found.multipliers, [multiplier], atol=1e-12)
    assert found.stationarity < 1e-12


def test_a_limit_that_would_have_to_pull_leaves_a_slope() -> None:
    # At the upper limit 5 of the sum, though the minimum is inside: no multiplier of its sign holds it there.
    found = optimality(near(**SUM, limits=([-np.inf], [5.0])), np.array([4.5, 0.5]))
    np.testing.assert_array_equal(found.multipliers, [0])
    assert found.stationarity > 0.5


def test_a_limit_approached_to_the_width_of_a_barrier_counts_where_it_explains_the_slope() -> None:
    found = optimality(near(bounds=(-np.inf, [1.0, 5.0])), np.array([1.0 - 3e-5, -1.0]))
    np.testing.assert_array_equal(found.active_bounds, [1, 0])
    np.testing.assert_allclose(found.bound_multipliers[0], 2, rtol=1e-4)


def test_what_is_violated_is_measured() -> None:
    found = optimality(
        near(**SUM, limits=([-np.inf], [0.0]), bounds=([0.0, 0.0], [1.0, 1.0])), np.array([1.0, 0.5])
    )
    assert found.infeasibility == 1.5


def test_in_a_corner_of_bounds_and_constraints_the_multipliers_have_their_signs() -> None:
    # min -x with x <= 1, x - y <= 1 and y >= 0 at (1, 0): x alone would share its multiplier among both
    # constraints, and then the bound of y would have to pull.
    problem, _ = numbers(
        lambda x: -float(x[0]),
        lambda x: np.array([-1.0, 0.0]),
        [0.0, 0.0],
        bounds=([-9.0, 0.0], [9.0, 9.0]),
        constraints=lambda x: np.array([x[0], x[0] - x[1]]),
        jacobian=lambda x: np.array([[1.0, 0.0], [1.0, -1.0]]),
        limits=([-np.inf, -np.inf], [1.0, 1.0]),
    )
    found = optimality(problem, np.array([1.0, 0.0]))
    assert found.stationarity < 1e-12
    np.testing.assert_allclose(found.multipliers, [1, 0], atol=1e-12)
    np.testing.assert_allclose(found.bound_multipliers, [0, 0], atol=1e-12)


def test_many_variables_at_bounds_cost_no_matrix() -> None:
    size = 200_000
    problem, _ = numbers(
        lambda x: float(np.sum(x)), lambda x: np.ones(size), [0.0] * size, bounds=(np.zeros(size), np.inf)
    )
    found = optimality(problem, np.zeros(size))
    assert found.stationarity == 0
    np.testing.assert_array_equal(found.bound_multipliers, -np.ones(size))


def test_where_bounds_hold_every_variable_constraints_need_not() -> None:
    found = optimality(
        near(**SUM, bounds=([0.0, 0.0], [1.0, 1.0]), limits=([-np.inf], [1.0])), np.array([1.0, 0.0])
    )
    np.testing.assert_array_equal(found.multipliers, [0])
    np.testing.assert_allclose(found.bound_multipliers, [2, -1])
    assert found.stationarity == 0
