"""Comparisons, logic, bits and selection."""

from functools import partial
from typing import Any

import numpy as np

from couplax.export._context import Context
from couplax.export._table import rule_for
from couplax.export._types import type_of

_COMPARISONS = {
    "eq": "Equal",
    "lt": "Less",
    "le": "LessOrEqual",
    "gt": "Greater",
    "ge": "GreaterOrEqual",
}


def _comparison(op_type: str, context: Context, left: Any, right: Any) -> Any:
    if op_type != "Equal" and context.ins[0].dtype == np.bool_:
        # False before true, compared as numbers.
        left, right = context.cast(left, np.int32), context.cast(right, np.int32)
    return context.op(op_type, left, right, dtype=bool)


for _primitive, _op_type in _COMPARISONS.items():
    rule_for(_primitive, broadcasts=True)(partial(_comparison, _op_type))


@rule_for("ne", broadcasts=True)
def _ne(context: Context, left: Any, right: Any) -> Any:
    return context.op("Not", context.op("Equal", left, right, dtype=bool))


def _logical(logical: str, bitwise: str, context: Context, *inputs: Any) -> Any:
    return context.op(logical if context.out.dtype == np.bool_ else bitwise, *inputs)


for _primitive, _logical_op, _bitwise_op in (
    ("and", "And", "BitwiseAnd"),
    ("or", "Or", "BitwiseOr"),
    ("xor", "Xor", "BitwiseXor"),
    ("not", "Not", "BitwiseNot"),
):
    rule_for(_primitive, broadcasts=True)(partial(_logical, _logical_op, _bitwise_op))


@rule_for("select_n", broadcasts=True)
def _select_n(context: Context, which: Any, *cases: Any) -> Any:
    if len(cases) == 1:
        return cases[0]
    if type_of(which).dtype == np.bool_:
        return _select(context, which, cases[1], cases[0])
    result = cases[-1]
    for index in reversed(range(len(cases) - 1)):
        is_this = context.op("LessOrEqual", which, context.like(which, index), dtype=bool)
        result = _select(context, is_this, cases[index], result)
    return result


def _select(context: Context, condition: Any, true: Any, false: Any) -> Any:
    if context.out.dtype != np.bool_:
        return context.where(condition, true, false)
    return _select_logic(context, condition, true, false)


def _select_logic(context: Context, condition: Any, true: Any, false: Any) -> Any:
    """Returns `(condition and true) or (not condition and false)`, or less where a case is a constant."""
    known_true, known_false = _one_bit(context, true), _one_bit(context, false)
    if known_true is not None:
        other = condition if known_true else context.op("Not", condition)
        return context.op("Or" if known_true else "And", other, false)
    if known_false is not None:
        other = context.op("Not", condition) if known_false else condition
        return context.op("Or" if known_false else "And", other, true)
    chosen = context.op("And", condition, true)
    return context.op("Or", chosen, context.op("And", context.op("Not", condition), false))


def _one_bit(context: Context, value: Any) -> bool | None:
    array = context.known(value)
    return None if array is None or array.size != 1 else bool(array.reshape(()))


def _shift(direction: str, context: Context, value: Any, amount: Any) -> Any:
    """Returns the bits shifted with zeros coming in; zero where the amount is not below the width."""
    dtype = type_of(value).dtype
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    wide = np.dtype("uint32") if dtype.itemsize == 2 else unsigned
    bits = context.cast(context.cast(value, unsigned), wide)
    places = context.cast(context.cast(amount, unsigned), wide)
    width = context.like(places, 8 * dtype.itemsize)
    shifted = context.op("BitShift", bits, places, direction=direction)
    known = context.known(places)
    if known is None or (known >= 8 * dtype.itemsize).any():
        in_range = context.op("Less", places, width, dtype=bool)
        shifted = context.op("Mul", shifted, context.cast(in_range, wide))
    return context.cast(context.cast(shifted, unsigned), dtype)


rule_for("shift_left", broadcasts=True)(partial(_shift, "LEFT"))
rule_for("shift_right_logical", broadcasts=True)(partial(_shift, "RIGHT"))


@rule_for("shift_right_arithmetic", broadcasts=True)
def _shift_right_arithmetic(context: Context, value: Any, amount: Any) -> Any:
    own = type_of(value).dtype
    # JAX reads the bits of an unsigned integer as signed here.
    value = context.cast(value, np.dtype(f"int{8 * own.itemsize}"))
    # Of a negative number the complement is shifted: what comes in is then ones.
    negative = context.op("Less", value, context.like(value, 0), dtype=bool)
    magnitude = context.where(negative, context.op("BitwiseNot", value), value)
    shifted = _shift("RIGHT", context, magnitude, amount)
    return context.cast(context.where(negative, context.op("BitwiseNot", shifted), shifted), own)
