"""Golinski's speed reducer: the lightest gear box of seven dimensions under eleven constraints.

Source: Golinski (1970), Optimal synthesis problems solved by means of nonlinear programming and random
methods, Journal of Mechanisms 5, 287-309; the coefficients are those in common use.
"""

import jax
import jax.numpy as jnp

import couplax as cpx

jax.config.update("jax_enable_x64", True)

BOUNDS = {
    "x_1": (2.6, 3.6),  # width of the gear's face [cm]
    "x_2": (0.7, 0.8),  # module of the teeth [cm]
    "x_3": (17.0, 28.0),  # teeth of the pinion
    "x_4": (7.3, 8.3),  # length of the first shaft between its bearings [cm]
    "x_5": (7.3, 8.3),  # and of the second
    "x_6": (2.9, 3.9),  # diameter of the first shaft [cm]
    "x_7": (5.0, 5.5),  # and of the second
}
OPTIMUM = {
    "x_1": 3.5,
    "x_2": 0.7,
    "x_3": 17.0,
    "x_4": 7.3,
    "x_5": 7.7153199115,
    "x_6": 3.3502146661,
    "x_7": 5.286654465,
}


@cpx.component(cpx.output("weight", description="volume of gears and shafts [cm^3]"))
def weight(x_1, x_2, x_3, x_4, x_5, x_6, x_7):
    gears = 0.7854 * x_1 * x_2**2 * (3.3333 * x_3**2 + 14.9334 * x_3 - 43.0934)
    bores = -1.508 * x_1 * (x_6**2 + x_7**2)
    shafts = 7.4777 * (x_6**3 + x_7**3) + 0.7854 * (x_4 * x_6**2 + x_5 * x_7**2)
    return gears + bores + shafts


@cpx.component("teeth")
def teeth(x_1, x_2, x_3):
    """Returns how far bending, contact stress, room and proportions of the gears are beyond their limits."""
    return jnp.stack(
        [
            27 / (x_1 * x_2**2 * x_3) - 1,
            397.5 / (x_1 * x_2**2 * x_3**2) - 1,
            x_2 * x_3 / 40 - 1,
            5 * x_2 / x_1 - 1,
            x_1 / (12 * x_2) - 1,
        ]
    )


def shaft(length, diameter, moment, stress, journal):
    """Returns a shaft's deflection, stress and room for its bearings, relative to their limits."""

    def limits(x_2, x_3, length, diameter):
        torque = 745 * length / (x_2 * x_3)
        return jnp.stack(
            [
                1.93 * length**3 / (x_2 * x_3 * diameter**4) - 1,
                jnp.sqrt(torque**2 + moment) / (0.1 * stress * diameter**3) - 1,
                (journal * diameter + 1.9) / length - 1,
            ]
        )

    name = f"shaft_{diameter}"
    return cpx.component(limits, name, name=name, rename={"length": length, "diameter": diameter})


first = shaft("x_4", "x_6", moment=16.9e6, stress=1100.0, journal=1.5)
second = shaft("x_5", "x_7", moment=157.5e6, stress=850.0, journal=1.1)
reducer = cpx.Model(weight, teeth, first, second)


LIMITS = {"teeth": (None, 0.0), "shaft_x_6": (None, 0.0), "shaft_x_7": (None, 0.0)}
START = {name: (lower + upper) / 2 for name, (lower, upper) in BOUNDS.items()}


def main():
    result = reducer.run(**OPTIMUM)
    print(result)
    assert abs(result["weight"] - 2994.4710661468) < 1e-6

    lightest = cpx.minimise(reducer, "weight", design=BOUNDS, constraints=LIMITS, start=START)
    print(lightest)
    assert abs(lightest["weight"] - 2994.4710661468) < 1e-6


if __name__ == "__main__":
    main()
