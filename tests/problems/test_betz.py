"""Betz's rotor: its coefficients by momentum theory."""

import betz
import numpy as np
import pytest


@pytest.mark.parametrize("induction", [0.1, 1 / 3, 0.45])
def test_the_coefficients_are_those_of_momentum_theory(induction: float) -> None:
    result = betz.turbine.run(induction=induction, wind=7.0, area=30.0, density=1.1)
    np.testing.assert_allclose(result["thrust_coefficient"], 4 * induction * (1 - induction), rtol=1e-14)
    np.testing.assert_allclose(result["power_coefficient"], 4 * induction * (1 - induction) ** 2, rtol=1e-14)
