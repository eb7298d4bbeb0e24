"""Sobieski's jet: its coupled analysis and the range's derivatives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sobieski

import couplax as cpx

pytestmark = pytest.mark.long_table(2)

START: dict[str, Any] = sobieski.START
# As published by NASA and computed by GEMSEO 6.3.3 from a fixed point iterated to rounding.
ANALYSIS: dict[str, Any] = {
    "y_1": [5.060706361902580e04, 7.306202621238479e03, 0.95],
    "y_2": [5.060706361902580e04, 1.2194409178632462e04, 4.150021774544153],
    "y_3": [1.107545774255054, 6.354401993549307e03, 0.502802105258854],
    "y_4": 535.7821319229386,
    "g_1": [0.035, -0.02 / 3, -0.0275, -0.04, -0.145 / 3, -0.09, -0.15],
    "g_2": -0.04,
    "g_3": [-0.997197894741146, -0.002802105258854, 0.1620603233599258, -0.02],
}
# By GEMSEO 6.3.3, from the hand-written Jacobians of its disciplines and the coupled direct method.
RANGE_SLOPES: dict[str, Any] = {
    "x_shared": [
        1.0470061878748947e03,
        2.4442542258743257e-02,
        -3.6420950302721081e02,
        -3.8946037703225691e01,
        7.9867092641580513,
        7.2819921396753889e-02,
    ],
    "x_1": [-1.189031367359771, -77.24601668231719],
    "x_2": -67.57037887758057,
    "x_3": -70.97467654604687,
}


@pytest.fixture(scope="module")
def closed() -> cpx.Model:
    """Returns the model, with a solver as exact as rounding allows."""
    return sobieski.jet.close(cpx.Newton(rtol=1e-13, atol=1e-13), cut="y_2")


@pytest.fixture(scope="module")
def result(closed: cpx.Model) -> cpx.Results:
    """Returns the analysis at the published starting point."""
    return closed.run(**START)


@pytest.mark.parametrize("name", list(ANALYSIS))
def test_the_analysis_gives_what_is_published(name: str, result: cpx.Results) -> None:
    # The cycle is solved to 1e-13 of y_2; the constraints are differences of numbers near 1.
    np.testing.assert_allclose(result[name], ANALYSIS[name], rtol=1e-11, atol=1e-12)


def test_the_cut_is_chosen_at_one_vector() -> None:
    (closure,) = sobieski.jet.close(cpx.Newton()).closures
    assert len(closure.cut) == 1


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_the_slopes_of_the_range_are_those_of_the_coupled_direct_method(mode: Any, closed: cpx.Model) -> None:
    fly = closed.function(tuple(START), "y_4")
    slopes = jax.jit(mode(fly, argnums=(0, 1, 2, 3)))(*START.values())
    for name, slope in zip(START, slopes, strict=True):
        # GEMSEO's disciplines are solved to 1e-15 relative, its adjoint system to about 1e-11.
        np.testing.assert_allclose(slope, RANGE_SLOPES[name], rtol=1e-10, err_msg=name)


def test_the_analysis_maps_over_throttles(closed: cpx.Model) -> None:
    fixed = {name: value for name, value in START.items() if name != "x_3"}
    throttles = [0.3, 0.7]
    fly = closed.function("x_3", "y_4", fixed=fixed)
    each = [closed.run(x_3=throttle, **fixed)["y_4"] for throttle in throttles]
    np.testing.assert_allclose(jax.vmap(fly)(jnp.array(throttles)), each, rtol=1e-12)


@pytest.fixture(scope="module", params=[cpx.MDF(), cpx.IDF(), cpx.SAND()], ids=lambda each: each.name)
def optimum(request: pytest.FixtureRequest) -> cpx.Optimum:
    """Returns the farthest flight that an architecture finds from the published starting point."""
    return cpx.minimise(
        sobieski.jet,
        "loss",
        design=sobieski.BOUNDS,
        constraints=sobieski.LIMITS,
        start=START,
        architecture=request.param,
    )


def test_the_farthest_flight_is_the_published_one_and_feasible(optimum: cpx.Optimum) -> None:
    np.testing.assert_allclose(optimum["y_4"], 3963.38, rtol=0, atol=5e-3)
    violations = np.concatenate([np.atleast_1d(optimum[name]) for name in sobieski.LIMITS])
    assert np.max(violations) < 1e-7


def test_the_architectures_find_one_design(optimum: cpx.Optimum) -> None:
    np.testing.assert_allclose(optimum["x_shared"], [0.06, 60000.0, 1.4, 2.5, 70.0, 1500.0], rtol=1e-7)
    # Five digits are published of the throttle; x_1[0], which the range hardly depends on, is at its bound.
    np.testing.assert_allclose(optimum["x_3"], 0.15624, rtol=0, atol=5e-6)
    np.testing.assert_allclose([*optimum["x_1"], optimum["x_2"]], [0.4, 0.75, 0.75], rtol=1e-7)


def test_at_the_optimum_the_disciplines_agree(optimum: cpx.Optimum, closed: cpx.Model) -> None:
    result = closed.run(**{name: optimum[name] for name in START})
    for name in ("y_1", "y_2", "y_3", "y_4"):
        # An optimiser meets consistency constraints to 1e-8 of their scale.
        np.testing.assert_allclose(optimum[name], result[name], rtol=1e-7, err_msg=name)
