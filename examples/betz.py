"""Betz's limit: how much of the wind's power an ideal rotor can take."""

import jax
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)


@cpx.component(
    cpx.output("wake", units="m/s"),
    cpx.output("through", units="m/s"),
    cpx.input("induction", bounds=(0.0, 0.5), description="share of the wind's speed that the rotor takes"),
)
def slipstream(induction, wind=10.0):
    """Returns the speeds of the air far behind the rotor and through it (momentum theory)."""
    wake = wind * (1 - 2 * induction)
    return wake, (wind + wake) / 2


@cpx.component(cpx.output("thrust", units="N"), cpx.output("power", units="W"))
def rotor(wake, through, wind=10.0, area=10.0, density=1.225):
    thrust = density * area * through * (wind - wake)  # mass flow times what it is slowed by
    return thrust, thrust * through


@cpx.component("thrust_coefficient", "power_coefficient")
def coefficients(thrust, power, wind=10.0, area=10.0, density=1.225):
    dynamic = density * area * wind**2 / 2
    return thrust / dynamic, power / (dynamic * wind)


@cpx.component("loss")
def loss(power_coefficient):
    return -power_coefficient


turbine = cpx.Model(slipstream, rotor, coefficients, loss)


def main():
    print(turbine.run(induction=0.25))

    best = cpx.minimise(turbine, "loss", design="induction", start={"induction": 0.1})
    print(best)
    assert abs(best["power_coefficient"] - 16 / 27) < 1e-10
    assert abs(best["induction"] - 1 / 3) < 1e-5

    # A stronger wind is worth three times its share, and the best rotor is slowed as before.
    gain = best.sensitivity("wind")
    print("d power / d wind:", gain["power"]["wind"], "W per m/s")
    assert np.isclose(gain["power"]["wind"], 3 * best["power"] / 10.0, rtol=1e-8)
    assert abs(gain["induction"]["wind"]) < 1e-8


if __name__ == "__main__":
    main()
