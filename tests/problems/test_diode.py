"""The diode circuit: implicit voltages, and a start from which undamped Newton steps diverge."""

from typing import Any

import diode
import jax
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx

# The two equations solved, and differentiated, with thirty digits.
VOLTAGES = (9.90804734507933021334, 0.71278185301235154781)
SLOPES = (99.0126518282444918698, 0.27783465269367884676)
# Published, by a solver that ends at a residual of some 1e-12 A.
PUBLISHED = (9.908047345079474, 0.7127818530267862)
CIRCUIT = diode.circuit.close(cpx.Newton(rtol=1e-12, atol=1e-15))


def test_the_voltages_solve_the_equations_and_are_the_published_ones() -> None:
    result = CIRCUIT.run(I=0.1)
    voltages = [result["V_1"], result["V_2"]]
    np.testing.assert_allclose(voltages, VOLTAGES, rtol=1e-13)
    np.testing.assert_allclose(voltages, PUBLISHED, rtol=3e-11)


def test_the_default_newton_converges_from_a_start_near_zero() -> None:
    result = diode.circuit.close(cpx.Newton()).run(I=0.1, guess={"V_1": 10.0, "V_2": 1e-3})
    # The default tolerance is 1e-8, of an estimate that is larger than the error.
    np.testing.assert_allclose([result["V_1"], result["V_2"]], VOLTAGES, rtol=1e-8)


def test_undamped_newton_steps_do_not_get_there() -> None:
    # From 1e-3 V the linear diode passes no current: a full step to 9.9 V, and then 26 mV back at each one.
    undamped = diode.circuit.close(optx.Newton(rtol=1e-8, atol=1e-8))
    with pytest.raises(cpx.SolveError, match="Newton"):
        undamped.run(I=0.1, guess={"V_1": 10.0, "V_2": 1e-3})


def test_all_current_that_enters_leaves() -> None:
    result = CIRCUIT.run(I=0.1)
    np.testing.assert_allclose(result["I_R1"] + result["I_D"], 0.1, rtol=1e-12)


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_the_slopes_are_those_of_the_equations(mode: Any) -> None:
    slopes = jax.jit(mode(CIRCUIT.function("I", ("V_1", "V_2"))))(0.1)
    np.testing.assert_allclose(slopes, SLOPES, rtol=1e-12)
