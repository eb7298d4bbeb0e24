"""bfloat16: computed in float32, rounded as JAX rounds it, in at one end and out at the other."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from jax import lax

import couplax as cpx
from couplax.export import to_onnx
from onnx_runtime import faults
from rule_cases import Case, matrices
from rule_cases.elementwise import CONVERSIONS, ELEMENTWISE
from rule_cases.indexing import INDEXING
from rule_cases.reductions import REDUCTIONS
from rule_cases.shapes import SHAPES
from rule_cases.windows import CONVOLUTIONS, WINDOWS

BFLOAT16 = jnp.bfloat16
W, B, V = matrices((4, 6), (6,), (6, 3))(BFLOAT16)


def network(x: Any) -> Any:
    return jax.nn.softmax(jnp.tanh(x @ W + B[None]) @ V)


def casts(x: Any) -> Any:
    wide = x.astype(np.float32) * np.float32(1.01)
    return x, wide, wide.astype(BFLOAT16), x.astype(np.int8), x > 0, lax.bitcast_convert_type(x, np.int16)


def loops(x: Any) -> Any:
    grown = lax.while_loop(lambda y: jnp.abs(y).sum() < 99, lambda y: y * 1.1 + 0.1, x)
    return lax.scan(lambda c, row: (c * 0.5 + row, jnp.sin(c)), grown[0], grown)


def drawn(x: Any) -> Any:
    return x[0, 0] * jax.random.normal(jax.random.key(3), (5,), BFLOAT16)


PROGRAMS = (
    network,
    jax.grad(lambda x: network(x)[:, 0].sum()),
    lambda x: (x.sum(0), x.mean(), x.max(1), jnp.prod(x, 1), x.var()),
    casts,
    loops,
    drawn,
    lambda x: jnp.nextafter(x, jnp.ones_like(x)),
)


@pytest.mark.long_table(3)
@pytest.mark.parametrize("fn", PROGRAMS)
def test_a_program_in_bfloat16_gives_what_jax_gives(fn: Callable[..., Any]) -> None:
    assert not faults(fn, *matrices((3, 4))(BFLOAT16), units=2, whole=True)


CASES = (*ELEMENTWISE, *CONVERSIONS, *SHAPES, *REDUCTIONS, *INDEXING, *CONVOLUTIONS, *WINDOWS)
# XLA rounds between the products and the sums of these.
UNITS = {"exp2": 32, "inverse fifth power": 4, "long windows": 4}
# The first depends on the order of its terms, in the first digit; the second is of 32 bits alone.
LEFT_OUT = {"reduction by a function", "bits of other widths"}


@pytest.mark.long_table(40)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name)
        for case in CASES
        if np.float32 in case.dtypes and case.name not in LEFT_OUT
    ],
)
def test_a_rule_gives_in_bfloat16_what_jax_gives(case: Case) -> None:
    assert not faults(case.fn, *case.args(BFLOAT16), units=UNITS.get(case.name, 1))


def test_a_file_takes_and_gives_bfloat16_is_verified_and_keeps_weights_so() -> None:
    (weights,) = matrices((4, 400))(BFLOAT16)
    proto = to_onnx(lambda x: x @ weights, cpx.struct("batch", 4, dtype=BFLOAT16))
    types = [entry.type.tensor_type.elem_type for entry in (*proto.graph.input, *proto.graph.output)]
    assert types == 2 * [onnx.TensorProto.BFLOAT16]
    large = [weight.data_type for weight in proto.graph.initializer if list(weight.dims) == [4, 400]]
    assert large == [onnx.TensorProto.BFLOAT16]
