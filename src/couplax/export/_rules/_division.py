"""Division and remainder.

ONNX Runtime's integer division by zero raises, and of the smallest integer by -1 ends the process. JAX
defines both: x / 0 is -1 (all bits set), x rem 0 is x, and the division by -1 wraps around.
"""

from typing import Any

import numpy as np

from couplax.export._context import Context
from couplax.export._table import rule_for
from couplax.export._types import type_of


@rule_for("div", broadcasts=True)
def _div(context: Context, left: Any, right: Any) -> Any:
    if context.out.dtype.kind == "f":
        return context.op("Div", left, right)
    quotient = context.op("Div", left, _harmless(context, right))
    if _never(context, right, 0, -1):
        return quotient
    minus_one = context.constant(np.asarray(-1).astype(context.out.dtype))
    if context.out.dtype.kind == "i":
        negated = context.op("Neg", left)
        quotient = context.where(context.op("Equal", right, minus_one, dtype=bool), negated, quotient)
    return context.where(_is_zero(context, right), minus_one, quotient)


@rule_for("rem", broadcasts=True)
def _rem(context: Context, left: Any, right: Any) -> Any:
    if context.out.dtype.kind == "f":
        return context.op("Mod", left, right, fmod=1)
    # Divided by 1, which stands for 0 and -1, the remainder is 0: right for -1.
    remainder = context.op("Mod", left, _harmless(context, right), fmod=1)
    if _never(context, right, 0):
        return remainder
    return context.where(_is_zero(context, right), left, remainder)


def _harmless(context: Context, divisor: Any) -> Any:
    """Returns `divisor` with 1 in place of 0 and -1."""
    if _never(context, divisor, 0, -1):
        return divisor
    one = context.like(divisor, 1)
    if type_of(divisor).dtype.kind == "u":
        return context.where(_is_zero(context, divisor), one, divisor)
    return context.where(_is_zero_or_minus_one(context, divisor), one, divisor)


def _is_zero_or_minus_one(context: Context, value: Any) -> Any:
    minus_one = context.op("Equal", value, context.like(value, -1), dtype=bool)
    return context.op("Or", _is_zero(context, value), minus_one)


def _is_zero(context: Context, value: Any) -> Any:
    return context.op("Equal", value, context.like(value, 0), dtype=bool)


def _never(context: Context, value: Any, *numbers: int) -> bool:
    array = context.known(value)
    return (
        array is not None
        and not np.isin(array, [number for number in numbers if number >= 0 or array.dtype.kind == "i"]).any()
    )
