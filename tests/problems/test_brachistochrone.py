"""The slide: its states by collocation against an inclined plane."""

from typing import Any

import brachistochrone
import jax
import numpy as np
import pytest
from scipy.optimize import root_scalar

import couplax as cpx

SLIDE = brachistochrone.slide.close(cpx.Newton(rtol=1e-12, atol=1e-12))


def test_on_an_inclined_plane_the_states_are_the_closed_form() -> None:
    angle, duration = 0.7, 1.3
    result = SLIDE.run(angle=np.full(brachistochrone.ORDER, angle), duration=duration)
    time = duration * brachistochrone.POINTS
    pull = brachistochrone.GRAVITY * np.cos(angle)
    fallen = pull * time**2 / 2
    # Polynomials of degree two are exact; what is left are the roundings of 12 by 12 linear systems.
    np.testing.assert_allclose(result["speed"], pull * time, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result["x"], fallen * np.sin(angle), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result["y"], 10 - fallen * np.cos(angle), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_the_arrival_moves_with_the_duration_by_the_final_velocity(mode: Any) -> None:
    angle, duration = np.full(brachistochrone.ORDER, 0.7), 1.3
    arrive = SLIDE.function("duration", "miss", fixed={"angle": angle})
    speed = brachistochrone.GRAVITY * np.cos(0.7) * duration
    velocity = (speed * np.sin(0.7), -speed * np.cos(0.7))
    np.testing.assert_allclose(jax.jit(mode(arrive))(duration), velocity, rtol=1e-11)


@pytest.mark.parametrize("architecture", [cpx.MDF(), cpx.SAND()], ids=lambda each: each.name)
def test_the_fastest_slide_is_the_cycloid(architecture: Any) -> None:
    fastest = cpx.minimise(
        brachistochrone.slide,
        "duration",
        design=brachistochrone.BOUNDS,
        constraints={"miss": 0.0},
        start=brachistochrone.TRIAL,
        architecture=architecture,
    )
    np.testing.assert_allclose(fastest["duration"], 1.8016031224530813, rtol=1e-9)
    # x = r (p - sin p), 10 - y = r (1 - cos p): half the final p, by which the slope turns, solves
    # (p - sin p) / (1 - cos p) = 2. The duration is flat in the slopes: they have half its digits.
    turn = root_scalar(lambda p: (p - np.sin(p)) / (1 - np.cos(p)) - 2, bracket=(1.0, 6.0)).root / 2
    np.testing.assert_allclose(fastest["angle"], turn * brachistochrone.POINTS, atol=1e-4)
