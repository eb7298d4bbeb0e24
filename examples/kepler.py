"""Kepler's equation E = M + e sin E: as a component that reads what it writes, and as an implicit one."""

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)


@cpx.component(cpx.output("eccentric", guess=jnp.pi, units="rad", description="eccentric anomaly"))
def equation(eccentric, mean, eccentricity):
    return mean + eccentricity * jnp.sin(eccentric)


@cpx.component("radius", "true")
def orbit(eccentric, eccentricity):
    """Returns the distance in semi-major axes, and the angle from the nearest point [rad]."""
    ratio = jnp.sqrt((1 + eccentricity) / (1 - eccentricity))
    return 1 - eccentricity * jnp.cos(eccentric), 2 * jnp.arctan(ratio * jnp.tan(eccentric / 2))


@cpx.residual(cpx.output("eccentric", guess=jnp.pi))
def balance(eccentric, mean, eccentricity):
    """Returns the same equation as a residual, which is held at zero."""
    return eccentric - eccentricity * jnp.sin(eccentric) - mean


kepler = cpx.Model(equation, orbit).close(cpx.Newton(rtol=1e-12, atol=1e-12))
implicit = cpx.Model(balance, orbit).close(cpx.Newton(rtol=1e-12, atol=1e-12))


def main():
    mean, eccentricity = np.deg2rad(85.0), 0.6
    result = kepler.run(mean=mean, eccentricity=eccentricity)
    print(result)
    assert abs(implicit.run(mean=mean, eccentricity=eccentricity)["true"] - result["true"]) < 1e-12
    print("eccentric anomaly:", np.rad2deg(result["eccentric"]), "deg")
    assert abs(np.rad2deg(result["eccentric"]) - 115.91942563011821) < 1e-11

    solve = kepler.function(("mean", "eccentricity"), "eccentric")
    slopes = jax.grad(solve, argnums=(0, 1))(mean, eccentricity)
    print("dE/dM, dE/de:", *slopes)
    assert np.allclose(slopes, (0.7922272679833205, 0.7125368367074062), rtol=1e-12, atol=0)

    whole_orbit = jnp.linspace(0.0, 2 * jnp.pi, 9)  # every lane converges on its own
    radius = kepler.function(("mean", "eccentricity"), "radius")
    print("radius along the orbit:", jax.vmap(radius, in_axes=(0, None))(whole_orbit, eccentricity))


if __name__ == "__main__":
    main()
