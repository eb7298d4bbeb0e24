"""Implicit components in models: unknowns found such that residuals are zero, alone and inside cycles."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from couplax import GuessError, ModelError

NEWTON = cpx.Newton(rtol=1e-12, atol=1e-14)
R_1, R_2, SATURATION, THERMAL = 100.0, 10000.0, 1e-15, 0.025875


@cpx.residual("V_1")
def first_node(current: Any, V_1: Any, V_2: Any) -> Any:
    return V_1 / R_1 + (V_1 - V_2) / R_2 - current


@cpx.residual("V_2")
def second_node(V_1: Any, V_2: Any) -> Any:
    return (V_1 - V_2) / R_2 - SATURATION * (jnp.exp(V_2 / THERMAL) - 1)


GUESS = {"V_1": 1.0, "V_2": 1e-3}


def diode() -> cpx.Model:
    return cpx.Model(first_node, second_node).close(cpx.Newton(rtol=1e-12, atol=1e-14, max_steps=400))


def test_the_diode_circuit_gives_its_reference() -> None:
    result = diode().run(current=0.1, guess=GUESS)
    # The residual bears 1e-14 A, against a slope of 4e-3 A/V.
    np.testing.assert_allclose(result["V_1"], 9.908047345079474, rtol=1e-10)
    np.testing.assert_allclose(result["V_2"], 0.7127818530267862, rtol=1e-10)


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_the_diode_circuit_is_differentiated(mode: Any) -> None:
    slopes = mode(diode().function("current", ("V_1", "V_2"), guess=GUESS))(0.1)
    np.testing.assert_allclose(slopes, (99.01265182824298, 0.277834652539116), rtol=1e-9)


def test_an_implicit_component_is_cut_at_its_unknowns() -> None:
    (closure,) = diode().closures
    assert closure.cut == ("V_1", "V_2")


def kepler() -> cpx.Component:
    return cpx.residual(lambda E, M, e: E - e * jnp.sin(E) - M, cpx.output("E", guess=1.0), name="kepler")


def test_keplers_equation_gives_its_reference() -> None:
    result = cpx.Model(kepler()).close(NEWTON).run(M=np.deg2rad(85), e=0.6)
    np.testing.assert_allclose(np.rad2deg(result["E"]), 115.91942563011821, rtol=1e-12)
    slopes = jax.grad(cpx.Model(kepler()).close(NEWTON).function(("M", "e"), "E"), argnums=(0, 1))
    np.testing.assert_allclose(
        slopes(np.deg2rad(85), 0.6), (0.7922272679833205, 0.7125368367074062), rtol=1e-10
    )


def test_a_residual_need_not_read_its_unknown() -> None:
    # The radius at which a sphere has the volume asked for.
    balance = cpx.residual(lambda volume, wanted: volume - wanted, cpx.output("r", guess=1.0), name="balance")
    sphere = cpx.component(lambda r: 4 / 3 * jnp.pi * r**3, "volume", name="sphere")
    model = cpx.Model(balance, sphere).close(NEWTON)
    assert model.closures[0].cut == ("r",)
    np.testing.assert_allclose(model.run(wanted=36 * np.pi)["r"], 3.0, rtol=1e-12)


def test_an_unknown_may_be_a_vector() -> None:
    matrix = jnp.array([[4.0, 1.0], [2.0, 3.0]])
    fn = cpx.residual(
        lambda u, b: matrix @ u + 0.1 * u**3 - b, cpx.output("u", guess=0.0, shape=(2,)), name="c"
    )
    u = cpx.Model(fn).close(NEWTON).run(b=jnp.array([1.0, 2.0]))["u"]
    np.testing.assert_allclose(matrix @ u + 0.1 * u**3, [1, 2], rtol=1e-12)


def test_one_component_has_several_residuals() -> None:
    circle = cpx.residual(lambda x, y, r: (x**2 + y**2 - r**2, x - y), "x", "y", name="circle")
    result = cpx.Model(circle).close(NEWTON).run(r=2.0, guess={"x": 1.0, "y": 0.5})
    np.testing.assert_allclose([result["x"], result["y"]], np.sqrt(2.0), rtol=1e-10)


def mixed() -> list[cpx.Component]:
    """Returns a cycle of an explicit and an implicit component."""
    explicit = cpx.component(lambda u: jnp.cos(u), cpx.output("v", guess=0.5), name="explicit")
    implicit = cpx.residual(
        lambda u, v, a: u + 0.5 * jnp.tanh(u) - a * v, cpx.output("u", guess=0.1), name="i"
    )
    return [explicit, implicit]


def test_an_implicit_component_joins_a_cycle() -> None:
    result = cpx.Model(*mixed()).close(NEWTON).run(a=1.5)
    u = float(result["u"])
    np.testing.assert_allclose(u + 0.5 * np.tanh(u), 1.5 * np.cos(u), rtol=1e-10)
    assert result.solves["explicit + i"].cut == ("u",)


def test_an_implicit_component_may_be_solved_inside_a_cycle() -> None:
    explicit, implicit = mixed()
    model = (cpx.Model(implicit).close(NEWTON) + explicit).close(NEWTON, cut="v")
    together = cpx.Model(*mixed()).close(NEWTON)
    np.testing.assert_allclose(model.run(a=1.5)["u"], together.run(a=1.5)["u"], rtol=1e-10)
    slopes = [jax.grad(each.function("a", "u"))(1.5) for each in (model, together)]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-8)


def test_a_residual_is_no_fixed_point() -> None:
    with pytest.raises(ModelError, match=r"asks for `E`.*residual.*root finder"):
        cpx.Model(kepler()).close(optx.FixedPointIteration(rtol=1e-8, atol=1e-8))


def test_an_open_residual_says_how_to_close_it() -> None:
    with pytest.raises(ModelError, match=r"cycle `kepler` is not closed.*cut='E'"):
        cpx.Model(kepler()).run(M=1.0, e=0.1)


def test_an_implicit_component_is_cut_nowhere_else() -> None:
    with pytest.raises(ModelError, match="`u`"):
        cpx.Model(*mixed()).close(NEWTON, cut="v")


def test_a_residual_of_another_shape_than_its_unknown_is_told() -> None:
    fn = cpx.residual(lambda u, b: jnp.concatenate([u, b]), cpx.output("u", guess=np.zeros(2)), name="fn")
    with pytest.raises(GuessError, match=r"`fn`.*returns a residual of shape \(3,\) for `u`"):
        cpx.Model(fn).close(NEWTON).run(b=[1.0])
