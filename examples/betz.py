"""Betz's limit: how much of the wind's power an ideal rotor can take."""

import jax

import couplax as cpx

jax.config.update("jax_enable_x64", True)


@cpx.component(cpx.output("wake", units="m/s"), cpx.output("through", units="m/s"))
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


turbine = cpx.Model(slipstream, rotor, coefficients)


def main():
    print(turbine.run(induction=0.25))


if __name__ == "__main__":
    main()
