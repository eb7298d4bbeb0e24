"""Propane burning in air: ten equations of a chemical equilibrium, four of them as constraints.

Three components give what the shared variables leave of the other products; the equations that they do not
solve are constraints, whose sum is least, zero, in equilibrium. Source: Padula, Alexandrov and Green (1996),
MDO test suite at NASA Langley Research Center, AIAA-96-4028.
"""

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)

BOUNDS = {"x_shared": (0.001, jnp.array([2.0, 30.0, 2.0, 2.0]))}
LIMITS = {"f_2": (0.0, None), "f_6": (0.0, None), "f_7": (0.0, None), "f_9": (0.0, None)}
START = {"x_shared": jnp.ones(4)}
EQUILIBRIUM = jnp.array([1.378886808, 18.426810187, 1.094798009, 0.931213523])


def dilution(x):
    """Returns what the products numbered 8 to 10 share."""
    return (x[2] + x[3] - 2 * x[1] + 94) / (400 * x[0] ** 2 - 2403 * x[0] + 3600)


@cpx.component("y_1")
def first(x_shared):
    x = x_shared
    return jnp.stack([x[0] * (8 - x[2] - x[3]) / 6, 3 - x[0]])


@cpx.component("y_2")
def second(x_shared):
    x = x_shared
    return jnp.stack([(3 - x[0]) * (8 - x[2] - x[3]) / 6, (3 - x[0]) * x[0] * dilution(x) / 2])


@cpx.component("y_3")
def third(x_shared):
    x = x_shared
    return jnp.stack([40 - 2 * x[1], x[0] ** 2 * dilution(x) / 2, 200 * (x[0] - 3) ** 2 * dilution(x)])


@cpx.component("f_2", "f_6", "f_7", "f_9")
def reaction(x_shared, y_1, y_2, y_3):
    x = x_shared
    pressure = 40 / y_3[2]  # 40 atmospheres over the sum of moles
    f_2 = 2 * x[0] + y_1[0] + y_1[1] + x[3] + y_2[1] + y_3[0] + 2 * y_3[1] - 10
    f_6 = jnp.sqrt(y_1[0] * y_1[1]) - x[2] * jnp.sqrt(x[0] * pressure)
    f_7 = jnp.sqrt(x[0] * y_1[0]) - x[3] * jnp.sqrt(y_1[1] * pressure)
    f_9 = x[0] * jnp.sqrt(x[1]) - y_1[1] * y_3[0] * jnp.sqrt(pressure)
    return f_2, f_6, f_7, f_9


@cpx.component("f")
def objective(f_2, f_6, f_7, f_9):
    return f_2 + f_6 + f_7 + f_9


propane = cpx.Model(first, second, third, reaction, objective)


def main():
    result = propane.run(x_shared=EQUILIBRIUM)
    print(result)
    # The published point has nine digits.
    assert np.allclose([result[name] for name in LIMITS], 0, atol=1e-7)

    found = cpx.minimise(propane, "f", design=BOUNDS, constraints=LIMITS, start=START)
    print(found)
    assert np.allclose(found["x_shared"], EQUILIBRIUM, rtol=0, atol=1e-8)


if __name__ == "__main__":
    main()
