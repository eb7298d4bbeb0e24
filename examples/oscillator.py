"""A driven oscillator: rates of change integrated by Diffrax, then fitted to what was measured.

Spring and damper are components of their own, evaluated at each time; the misfit reads the trajectory.
"""

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)

MASS, FORCE, DRIVE = 2.0, 3.0, 1.7  # [kg], [N], [rad/s]
TRUE = {"stiffness": 8.0, "damping": 0.6}  # [N/m], [N s/m]
INITIAL = {"x_0": 0.5, "v_0": -1.0}  # [m], [m/s]
TIMES = np.linspace(0.0, 10.0, 41)  # [s]


@cpx.component(cpx.output("spring", units="N"))
def spring(x, stiffness):
    return -stiffness * x


@cpx.component(cpx.output("damper", units="N"))
def damper(v, damping):
    return -damping * v


@cpx.rate(cpx.output("x", units="m"))
def velocity(v):
    return v


@cpx.rate(cpx.output("v", units="m/s"))
def acceleration(spring, damper, t):
    return (spring + damper + FORCE * jnp.cos(DRIVE * t)) / MASS


@cpx.component("misfit")
def misfit(x, measured):
    return jnp.mean((x - measured) ** 2)


def displacement(t, stiffness, damping, x_0, v_0):
    """Returns the closed form: the answer to the drive, and a vibration that dies away."""
    decay, natural = damping / (2 * MASS), stiffness / MASS
    answer = FORCE / MASS / (natural - DRIVE**2 + 2j * decay * DRIVE)
    damped = jnp.sqrt(natural - decay**2)
    cosine = x_0 - answer.real
    sine = (v_0 + DRIVE * answer.imag + decay * cosine) / damped
    dying = jnp.exp(-decay * t) * (cosine * jnp.cos(damped * t) + sine * jnp.sin(damped * t))
    return (answer * jnp.exp(1j * DRIVE * t)).real + dying


oscillator = cpx.Model(spring, damper, velocity, acceleration, misfit).close(
    cpx.Integrate(span=(0.0, 10.0), save=TIMES, rtol=1e-9, atol=1e-9)
)


def main():
    measured = displacement(TIMES, **TRUE, **INITIAL)
    result = oscillator.run(measured=measured, **TRUE, **INITIAL)
    print(result)
    assert np.allclose(result["x"], measured, rtol=0, atol=1e-7)

    fitted = cpx.minimise(
        oscillator,
        "misfit",
        design={"stiffness": (1.0, 20.0), "damping": (0.0, 5.0)},
        start={"stiffness": 7.0, "damping": 1.0},
        fixed={"measured": measured, **INITIAL},
        method=cpx.LBFGS(),
    )
    print(fitted)
    assert all(abs(fitted[name] / value - 1) < 1e-4 for name, value in TRUE.items())


if __name__ == "__main__":
    main()
