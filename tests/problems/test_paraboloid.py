"""The paraboloid: its lowest point, free and on a line."""

import numpy as np
import paraboloid
import pytest

import couplax as cpx

METHODS = [cpx.SLSQP(tolerance=1e-12), cpx.TrustConstr(tolerance=1e-10)]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_lowest_point_is_the_closed_form(method: cpx.SLSQP | cpx.TrustConstr) -> None:
    lowest = cpx.minimise(
        paraboloid.model, "f", design=paraboloid.BOUNDS, start=paraboloid.START, method=method
    )
    np.testing.assert_allclose(lowest["f"], -82 / 3, rtol=1e-12)
    np.testing.assert_allclose([lowest["x"], lowest["y"]], [20 / 3, -22 / 3], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_lowest_point_of_the_line_is_the_closed_form(method: cpx.SLSQP | cpx.TrustConstr) -> None:
    lowest = cpx.minimise(
        paraboloid.model,
        "f",
        design=paraboloid.BOUNDS,
        constraints={"g": 0.0},
        start=paraboloid.START,
        method=method,
    )
    np.testing.assert_allclose(lowest["f"], -27, rtol=1e-9)
    np.testing.assert_allclose([lowest["x"], lowest["y"]], [7, -7], rtol=1e-6)
    # On x + y = c the lowest value is c^2 / 4 + c - 27, from x = 7 + c / 2.
    np.testing.assert_allclose(lowest.multipliers["g"], -1, rtol=1e-6)
