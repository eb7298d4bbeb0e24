"""What a derivative costs, in calls of the code, by what the code offers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from foreign_codes import OFFERS, OUT, X, Y, wave, wave_jax

N, M = 3, 2  # inputs, outputs


def counts(tally: Any) -> tuple[int, int, int, int]:
    return tally.values, tally.probes, tally.tangents, tally.adjoints


def jvp(f: Any) -> Any:
    return jax.jvp(f, (X, Y), (0.5, np.array([1.0, -2.0])))[1]


def gradient(f: Any) -> Any:
    return jax.grad(lambda x, y: jnp.sum(jnp.sin(f(x, y))), (0, 1))(X, Y)


def forward(f: Any) -> Any:
    return jax.jacfwd(f, (0, 1))(X, Y)


def reverse(f: Any) -> Any:
    return jax.jacrev(f, (0, 1))(X, Y)


# Beside one value each: what is offered, what is asked for, and its price in probes, tangents and adjoints.
TABLE: list[tuple[str, Callable[[Any], Any], tuple[int, int, int]]] = [
    ("value", jvp, (1, 0, 0)),
    ("value", gradient, (N, 0, 0)),
    ("value", forward, (N, 0, 0)),
    ("value", reverse, (N, 0, 0)),
    ("tangent", jvp, (0, 1, 0)),
    ("tangent", gradient, (0, N, 0)),
    ("tangent", forward, (0, N, 0)),
    ("tangent", reverse, (0, N, 0)),
    ("adjoint", jvp, (1, 0, 0)),
    ("adjoint", gradient, (0, 0, 1)),
    ("adjoint", forward, (N, 0, 0)),
    ("adjoint", reverse, (0, 0, M)),
    ("both", jvp, (0, 1, 0)),
    ("both", gradient, (0, 0, 1)),
    ("both", forward, (0, N, 0)),
    ("both", reverse, (0, 0, M)),
]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("offer", "derivative", "price"),
    TABLE,
    ids=[f"{offer}-{derivative.__name__}" for offer, derivative, _ in TABLE],
)
def test_a_derivative_costs_what_the_table_says_and_is_right(
    offer: str, derivative: Any, price: tuple[int, int, int], compiled: bool
) -> None:
    code = cpx.foreign(wave, OUT, **OFFERS[offer])
    code.tally.reset()
    f = jax.jit(code) if compiled else code
    found = jax.block_until_ready(derivative(f))
    assert counts(code.tally) == (1, *price)
    exact = price[0] == 0
    for came, want in zip(jax.tree.leaves(found), jax.tree.leaves(derivative(wave_jax)), strict=True):
        # One-sided differences are good to about the square root of double precision.
        np.testing.assert_allclose(came, want, rtol=1e-13 if exact else 1e-6, atol=1e-13 if exact else 1e-7)


@pytest.mark.parametrize("offer", OFFERS)
def test_what_does_not_vary_costs_nothing(offer: str) -> None:
    code = cpx.foreign(wave, OUT, **OFFERS[offer])
    code.tally.reset()
    found = jax.block_until_ready(jax.jacfwd(lambda x: code(x, Y))(X))
    assert code.tally.calls == 2
    np.testing.assert_allclose(found, jax.jacfwd(lambda x: wave_jax(x, Y))(X), rtol=1e-6)


def test_a_zero_tangent_costs_nothing() -> None:
    code = cpx.foreign(wave, OUT)
    code.tally.reset()
    _, moved = jax.jvp(code, (X, Y), (0.0, np.zeros(2)))
    assert counts(code.tally) == (1, 0, 0, 0)
    np.testing.assert_array_equal(moved, 0.0)


def test_the_value_is_not_computed_again_for_its_derivative() -> None:
    code = cpx.foreign(wave, OUT)
    code.tally.reset()
    jax.block_until_ready(jax.jit(jax.value_and_grad(lambda x: code(x, Y)[0]))(X))
    assert counts(code.tally) == (1, 1, 0, 0)


def box(x: Any) -> Any:
    """Returns R^20 -> R^20 with contracting first two outputs, the wider box of the reference problems."""
    weights = np.cos(np.arange(400.0)).reshape(20, 20) / 20
    return np.tanh(weights @ x) + 0.1 * np.sin(x)


def coupled_box() -> tuple[Any, cpx.Model]:
    code = cpx.foreign(box, jax.ShapeDtypeStruct((20,), np.float64), memo=32)

    def whole(u: Any, p: Any) -> Any:
        out = code(jnp.concatenate([u, p]))
        return out[:2], out[2:]

    model = cpx.Model(cpx.component(whole, cpx.output("u", guess=0.0, shape=(2,)), "rest"))
    return code, model.close(cpx.Newton(rtol=1e-10, atol=1e-10))


def test_a_wide_box_costs_no_more_than_what_was_measured_possible() -> None:
    code, model = coupled_box()
    p = np.linspace(0.5, 1.5, 18)
    code.tally.reset()
    model.run(p=p)
    assert code.tally.calls <= 9
    f = model.function("p", "u")
    code.tally.reset()
    jax.block_until_ready(jax.grad(lambda p: jnp.sum(f(p)))(p))
    assert code.tally.calls <= 32
    code.tally.reset()
    jax.block_until_ready(jax.jvp(f, (p,), (np.ones(18),)))
    assert code.tally.calls <= 13
