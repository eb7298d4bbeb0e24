"""Sparsity: fewer calls for the same Jacobian."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import couplax as cpx

SIZE = 1000


def chain(u: Any) -> Any:
    """Returns a function of each element and its neighbours."""
    result = u**2
    result[1:] += 3.0 * u[:-1] * u[1:]
    result[:-1] -= np.sin(u[1:])
    return result


def chain_jacobian(u: Any) -> Any:
    jacobian = np.diag(2 * u)
    rows = np.arange(1, SIZE)
    jacobian[rows, rows - 1] += 3.0 * u[1:]
    jacobian[rows, rows] += 3.0 * u[:-1]
    jacobian[rows - 1, rows] -= np.cos(u[1:])
    return jacobian


BAND = scipy.sparse.csr_array(np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE))) <= 1)
U = np.linspace(0.0, 1.0, SIZE)


def like(u: Any) -> Any:
    return u


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev], ids=["forward", "reverse"])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_a_tridiagonal_jacobian_of_a_thousand_costs_four_calls(jacobian: Any, compiled: bool) -> None:
    code = cpx.foreign(chain, like, sparsity=BAND)
    code.tally.reset()
    f = jax.jit(jacobian(code)) if compiled else jacobian(code)
    found = f(U).block_until_ready()
    assert code.tally.calls == 4
    np.testing.assert_allclose(found, chain_jacobian(U), rtol=0, atol=1e-6)


def test_a_gradient_costs_the_colours() -> None:
    code = cpx.foreign(chain, like, sparsity=BAND)
    code.tally.reset()
    found = jax.grad(lambda u: jnp.sum(code(u) ** 2))(U).block_until_ready()
    assert code.tally.calls == 4
    np.testing.assert_allclose(found, 2 * chain_jacobian(U).T @ chain(U), rtol=1e-6, atol=1e-5)


def test_an_own_tangent_and_adjoint_are_compressed_too() -> None:
    dense = chain_jacobian(U)
    code = cpx.foreign(
        chain,
        like,
        sparsity=BAND,
        tangent=lambda primals, tangents: dense @ tangents[0],
        adjoint=lambda primals, cotangents: (dense.T @ cotangents,),
    )
    for jacobian in (jax.jacfwd, jax.jacrev):
        code.tally.reset()
        np.testing.assert_allclose(jacobian(code)(U), dense, rtol=0, atol=1e-12)
        assert code.tally.calls == 4


def test_a_pattern_over_several_inputs_and_outputs_is_in_flat_order() -> None:
    def two(a: Any, b: Any) -> Any:
        return {"p": a**2, "q": np.array([b[0] * a[1], b[1] ** 3])}

    out = {"p": jax.ShapeDtypeStruct((2,), np.float64), "q": jax.ShapeDtypeStruct((2,), np.float64)}
    pattern = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], bool)
    code = cpx.foreign(two, out, sparsity=pattern)
    code.tally.reset()
    a, b = np.array([0.5, 1.5]), np.array([2.0, 0.7])
    found = jax.block_until_ready(jax.jacfwd(code, (0, 1))(a, b))
    assert code.tally.calls == 3
    np.testing.assert_allclose(found["p"][0], np.diag(2 * a), atol=1e-6)
    np.testing.assert_allclose(found["q"][0], [[0, 2.0], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(found["q"][1], np.diag([1.5, 3 * 0.49]), atol=1e-6)


def test_a_pattern_is_found_by_probing() -> None:
    def code_of(x: Any, k: Any, y: Any) -> Any:
        return np.array([x[0] * y, x[1] ** k]), x[2]

    out = (jax.ShapeDtypeStruct((2,), np.float64), jnp.float64)
    code = cpx.foreign(code_of, out)
    found = cpx.detect_sparsity(code, np.array([1.0, 2.0, 3.0]), 2, 0.5)
    want = [[1, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
    np.testing.assert_array_equal(found.toarray(), np.array(want, bool))


def test_a_found_pattern_gives_the_jacobian_of_the_code_at_its_price() -> None:
    small = slice(0, 30)
    code = cpx.foreign(chain, like)
    pattern = cpx.detect_sparsity(code, U[small])
    sparse = cpx.foreign(chain, like, sparsity=pattern)
    sparse.tally.reset()
    np.testing.assert_allclose(jax.jacfwd(sparse)(U[small]), jax.jacfwd(code)(U[small]), rtol=0, atol=1e-6)
    assert sparse.tally.calls == 4
