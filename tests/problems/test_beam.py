"""The cantilever: its compliance against beam theory."""

import beam
import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx


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


def test_the_stiffest_beam_is_the_published_one_and_that_of_beam_theory() -> None:
    stiffest = cpx.minimise(
        beam.beam,
        "compliance",
        design={"thickness": (0.01, 10.0)},
        constraints={"volume": beam.VOLUME},
        start={"thickness": jnp.full(beam.ELEMENTS, 0.1)},
    )
    # The least sum of c_i / h_i^3 with a given sum of h_i has h_i in proportion to c_i^(1/4).
    ends = 1 - np.arange(beam.ELEMENTS + 1) / beam.ELEMENTS
    shares = (ends[:-1] ** 3 - ends[1:] ** 3) ** 0.25
    thickness = shares / np.mean(shares) * beam.VOLUME / (beam.WIDTH * beam.LENGTH)
    np.testing.assert_allclose(stiffest["compliance"], compliance(thickness), rtol=LOST)
    np.testing.assert_allclose(stiffest["compliance"], 23762.153677396, rtol=LOST)
    # The compliance is flat at its least: to 1e-8 of it belongs 1e-4 of the thickness.
    np.testing.assert_allclose(stiffest["thickness"], thickness, rtol=1e-3)
    np.testing.assert_allclose(stiffest["thickness"][0], 0.1491575333, rtol=1e-4)
    np.testing.assert_allclose(stiffest["thickness"][-1], 0.0161086266, rtol=1e-3)
    # The least compliance goes with the volume to the power -3.
    np.testing.assert_allclose(
        stiffest.multipliers["volume"], 3 * compliance(thickness) / beam.VOLUME, rtol=1e-3
    )
