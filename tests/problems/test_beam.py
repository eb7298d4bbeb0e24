"""The cantilever: its compliance against beam theory."""

import beam
import jax
import jax.numpy as jnp
import numpy as np


def compliance(thickness: np.ndarray) -> float:
    """Returns the tip's load times its deflection: the integral of M^2 / EI, exact for each element."""
    ends = 1 - np.arange(beam.ELEMENTS + 1) / beam.ELEMENTS
    moments = (ends[:-1] ** 3 - ends[1:] ** 3) / 3 * beam.FORCE**2 * beam.LENGTH**3
    return float(np.sum(moments / (beam.YOUNG * beam.WIDTH * thickness**3 / 12)))


# The condition number of the stiffness matrix is about 1e8; so many roundings are lost.
LOST = 1e-7


def test_a_uniform_beam_deflects_by_the_closed_form() -> None:
    result = beam.beam.run(thickness=jnp.full(beam.ELEMENTS, 0.1))
    np.testing.assert_allclose(result["compliance"], 40000, rtol=LOST)
    np.testing.assert_allclose(result["volume"], beam.VOLUME, rtol=1e-14)


def test_a_tapered_beam_has_the_compliance_of_beam_theory_and_its_slopes() -> None:
    thickness = np.linspace(0.15, 0.05, beam.ELEMENTS)
    value, slopes = jax.value_and_grad(beam.beam.function("thickness", "compliance"))(jnp.array(thickness))
    np.testing.assert_allclose(value, compliance(thickness), rtol=LOST)
    step = 1e-4
    for element in (0, 25, 49):
        moved = step * (np.arange(beam.ELEMENTS) == element)
        difference = (compliance(thickness + moved) - compliance(thickness - moved)) / (2 * step)
        # Central differences of 1/h^3: 10/3 (step/h)^2, at most 2e-5.
        np.testing.assert_allclose(slopes[element], difference, rtol=3e-5)
