"""Right-hand sides as nodes, with the constants that they read."""

from itertools import pairwise
from typing import Any

import numpy as np

STEP = 0.01


def number(value: float) -> Any:
    """Returns a number as a matrix."""
    return np.array([[value]], np.float32)


LORENZ_MATRICES = {
    "left": np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], np.float32),
    "right": np.array([[0, 0, 0], [0, 0, 1], [0, -1, 0]], np.float32),
    "added": np.array([[0, 28, 0]], np.float32),
    "linear": np.array([[-10, 0, 0], [10, -1, 0], [0, 0, -8 / 3]], np.float32),
}


def layers() -> list[tuple[Any, Any]]:
    """Returns the weights of the network, inputs by outputs, and its biases."""
    rng, sizes = np.random.default_rng(0), (2, 64, 64, 2)
    pairs = pairwise(sizes)
    return [
        (
            (rng.normal(size=(n, m)) / np.sqrt(n)).astype(np.float32),
            rng.normal(size=m).astype(np.float32) / 10,
        )
        for n, m in pairs
    ]


def lorenz(y: str, k: str) -> str:
    """Returns the nodes of the slope `k` of Lorenz' system at the row `y`."""
    return f"""
        {k}_left = MatMul ({y}, left)
        {k}_right = Gemm ({y}, right, added)
        {k}_product = Mul ({k}_left, {k}_right)
        {k} = Gemm ({y}, linear, {k}_product)"""


def network(y: str, k: str) -> str:
    """Returns those of the network."""
    return f"""
        {k}_1 = Gemm ({y}, weight_0, bias_0)
        {k}_2 = Tanh ({k}_1)
        {k}_3 = Gemm ({k}_2, weight_1, bias_1)
        {k}_4 = Tanh ({k}_3)
        {k} = Gemm ({k}_4, weight_2, bias_2)"""


NETWORK_ARRAYS = {
    f"{name}_{index}": array
    for index, layer in enumerate(layers())
    for name, array in zip(("weight", "bias"), layer, strict=True)
}

REACTION_ARRAYS = {
    "kernel": np.array([[[0.1, -0.2, 0.1]]], np.float32),
    "one": number(1),
    "threshold": number(0.3),
    "first": np.array([0]),
    "second": np.array([1]),
    "last": np.array([-1]),
    "behind": np.array([1000]),
    "axis": np.array([1]),
    "signal": np.array([1, 1, 1002]),
    "row": np.array([1, 1000]),
}


def reaction(u: str, k: str) -> str:
    """Returns those of the reaction that spreads, at the row `u`."""
    return f"""
        {k}_last = Slice ({u}, last, behind, axis)
        {k}_first = Slice ({u}, first, second, axis)
        {k}_ring = Concat <axis = 1> ({k}_last, {u}, {k}_first)
        {k}_signal = Reshape ({k}_ring, signal)
        {k}_conv = Conv ({k}_signal, kernel)
        {k}_spread = Reshape ({k}_conv, row)
        {k}_rest = Sub (one, {u})
        {k}_above = Sub ({u}, threshold)
        {k}_once = Mul ({u}, {k}_rest)
        {k}_twice = Mul ({k}_once, {k}_above)
        {k} = Add ({k}_spread, {k}_twice)"""
