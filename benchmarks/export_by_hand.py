"""Programs of `export_programs.py` as graphs written by hand, with as few and as cheap nodes as we could.

A loop carries a row. `y + c k` is one `Gemm`. Lorenz' system is one product of two `Gemm`s and another
`Gemm`, which couplax does not write where a NaN of one number would spread to the others by it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import onnx

STEP = 0.01

Arrays = Mapping[str, Any]


def _number(value: float) -> Any:
    return np.array([[value]], np.float32)


WEIGHTS = {"half": _number(STEP / 2), "whole": _number(STEP), "two": _number(2), "sixth": _number(STEP / 6)}

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


def _lorenz(y: str, k: str) -> str:
    return f"""
        {k}_left = MatMul ({y}, left)
        {k}_right = Gemm ({y}, right, added)
        {k}_product = Mul ({k}_left, {k}_right)
        {k} = Gemm ({y}, linear, {k}_product)"""


def _network(y: str, k: str) -> str:
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
    "one": _number(1),
    "threshold": _number(0.3),
    "first": np.array([0]),
    "second": np.array([1]),
    "last": np.array([-1]),
    "behind": np.array([1000]),
    "axis": np.array([1]),
    "signal": np.array([1, 1, 1002]),
    "row": np.array([1, 1000]),
}


def _reaction(u: str, k: str) -> str:
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


def _rk4(slope: Callable[[str, str], str]) -> str:
    return f"""{slope("y", "k_1")}
        y_2 = Gemm (half, k_1, y){slope("y_2", "k_2")}
        y_3 = Gemm (half, k_2, y){slope("y_3", "k_3")}
        y_4 = Gemm (whole, k_3, y){slope("y_4", "k_4")}
        sum_2 = Gemm (two, k_2, k_1)
        sum_3 = Gemm (two, k_3, sum_2)
        sum_4 = Add (sum_3, k_4)
        next = Gemm (sixth, sum_4, y)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """A loop of Runge-Kutta steps.

    Attributes:
        slope: from the names of a row and of its slope to the nodes that compute it.
        arrays: the constants that these nodes read.
        stacked: whether it gives all steps, not the last alone.
    """

    slope: Callable[[str, str], str]
    size: int
    trips: int
    arrays: Arrays = field(default_factory=dict[str, Any])
    stacked: bool = False

    def model(self) -> onnx.ModelProto:
        """Returns the model."""
        given = "all" if self.stacked else "end"
        model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 18]>
        by_hand (float[{self.size}] start) => (float[{"N, " * self.stacked}{self.size}] out) {{
            begin = Reshape (start, as_row)
            end{", all" * self.stacked} = Loop (trips, "", begin) <body = step
                (int64 trip, bool goes, float[1, {self.size}] y)
                => (bool goes_on, float[1, {self.size}] next{", float[1, n] kept" * self.stacked}) {{
                {_rk4(self.slope)}
                goes_on = Identity (goes)
                {"kept = Identity (next)" * self.stacked}
            }}>
            out = Reshape ({given}, as_given)
        }}""")
        shape = [-1, self.size] if self.stacked else [self.size]
        ends = {
            "trips": np.array(self.trips),
            "as_row": np.array([1, self.size]),
            "as_given": np.array(shape),
        }
        for name, array in {**WEIGHTS, **self.arrays, **ends}.items():
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
        onnx.checker.check_model(model, full_check=True)
        return model


LORENZ = ByHand(slope=_lorenz, size=3, trips=1000, arrays=LORENZ_MATRICES)
LORENZ_STACKED = ByHand(slope=_lorenz, size=3, trips=1000, arrays=LORENZ_MATRICES, stacked=True)
REACTION = ByHand(slope=_reaction, size=1000, trips=1000, arrays=REACTION_ARRAYS)
NETWORK = ByHand(slope=_network, size=2, trips=100, arrays=NETWORK_ARRAYS)
