"""The brachistochrone: the slide of shortest time, by collocation at Radau's points.

Residual components ask for the equations of motion at all points at once. Left to the optimiser (SAND) they
are direct collocation, solved at every trial slope (MDF) they are shooting: the model is the same.
"""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import legendre

import couplax as cpx

jax.config.update("jax_enable_x64", True)

GRAVITY = 9.80665  # [m/s^2]
START, END = (0.0, 10.0), (10.0, 5.0)  # [m]

ORDER = 12
# Radau's points, shares of the duration: the end is one of them, the start is not.
POINTS = (1 + np.real(legendre.legroots([*[0.0] * (ORDER - 1), -1.0, 1.0]))) / 2
# From a polynomial's values at the start and at the points to its slopes at the points.
SLOPES = (
    2
    * legendre.legvander(2 * POINTS - 1, ORDER - 1)
    @ legendre.legder(np.eye(ORDER + 1))
    @ np.linalg.inv(legendre.legvander(2 * np.array([0.0, *POINTS]) - 1, ORDER))
)


def defect(initial, state, rate):
    """Returns how far the slope of the state's polynomial is from its rate, at all points."""
    return SLOPES @ jnp.concatenate([jnp.array([initial]), state]) - rate


LINE = {name: a + (b - a) * POINTS for name, a, b in zip("xy", START, END, strict=True)}
FREE_FALL = np.sqrt(2 * GRAVITY * (START[1] - LINE["y"]))


@cpx.residual(cpx.output("speed", guess=FREE_FALL, units="m/s"))
def acceleration(speed, angle, duration):
    return defect(0.0, speed, duration * GRAVITY * jnp.cos(angle))


@cpx.residual(cpx.output("x", guess=LINE["x"], units="m"))
def across(x, speed, angle, duration):
    return defect(START[0], x, duration * speed * jnp.sin(angle))


@cpx.residual(cpx.output("y", guess=LINE["y"], units="m"))
def down(y, speed, angle, duration):
    return defect(START[1], y, -duration * speed * jnp.cos(angle))


@cpx.component("miss")
def arrival(x, y):
    return jnp.stack([x[-1], y[-1]]) - jnp.array(END)


slide = cpx.Model(acceleration, across, down, arrival)
BOUNDS = {"angle": (0.0, np.pi), "duration": (0.5, 5.0)}  # from the vertical [rad], [s]
TRIAL = {"angle": np.linspace(0.1, 2.0, ORDER), "duration": 1.5}


def main():
    fastest = cpx.minimise(
        slide,
        "duration",
        design=BOUNDS,
        constraints={"miss": 0.0},
        start=TRIAL,
        architecture=cpx.SAND(),
    )
    print(fastest)
    assert abs(fastest["duration"] - 1.8016031224530813) < 1e-9
    # The slope of a cycloid turns at a constant rate.
    assert np.allclose(fastest["angle"], 1.754184384262 * POINTS, rtol=0, atol=1e-4)


if __name__ == "__main__":
    main()
