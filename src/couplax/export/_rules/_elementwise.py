"""Elementwise arithmetic: one operator each, or the few that match JAX where ONNX's own operator differs."""

from functools import partial
from typing import Any

import numpy as np
from jax import lax

from couplax.export._context import Context
from couplax.export._table import rule_for
from couplax.export._types import type_of

_OPERATORS = {
    "abs": "Abs",
    "add": "Add",
    "ceil": "Ceil",
    "cos": "Cos",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "sin": "Sin",
    "sqrt": "Sqrt",
    "sub": "Sub",
    "tanh": "Tanh",
}
"""Operators that are their primitive, in every dtype."""


def _operator(op_type: str, context: Context, *inputs: Any, accuracy: None = None) -> Any:
    return context.op(op_type, *inputs)


for _primitive, _op_type in _OPERATORS.items():
    rule_for(_primitive, broadcasts=True)(partial(_operator, _op_type))


@rule_for("mul", broadcasts=True)
def _mul(context: Context, left: Any, right: Any, out_dtype: Any = None) -> Any:
    dtype = context.out.dtype
    return context.op("Mul", context.cast(left, dtype), context.cast(right, dtype))


@rule_for("neg", broadcasts=True)
def _neg(context: Context, value: Any) -> Any:
    if context.out.dtype.kind == "u":
        return context.op("Sub", context.like(value, 0), value)
    return context.op("Neg", value)


@rule_for("square", broadcasts=True)
def _square(context: Context, value: Any) -> Any:
    return context.op("Mul", value, value)


@rule_for("one_minus_square", broadcasts=True)
def _one_minus_square(context: Context, value: Any, accuracy: None = None) -> Any:
    one = context.like(value, 1)
    return context.op("Mul", context.op("Sub", one, value), context.op("Add", one, value))


@rule_for("rsqrt", broadcasts=True)
def _rsqrt(context: Context, value: Any, accuracy: None = None) -> Any:
    return context.op("Reciprocal", context.op("Sqrt", value))


@rule_for("logistic", broadcasts=True)
def _logistic(context: Context, value: Any, accuracy: None = None) -> Any:
    # ONNX Runtime's Sigmoid loses all digits for large negative values.
    exponential = context.op("Exp", context.op("Neg", value))
    return context.op("Reciprocal", context.op("Add", context.like(value, 1), exponential))


@rule_for("exp2", broadcasts=True)
def _exp2(context: Context, value: Any, accuracy: None = None) -> Any:
    return context.op("Pow", context.like(value, 2), value)


@rule_for("log2", broadcasts=True)
def _log2(context: Context, value: Any, accuracy: None = None) -> Any:
    return context.op("Div", context.op("Log", value), context.like(value, np.log(2.0)))


@rule_for("pow", broadcasts=True)
def _pow(context: Context, base: Any, exponent: Any) -> Any:
    if context.out.dtype.kind != "f":
        raise context.refuse("a power of integers is not written")
    return context.op("Pow", base, context.cast(exponent, context.out.dtype))


@rule_for("integer_pow", broadcasts=True)
def _integer_pow(context: Context, base: Any, y: int) -> Any:
    power = _by_squaring(context, base, abs(y))
    return power if y >= 0 else context.op("Reciprocal", power)


def _by_squaring(context: Context, base: Any, exponent: int) -> Any:
    result = None
    while exponent:
        if exponent % 2:
            result = base if result is None else context.op("Mul", result, base)
        exponent //= 2
        if exponent:
            base = context.op("Mul", base, base)
    return context.full(context.like(base, 1), type_of(base).shape) if result is None else result


@rule_for("polynomial", broadcasts=True)
def _polynomial(context: Context, value: Any, *coefficients: Any, unroll: Any = None) -> Any:
    """Returns the sum of `coefficients[k] value^k`, by Horner's scheme."""
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = context.op("Add", context.op("Mul", result, value), coefficient)
    return result


def _extremum(op_type: str, logical: str, context: Context, left: Any, right: Any) -> Any:
    return context.op(logical if context.out.dtype == np.bool_ else op_type, left, right)


rule_for("max", broadcasts=True)(partial(_extremum, "Max", "Or"))
rule_for("min", broadcasts=True)(partial(_extremum, "Min", "And"))


@rule_for("sign", broadcasts=True)
def _sign(context: Context, value: Any) -> Any:
    sign = context.op("Sign", value)
    if context.out.dtype.kind != "f":
        return sign
    # JAX keeps -0. and NaN, where ONNX Runtime gives 0.
    zero = context.like(value, 0)
    return context.where(context.op("Greater", context.op("Abs", value), zero, dtype=bool), sign, value)


@rule_for("round", broadcasts=True)
def _round(context: Context, value: Any, rounding_method: Any) -> Any:
    if rounding_method == lax.RoundingMethod.TO_NEAREST_EVEN:
        return context.op("Round", value)
    # Half away from zero, from the exact distance to the floor of the magnitude; x * 0 keeps the sign of a
    # result 0.
    magnitude = context.op("Abs", value)
    floor = context.op("Floor", magnitude)
    half = context.like(value, 0.5)
    is_up = context.op("GreaterOrEqual", context.op("Sub", magnitude, floor), half, dtype=bool)
    rounded = context.op("Add", floor, context.cast(is_up, context.out.dtype))
    zero = context.like(value, 0)
    signed = context.where(context.op("Less", value, zero, dtype=bool), context.op("Neg", rounded), rounded)
    return context.where(
        context.op("Less", magnitude, half, dtype=bool), context.op("Mul", value, zero), signed
    )


@rule_for("is_finite", broadcasts=True)
def _is_finite(context: Context, value: Any) -> Any:
    if context.ins[0].dtype.kind != "f":
        return context.full(context.constant(True), type_of(value).shape)
    return context.op("Less", context.op("Abs", value), context.like(value, np.inf), dtype=bool)


@rule_for("clamp", broadcasts=True)
def _clamp(context: Context, low: Any, value: Any, high: Any) -> Any:
    return context.op("Min", context.op("Max", value, low), high)
