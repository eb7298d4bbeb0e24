"""The toy wing: its coupled analysis and slopes in closed form."""

from typing import Any

import aerostructure
import jax
import numpy as np
import pytest

import couplax as cpx

START: dict[str, Any] = aerostructure.START
CLOSED = aerostructure.wing.close(cpx.Newton(rtol=1e-12, atol=1e-12), cut="displacement")


def solved(thick_airfoils: Any, thick_panels: Any, sweep: Any) -> Any:
    """Returns the range by elimination: the coupling is linear."""
    forces = (10 * sweep + 0.2 * thick_airfoils - 0.4 * sweep - 0.6 * thick_panels) / 0.6
    displacement = 2 * sweep + 3 * thick_panels - 2 * forces
    drag = 0.1 * ((sweep / 360) ** 2 + 200 + thick_airfoils**2 - thick_airfoils - 4 * displacement)
    lift = (sweep + 0.2 * thick_airfoils - 2 * displacement) / 3000
    mass = 4000 * (sweep / 360) ** 3 + 200000 + 100 * thick_panels + 200 * forces
    return 8e11 * lift / (mass * drag)


def test_the_range_is_the_published_one() -> None:
    result = CLOSED.run(**START)
    np.testing.assert_allclose(result["range"], 4253.9825354, rtol=1e-11)


def test_the_linear_cycle_takes_one_step() -> None:
    (solve,) = CLOSED.run(**START).solves.values()
    assert int(solve.iterations) == 1


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_the_slopes_are_those_of_the_eliminated_equations(mode: Any) -> None:
    point = tuple(START.values())
    slopes = jax.jit(mode(CLOSED.function(tuple(START), "range"), argnums=(0, 1, 2)))(*point)
    wanted = jax.grad(solved, argnums=(0, 1, 2))(*point)
    np.testing.assert_allclose(slopes, wanted, rtol=1e-11)


@pytest.mark.parametrize("architecture", [cpx.MDF(), cpx.IDF(), cpx.SAND()], ids=lambda each: each.name)
def test_the_farthest_flight_is_the_published_one(architecture: Any) -> None:
    farthest = cpx.minimise(
        aerostructure.wing,
        "loss",
        design=aerostructure.BOUNDS,
        constraints=aerostructure.LIMITS,
        start=START,
        architecture=architecture,
    )
    np.testing.assert_allclose(farthest["range"], 4898.707394, rtol=0, atol=1e-6)
    # Along the active reserve factor the range is flat at its largest: the design has half its digits.
    np.testing.assert_allclose(
        [farthest[name] for name in START], [5, 6.2659894636, 11.7458077794], rtol=3e-5
    )
    np.testing.assert_allclose(farthest["reserve_factor"], 0.5, rtol=1e-8)
