"""Every opset that couplax writes gives the same numbers, as far as ONNX Runtime loads them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest
from jax import lax

from couplax._errors import ExportError
from couplax.export import to_onnx

NEWEST = onnx.defs.onnx_opset_version()


def moved(x: Any) -> Any:
    """Returns what comes of operators that opsets define anew: reductions, casts, pads, gathers, loops."""
    end, rows = lax.scan(lambda c, row: (c * 0.5 + row, jnp.cos(c)), x[0], x)
    return {
        "reduced": (x.max(0), x.sum(1), x.prod(), (x > 0).any(0), (x > 1).all(), jnp.argmax(x, 1)),
        "cast": (x.astype(jnp.int8), x.astype(jnp.float16), (x > 0).astype(jnp.float32)),
        "shaped": (jnp.pad(x, 1), x.T.reshape(-1), jnp.split(x, 2, 1), jnp.concatenate([x, x])),
        "picked": (x[jnp.array([2, 0])], x.at[1].add(1.0), jnp.sort(x, 0), lax.top_k(x, 2)),
        "looped": (end, rows, lax.while_loop(lambda y: y.sum() < 9, lambda y: y + 1, x)),
        "chosen": (jnp.where(x > 0, x, -x), lax.cond(x[0, 0] > 0, jnp.sin, jnp.exp, x), jnp.round(x)),
        "multiplied": (x @ x.T, jnp.cumsum(x, 0), jnp.isnan(x), jnp.clip(x, -1, 1), jnp.tanh(x)),
    }


X = np.linspace(-3.0, 3.5, 12).reshape(3, 4).astype(np.float32)


def outputs_at(opset: int) -> list[np.ndarray]:
    """Returns what the file of that opset gives in ONNX Runtime."""
    proto = to_onnx(moved, X, opset=opset, verify=False)
    assert proto.opset_import[0].version == opset
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(output) for output in session.run(None, {"x": X})]


@pytest.fixture(scope="module")
def lowest() -> list[np.ndarray]:
    return outputs_at(18)


@pytest.mark.parametrize("opset", range(19, NEWEST + 1))
def test_every_opset_gives_the_numbers_of_the_lowest(lowest: list[np.ndarray], opset: int) -> None:
    for came, wanted in zip(outputs_at(opset), lowest, strict=True):
        np.testing.assert_array_equal(came, wanted, strict=True)


def test_the_lowest_opset_gives_the_numbers_of_jax(lowest: list[np.ndarray]) -> None:
    for came, wanted in zip(lowest, jax.tree.leaves(jax.jit(moved)(X)), strict=True):
        assert came.dtype == wanted.dtype
        np.testing.assert_allclose(came, wanted, rtol=1e-6, atol=1e-6)


def test_an_opset_that_onnx_does_not_know_is_refused() -> None:
    with pytest.raises(ExportError, match=rf"opset={NEWEST + 1} is beyond {NEWEST}, the newest that onnx"):
        to_onnx(jnp.sin, 1.0, opset=NEWEST + 1)
