"""Kepler's equation: a component that reads what it writes."""

from typing import Any

import jax
import kepler
import numpy as np
import pytest

import couplax as cpx

ECCENTRICITY = 0.6
MEAN = np.deg2rad(85.0)
MODELS = [pytest.param(kepler.kepler, id="cycle"), pytest.param(kepler.implicit, id="residual")]


@pytest.mark.parametrize("model", MODELS)
def test_the_eccentric_anomaly_is_the_published_one(model: cpx.Model) -> None:
    result = model.run(mean=MEAN, eccentricity=ECCENTRICITY)
    # 16 digits are given; the solve ends within 1e-12.
    np.testing.assert_allclose(np.rad2deg(result["eccentric"]), 115.91942563011821, rtol=1e-13)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_its_slopes_are_those_of_the_implicit_function_theorem(mode: Any, model: cpx.Model) -> None:
    solve = model.function(("mean", "eccentricity"), "eccentric")
    slopes = jax.jit(mode(solve, argnums=(0, 1)))(MEAN, ECCENTRICITY)
    np.testing.assert_allclose(slopes, (0.7922272679833205, 0.7125368367074062), rtol=1e-12)


def test_the_orbit_is_symmetric_and_keeps_its_perihelion_and_aphelion() -> None:
    radius = jax.vmap(kepler.kepler.function("mean", "radius", fixed={"eccentricity": ECCENTRICITY}))
    means = np.linspace(0.0, 2 * np.pi, 9)
    radii = np.asarray(radius(means))
    np.testing.assert_allclose(radii, radii[::-1], rtol=1e-12)
    np.testing.assert_allclose(radii[[0, 4]], (1 - ECCENTRICITY, 1 + ECCENTRICITY), rtol=1e-14)
