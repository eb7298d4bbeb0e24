"""The slide: its states by collocation against an inclined plane."""

from typing import Any

import brachistochrone
import jax
import numpy as np
import pytest

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
