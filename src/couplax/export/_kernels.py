"""What ONNX Runtime's CPU kernels take, as measured on ONNX Runtime 1.32, and how old operators are."""

from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np

LOWEST_OPSET = 18
"""The oldest opset that couplax writes: reductions take their axes as an input from here on."""

SINCE: Mapping[str, int] = {"BitCast": 26}
"""Operators newer than `LOWEST_OPSET`."""

_NUMBERS = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
_SUMS = "float16 float32 float64 int32 int64"
_ORDERED = "float16 float32 float64 int8 int32 int64 uint8"

KERNELS: Mapping[str, frozenset[str]] = {
    op: frozenset(dtypes.split())
    for ops, dtypes in {
        "Abs Add Sub Mul Div Mod Less Greater LessOrEqual GreaterOrEqual Sign": _NUMBERS,
        "Equal": f"{_NUMBERS} bool",
        "Neg": "float16 float32 float64 int8 int16 int32 int64",
        "Ceil Floor Round Exp Log Sin Cos Sqrt Reciprocal Tanh IsNaN": "float16 float32 float64",
        "IsInf": "float32 float64",
        "Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf": "float32",
        "Max Min": "float16 float32 float64 int8 int32 int64 uint8 uint32 uint64",
        "Pow": "float32 float64",
        "MatMul": "float32 float64 int32 int64 uint32 uint64",
        "ReduceSum CumSum": _SUMS,
        "ReduceMax ReduceMin ArgMax ArgMin": _ORDERED,
        "ReduceProd": "float16 float32 float64",
        "TopK": _ORDERED,
        "Where": f"{_ORDERED} uint32",
        "BitShift": "uint8 uint32 uint64",
        "Pad": "float16 float32 float64 int8 int32 int64 uint8 uint32 uint64 bool",
        "Expand": f"{_NUMBERS} bool",
    }.items()
    for op in ops.split()
}
"""The dtypes that an operator has a kernel for; one not listed takes every dtype it is defined for."""

_CARRIERS: Mapping[str, Sequence[str]] = {
    "bool": ("uint8", "int32"),
    "int8": ("int32",),
    "uint8": ("int32", "uint32"),
    "int16": ("int32",),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64",),
    "bfloat16": ("float32",),
    "float16": ("float32",),
}
"""Dtypes that hold every value of a narrower one, the cheapest first."""

# Modulo 2^64 the two 64-bit integers add and multiply alike; they are ordered differently.
_WRAPPING = frozenset({"ReduceSum", "CumSum", "Where"})


def carrier(op_type: str, dtype: np.dtype) -> np.dtype | None:
    """Returns the dtype in which ONNX Runtime runs `op_type` on `dtype` exactly; None where there is none."""
    known = KERNELS.get(op_type)
    if known is None or dtype.name in known:
        return dtype
    wider = ("int64",) if dtype.name == "uint64" and op_type in _WRAPPING else _CARRIERS.get(dtype.name, ())
    found = next((name for name in wider if name in known), None)
    return None if found is None else np.dtype(ml_dtypes.bfloat16 if found == "bfloat16" else found)
