"""What the tests of rewritten loops share: a file run as it is, its operators, and two steps to rewrite."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime

from couplax.export import to_onnx


def inner_graphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """Returns the graphs in the attributes of a node."""
    return [each.g for each in node.attribute if each.type == onnx.AttributeProto.GRAPH]


def bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yields the graphs inside a graph, without loops that are run again for what is not finite."""
    for node in graph.node:
        for inner in inner_graphs(node) if not is_rerun(node) else ():
            yield inner
            yield from bodies(inner)


def is_rerun(node: onnx.NodeProto) -> bool:
    """Returns whether `node` runs a loop again where a number was not finite."""
    return node.op_type == "If" and node.name.startswith("if_finite")


def operators(proto: onnx.ModelProto) -> Counter[str]:
    """Returns how often the graphs inside the file's own use each operator."""
    return Counter(node.op_type for body in bodies(proto.graph) for node in body.node)


def runs(proto: onnx.ModelProto, *args: Any) -> list[np.ndarray]:
    """Returns what ONNX Runtime gives, with all that it fuses by itself."""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    given = dict(zip(names, map(np.asarray, jax.tree.leaves(args)), strict=True))
    return [np.asarray(output) for output in session.run(None, given)]


def fused(fn: Callable[..., Any], *args: Any) -> Counter[str]:
    """Returns the operators inside the loops of `fn`, whose numbers at `args` are JAX's."""
    proto = to_onnx(fn, *args, verify=False)
    for came, wanted in zip(runs(proto, *args), jax.tree.leaves(jax.jit(fn)(*args)), strict=True):
        # Products and sums are rounded at once in one of the two: a few units in the last place a step.
        rtol = 1e-4 if wanted.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(came, wanted, rtol=rtol, atol=rtol)
        assert (came.dtype, came.shape) == (wanted.dtype, wanted.shape)
    return operators(proto)


def rk4(field: Callable[[Any], Any], y: Any, h: float) -> Any:
    """Returns `y` after a step of the classical Runge-Kutta method."""
    k_1 = field(y)
    k_2 = field(y + h / 2 * k_1)
    k_3 = field(y + h / 2 * k_2)
    k_4 = field(y + h * k_3)
    return y + h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)


def lorenz(y: Any) -> Any:
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


START = np.array([1.0, 0.5, 20.0])
