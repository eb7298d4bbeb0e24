"""Golinski's speed reducer: its weight and constraints at the known optimum."""

from typing import Any

import golinski
import numpy as np
import pytest

import couplax as cpx

OPTIMUM: dict[str, Any] = golinski.OPTIMUM


@pytest.fixture(scope="module")
def at_optimum() -> cpx.Results:
    """Returns the analysis at the optimum in the literature."""
    return golinski.reducer.run(**OPTIMUM)


def test_the_weight_at_the_optimum_is_the_published_one(at_optimum: cpx.Results) -> None:
    # x_5 to x_7 are given to ten digits.
    np.testing.assert_allclose(at_optimum["weight"], 2994.4710661468, rtol=1e-9)


def test_the_four_known_constraints_are_active_there_and_no_others(at_optimum: cpx.Results) -> None:
    margins = np.concatenate([at_optimum[name] for name in ("teeth", "shaft_x_6", "shaft_x_7")])
    assert np.all(margins < 1e-9)
    # The gear's face is as narrow as its module allows, both shafts are stressed to the limit, and the second
    # is just long enough.
    assert list(np.flatnonzero(np.abs(margins) < 1e-9)) == [3, 6, 9, 10]


def test_the_optimum_is_found_from_the_middle_of_the_bounds() -> None:
    lightest = cpx.minimise(
        golinski.reducer,
        "weight",
        design=golinski.BOUNDS,
        constraints=golinski.LIMITS,
        start=golinski.START,
    )
    np.testing.assert_allclose(lightest["weight"], 2994.4710661468, rtol=1e-9)
    # The optimum is a vertex: seven active limits hold seven numbers.
    for name, value in OPTIMUM.items():
        np.testing.assert_allclose(lightest[name], value, rtol=1e-8, err_msg=name)
