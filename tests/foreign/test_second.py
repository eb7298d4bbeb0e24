"""Second derivatives, by differences of what the code offers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from foreign_codes import OFFERS, X, Y, wave, wave_adjoint, wave_jax, wave_tangent

NESTINGS = {
    "forward over reverse": jax.hessian,
    "forward over forward": lambda f, a: jax.jacfwd(jax.jacfwd(f, a), a),
    "reverse over reverse": lambda f, a: jax.jacrev(jax.jacrev(f, a), a),
    "reverse over forward": lambda f, a: jax.jacrev(jax.jacfwd(f, a), a),
}
ERRORS = {"Forward": 2e-3, "Central": 1e-6, "ComplexStep": 1e-6}


@pytest.mark.parametrize("scheme", [cpx.Forward, cpx.Central, cpx.ComplexStep], ids=lambda s: s.__name__)
@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("nesting", NESTINGS)
def test_a_hessian_is_right_whatever_the_nesting(nesting: str, offer: str, scheme: Any) -> None:
    out = jax.ShapeDtypeStruct((2,), np.float64)
    code = cpx.foreign(wave, out, differences=scheme(second=1e-4), **OFFERS[offer])
    second = NESTINGS[nesting](code, (0, 1))
    want = NESTINGS[nesting](wave_jax, (0, 1))(X, Y)
    found = second(X, Y)
    for came, exact in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(came, exact, rtol=0, atol=ERRORS[scheme.__name__])


@pytest.mark.parametrize("offer", OFFERS)
def test_a_compiled_hessian_is_the_eager_one(offer: str) -> None:
    out = jax.ShapeDtypeStruct((2,), np.float64)
    code = cpx.foreign(wave, out, differences=cpx.Central(second=1e-4), **OFFERS[offer])
    second = jax.hessian(code, (0, 1))
    pairs = zip(jax.tree.leaves(jax.jit(second)(X, Y)), jax.tree.leaves(second(X, Y)), strict=True)
    for compiled, eager in pairs:
        np.testing.assert_allclose(compiled, eager, rtol=0, atol=1e-9)


def test_a_hessian_under_vmap_is_the_hessian_of_each_lane() -> None:
    code = cpx.foreign(wave, jax.ShapeDtypeStruct((2,), np.float64), differences=cpx.Central(second=1e-4))
    ys = np.stack([Y, Y + 0.1, 2 * Y])
    found = jax.vmap(jax.hessian(lambda y: code(X, y)))(ys)
    want = jax.vmap(jax.hessian(lambda y: wave_jax(X, y)))(ys)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "own", [{"tangent": wave_tangent}, {"adjoint": wave_adjoint}], ids=["tangent", "adjoint"]
)
def test_a_second_derivative_not_asked_for_names_the_code_and_the_ways_out(own: dict[str, Any]) -> None:
    code = cpx.foreign(wave, jax.ShapeDtypeStruct((2,), np.float64), name="wave code", **own)
    with pytest.raises(cpx.DerivativeError, match=r"`wave code`.*Central\(second=.*paired"):
        jax.hessian(lambda x: code(x, Y)[0])(X)


def test_a_third_derivative_names_the_code() -> None:
    code = cpx.foreign(np.sin, jnp.float64, differences=cpx.Central(second=1e-3), name="sine")
    with pytest.raises(cpx.DerivativeError, match=r"third derivative of foreign code `sine`"):
        jax.grad(jax.grad(jax.grad(code)))(X)
