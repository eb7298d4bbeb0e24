"""Pairs: values of a fast code, derivatives of a JAX function."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from foreign_codes import OUT, X, Y, wave, wave_jax


def pair() -> cpx.Foreign:
    return cpx.paired(cpx.foreign(wave, OUT), wave_jax)


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_values_come_from_the_code_and_derivatives_from_the_reference(run: Any) -> None:
    code = pair()
    code.tally.reset()
    np.testing.assert_array_equal(run(code)(X, Y), wave(np.float64(X), Y))
    assert code.tally.calls == 1
    for transform in (jax.jacfwd, jax.jacrev, jax.hessian):
        came, want = run(transform(code, (0, 1)))(X, Y), transform(wave_jax, (0, 1))(X, Y)
        for ours, theirs in zip(jax.tree.leaves(came), jax.tree.leaves(want), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    assert (code.tally.probes, code.tally.tangents, code.tally.adjoints) == (0, 0, 0)


def test_a_pair_is_mapped_and_differentiated_in_any_order() -> None:
    code, ys = pair(), np.stack([Y, 2 * Y, 3 * Y])

    def total(f: Any) -> Any:
        return jax.grad(lambda x: jnp.sum(jax.vmap(f, (None, 0))(x, ys)))

    np.testing.assert_allclose(total(code)(X), total(wave_jax)(X), rtol=1e-13)
    np.testing.assert_allclose(
        jax.vmap(jax.jacrev(code, 1), (None, 0))(X, ys),
        jax.vmap(jax.jacrev(wave_jax, 1), (None, 0))(X, ys),
        rtol=1e-13,
    )


def test_a_pair_is_not_the_code_alone() -> None:
    assert pair() == pair()
    assert pair() != cpx.foreign(wave, OUT)


def test_a_reference_that_returns_otherwise_is_refused() -> None:
    code = cpx.paired(cpx.foreign(wave, OUT), lambda x, y: (x, y))
    with pytest.raises(cpx.ForeignError, match="two must return alike"):
        jax.grad(lambda x: jnp.sum(code(x, Y)))(X)


def test_a_pair_goes_out_as_its_reference() -> None:
    def program(x: Any) -> Any:
        return jnp.sum(jax.vmap(pair(), (None, 0))(x, np.stack([Y, 2 * Y])))

    code = pair()
    code.tally.reset()
    proto = cpx.to_onnx(program, X, verify=False)
    assert code.tally.calls == 0
    assert cpx.verify(proto, program, X).ok


def test_a_code_that_stands_in_the_way_of_an_export_is_named_with_the_way_out() -> None:
    code = cpx.foreign(wave, OUT, name="wave code")
    with pytest.raises(
        cpx.MissingRuleError, match=r"(?s)`wave code`, called at test_paired.py:\d+ .*couplax.paired\("
    ) as caught:
        cpx.to_onnx(lambda x: code(x, Y), X)
    assert "float64[]" in str(caught.value)
