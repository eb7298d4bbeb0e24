"""A cantilever's thickness, from root to tip: the stiffest beam of a given volume.

Fifty beam elements with cubic deflection, clamped at the left, pushed down at the right. Source: OpenMDAO's
example of beam optimization.
"""

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)

ELEMENTS = 50
LENGTH, WIDTH, YOUNG, FORCE = 1.0, 0.1, 1.0, -1.0
VOLUME = 0.01

STEP = LENGTH / ELEMENTS
# Deflection and slope at both ends of an element; its stiffness per unit of the section's moment of inertia.
DEGREES = 2 * np.arange(ELEMENTS)[:, None] + np.arange(4)
ELEMENT = (YOUNG / STEP**3) * np.array(
    [
        [12, 6 * STEP, -12, 6 * STEP],
        [6 * STEP, 4 * STEP**2, -6 * STEP, 2 * STEP**2],
        [-12, -6 * STEP, 12, -6 * STEP],
        [6 * STEP, 2 * STEP**2, -6 * STEP, 4 * STEP**2],
    ]
)
LOAD = jnp.zeros(2 * ELEMENTS).at[-2].set(FORCE)  # on the degrees that are free: all but the first two


@cpx.component("inertia")
def section(thickness):
    return WIDTH * thickness**3 / 12


@cpx.component("displacement")
def bending(inertia):
    size = 2 * ELEMENTS + 2
    rows, columns = DEGREES[:, :, None], DEGREES[:, None, :]
    stiffness = jnp.zeros((size, size)).at[rows, columns].add(jnp.einsum("e,ij->eij", inertia, ELEMENT))
    return jax.scipy.linalg.solve(stiffness[2:, 2:], LOAD, assume_a="pos")


@cpx.component("compliance")
def compliance(displacement):
    return LOAD @ displacement


@cpx.component("volume")
def volume(thickness):
    return WIDTH * STEP * jnp.sum(thickness)


beam = cpx.Model(section, bending, compliance, volume)


def main():
    uniform = jnp.full(ELEMENTS, 0.1)
    result = beam.run(thickness=uniform)
    print(result)
    assert abs(result["compliance"] / 40000 - 1) < 1e-7

    stiffest = cpx.minimise(
        beam,
        "compliance",
        design={"thickness": (0.01, 10.0)},
        constraints={"volume": VOLUME},
        start={"thickness": uniform},
    )
    print(stiffest)
    assert abs(stiffest["compliance"] / 23762.153677396 - 1) < 1e-6
    assert np.allclose(stiffest["thickness"][jnp.array([0, -1])], (0.1491575333, 0.0161086266), rtol=1e-3)


if __name__ == "__main__":
    main()
