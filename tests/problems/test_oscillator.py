"""The driven oscillator: its trajectory, the slopes of it and the fit to it against the closed form."""

from typing import Any

import jax
import numpy as np
import oscillator
import pytest

import couplax as cpx

pytestmark = pytest.mark.long_table(2)

TRUE: dict[str, Any] = oscillator.TRUE
INITIAL: dict[str, Any] = oscillator.INITIAL
MEASURED = oscillator.displacement(oscillator.TIMES, **TRUE, **INITIAL)


def test_the_trajectory_is_the_closed_form() -> None:
    result = oscillator.oscillator.run(measured=MEASURED, **TRUE, **INITIAL)
    # Steps are held to 1e-9 each; there are some hundred.
    np.testing.assert_allclose(result["x"], MEASURED, rtol=0, atol=1e-7)
    np.testing.assert_allclose(result["t"], oscillator.TIMES, rtol=1e-14)


def test_what_is_evaluated_inside_is_saved_with_the_states() -> None:
    result = oscillator.oscillator.run(measured=MEASURED, **TRUE, **INITIAL)
    np.testing.assert_allclose(result["spring"], -TRUE["stiffness"] * result["x"], rtol=1e-12)
    np.testing.assert_allclose(result["damper"], -TRUE["damping"] * result["v"], rtol=1e-12)


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_the_slopes_at_the_end_are_those_of_the_closed_form(mode: Any) -> None:
    names = (*TRUE, *INITIAL)
    point = (*TRUE.values(), *INITIAL.values())
    trajectory = oscillator.oscillator.function(names, "x")
    slopes = jax.jit(mode(lambda *at: trajectory(*at)[-1], argnums=(0, 1, 2, 3)))(*point)
    wanted = jax.grad(lambda *at: oscillator.displacement(10.0, *at), argnums=(0, 1, 2, 3))(*point)
    # Exact derivatives of the steps taken, whose errors are those of the trajectory.
    np.testing.assert_allclose(slopes, wanted, rtol=0, atol=1e-6)


def test_a_fit_finds_the_stiffness_and_the_damping_that_made_the_trajectory() -> None:
    fitted = cpx.minimise(
        oscillator.oscillator,
        "misfit",
        design={"stiffness": (1.0, 20.0), "damping": (0.0, 5.0)},
        start={"stiffness": 7.0, "damping": 1.0},
        fixed={"measured": MEASURED, **INITIAL},
        method=cpx.LBFGS(),
    )
    # The gradient ends below 1e-9, and the misfit is the square of the distance.
    np.testing.assert_allclose([fitted[name] for name in TRUE], [*TRUE.values()], rtol=1e-6)
