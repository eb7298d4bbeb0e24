"""Betz's rotor: its coefficients by momentum theory."""

import betz
import numpy as np
import pytest

import couplax as cpx


@pytest.mark.parametrize("induction", [0.1, 1 / 3, 0.45])
def test_the_coefficients_are_those_of_momentum_theory(induction: float) -> None:
    result = betz.turbine.run(induction=induction, wind=7.0, area=30.0, density=1.1)
    np.testing.assert_allclose(result["thrust_coefficient"], 4 * induction * (1 - induction), rtol=1e-14)
    np.testing.assert_allclose(result["power_coefficient"], 4 * induction * (1 - induction) ** 2, rtol=1e-14)


def test_the_best_rotor_is_betzs_and_its_power_goes_with_the_cube_of_the_wind() -> None:
    best = cpx.minimise(
        betz.turbine,
        "loss",
        design="induction",
        start={"induction": 0.1},
        method=cpx.SLSQP(tolerance=1e-14),
    )
    # The power is flat at its largest: its error is that of the induction squared.
    np.testing.assert_allclose(best["power_coefficient"], 16 / 27, rtol=1e-12)
    np.testing.assert_allclose(best["induction"], 1 / 3, rtol=1e-6)
    gain = best.sensitivity("wind")
    np.testing.assert_allclose(gain["power"]["wind"], 3 * best["power"] / 10.0, rtol=1e-6)
    np.testing.assert_allclose(gain["induction"]["wind"], 0.0, atol=1e-7)
