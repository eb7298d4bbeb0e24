"""Propane: the chemical equilibrium satisfies all equations."""

import numpy as np
import propane
import pytest

import couplax as cpx


@pytest.fixture(scope="module")
def at_equilibrium() -> cpx.Results:
    """Returns the analysis at the published equilibrium."""
    return propane.propane.run(x_shared=propane.EQUILIBRIUM)


PRODUCTS = {
    "y_1": (1.372908983, 1.621113192),
    "y_2": (1.614085251, 0.063162135),
    "y_3": (3.146379626, 0.053724462, 29.703082176),
}


@pytest.mark.parametrize("name", list(PRODUCTS))
def test_the_other_products_are_the_published_ones(name: str, at_equilibrium: cpx.Results) -> None:
    # The shared variables are given to nine decimals, which y_2 depends on by a factor of two.
    np.testing.assert_allclose(at_equilibrium[name], PRODUCTS[name], rtol=0, atol=2e-9)


@pytest.mark.parametrize("name", ["f_2", "f_6", "f_7", "f_9", "f"])
def test_the_equations_left_are_satisfied(name: str, at_equilibrium: cpx.Results) -> None:
    # Nine decimals of the shared variables, of which the steepest slope is about ten.
    np.testing.assert_allclose(at_equilibrium[name], 0, atol=2e-8)
