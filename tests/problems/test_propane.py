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


def test_the_equilibrium_is_found_from_far_away() -> None:
    found = cpx.minimise(
        propane.propane, "f", design=propane.BOUNDS, constraints=propane.LIMITS, start=propane.START
    )
    np.testing.assert_allclose(found["f"], 0, atol=1e-9)
    # The published point leaves up to 8e-9 in the equations, the one that is found less than 1e-11.
    np.testing.assert_allclose([found[name] for name in propane.LIMITS], 0, atol=1e-10)
    np.testing.assert_allclose(found["x_shared"], propane.EQUILIBRIUM, rtol=0, atol=5e-9)
    for name, products in PRODUCTS.items():
        np.testing.assert_allclose(found[name], products, rtol=0, atol=5e-9, err_msg=name)
