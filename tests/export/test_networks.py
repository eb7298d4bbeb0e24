"""Layers of Equinox and functions of `jax.nn`, exported as users write them."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from couplax.export import to_onnx
from onnx_runtime import faults

KEY = jax.random.key(3)


def single(layer: Any) -> Any:
    """Returns a layer with its weights in single precision."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, layer)


LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "convolution": (eqx.nn.Conv2d(4, 6, 3, padding=1, key=KEY), (4, 8, 7)),
    "transposed convolution": (eqx.nn.ConvTranspose2d(4, 6, 3, stride=2, key=KEY), (4, 5, 4)),
    "largest of windows": (eqx.nn.MaxPool2d(2, 2), (4, 8, 8)),
    "mean of windows": (eqx.nn.AvgPool2d(3, 2, padding=1), (4, 8, 8)),
    "adaptive mean of windows": (eqx.nn.AdaptiveAvgPool2d((3, 2)), (4, 8, 8)),
    "perceptron": (eqx.nn.MLP(8, 2, 16, 2, key=KEY), (8,)),
    "layer norm": (eqx.nn.LayerNorm(8), (8,)),
    "group norm": (eqx.nn.GroupNorm(2, 4), (4, 5)),
    "root mean square norm": (eqx.nn.RMSNorm(8), (8,)),
    "rotary embedding": (eqx.nn.RotaryPositionalEmbedding(8), (4, 8)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_what_it_gives_in_jax(name: str, rng: np.random.Generator) -> None:
    layer, shape = LAYERS[name]
    x = rng.standard_normal(shape).astype(np.float32)
    assert not faults(single(layer), x, units=32, whole=True)


def test_attention_and_recurrent_cells_give_what_they_give_in_jax(rng: np.random.Generator) -> None:
    attention = eqx.nn.MultiheadAttention(2, 8, key=KEY)
    gated, long_short = eqx.nn.GRUCell(8, 5, key=KEY), eqx.nn.LSTMCell(8, 5, key=KEY)

    def cells(x: jax.Array, state: jax.Array) -> Any:
        return attention(x, x, x), gated(x[0], state), long_short(x[0], (state, state))

    assert not faults(cells, rng.standard_normal((4, 8)), rng.standard_normal(5), units=32, whole=True)


def test_an_embedding_and_dropout_with_a_key_give_what_they_give_in_jax(rng: np.random.Generator) -> None:
    table, dropout = eqx.nn.Embedding(10, 3, key=KEY), eqx.nn.Dropout(0.5)

    def drawn(index: jax.Array, x: jax.Array, key: jax.Array) -> Any:
        return table(index), dropout(x, key=key)

    assert not faults(drawn, np.int32(4), rng.standard_normal((4, 8)), KEY)


ACTIVATIONS = (
    "celu elu gelu hard_sigmoid hard_silu hard_tanh leaky_relu log_sigmoid mish relu relu6 selu sigmoid silu "
    "soft_sign softplus sparse_plus squareplus tanh glu log_softmax softmax standardize logsumexp"
).split()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_activations_give_what_they_give_in_jax(dtype: Any) -> None:
    functions: list[Callable[[jax.Array], jax.Array]] = [getattr(jax.nn, name) for name in ACTIVATIONS]
    x = np.linspace(-9, 9, 40, dtype=dtype).reshape(4, 10)
    # GELU of a large negative number is one plus a tangent near -1, and the variance in `standardize` is the
    # difference of two squares: both lose digits.
    assert not faults(lambda x: [fn(x) for fn in functions], x, units=64, whole=True)


def test_a_module_that_holds_arrays_is_verified(rng: np.random.Generator) -> None:
    proto = to_onnx(eqx.nn.Linear(3, 2, key=KEY), rng.standard_normal(3), verify=True)
    assert [entry.name for entry in proto.graph.input] == ["x"]


def test_a_gradient_of_a_small_network_with_pooling_goes_out(rng: np.random.Generator) -> None:
    convolution = single(eqx.nn.Conv2d(1, 2, 3, key=KEY))

    def loss(image: jax.Array) -> jax.Array:
        return jnp.sum(eqx.nn.MaxPool2d(2, 2)(jnp.tanh(convolution(image))) ** 2)

    image = rng.standard_normal((1, 8, 8)).astype(np.float32)
    assert not faults(jax.grad(loss), image, units=64, whole=True)
