"""Reductions over axes, the places of extremes, and running sums."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from couplax.export._context import Context
from couplax.export._rules._order import as_ordered, from_ordered
from couplax.export._rules._shape import concatenate, cut
from couplax.export._table import OnnxRule, rule_for
from couplax.export._types import type_of


def reduce(context: Context, op_type: str, value: Any, axes: Sequence[int], *, keep: bool = False) -> Any:
    """Returns `value` reduced over `axes`, which stay with size 1 where `keep`."""
    sizes = type_of(value).shape
    kept = [1 if axis in axes else size for axis, size in enumerate(sizes)]
    shape = kept if keep else [size for axis, size in enumerate(sizes) if axis not in axes]
    if all(sizes[axis] == 1 for axis in axes):
        return context.reshape(value, shape)
    places = context.constant([int(axis) for axis in axes], np.int64)
    return context.op(op_type, value, places, shape=shape, keepdims=int(keep))


def _is_empty(context: Context, axes: Sequence[int]) -> bool:
    return any(context.ins[0].shape[axis] == 0 for axis in axes)


def _everywhere(context: Context, number: Any) -> Any:
    return context.full(context.constant(number, context.out.dtype), context.out.shape)


@rule_for("reduce_sum")
def _reduce_sum(context: Context, value: Any, axes: Sequence[int], out_sharding: None = None) -> Any:
    if _is_empty(context, axes):
        return _everywhere(context, 0)
    return reduce(context, "ReduceSum", value, axes)


@rule_for("reduce_prod")
def _reduce_prod(context: Context, value: Any, axes: Sequence[int]) -> Any:
    if _is_empty(context, axes):
        return _everywhere(context, 1)
    if jnp.issubdtype(context.out.dtype, jnp.floating):
        return reduce(context, "ReduceProd", value, axes)
    # ONNX Runtime's own product of integers does not wrap around.
    return _by_halves("Mul", context, value, axes)


def _by_halves(op_type: str, context: Context, value: Any, axes: Sequence[int]) -> Any:
    """Returns `value` reduced by an operator of two inputs, first half against second."""
    for axis in axes:
        while (size := type_of(value).shape[axis]) > 1:
            half = size // 2
            first, second, odd = (_part(context, value, axis, *ends) for ends in _halves(size, half))
            value = concatenate(context, [context.op(op_type, first, second), odd], axis)
    return context.reshape(value, context.out.shape)


def _halves(size: int, half: int) -> Sequence[tuple[int, int]]:
    return (0, half), (half, 2 * half), (2 * half, size)


def _part(context: Context, value: Any, axis: int, start: int, limit: int) -> Any:
    sizes = type_of(value).shape
    starts = [start if k == axis else 0 for k in range(len(sizes))]
    limits = [limit if k == axis else size for k, size in enumerate(sizes)]
    return cut(context, value, starts, limits, [1] * len(sizes))


def _extreme(
    op_type: str, context: Context, value: Any, axes: Sequence[int], out_sharding: None = None
) -> Any:
    dtype = context.out.dtype
    if _is_empty(context, axes):
        return _everywhere(context, _end_of_range(dtype, low=op_type == "ReduceMax"))
    if dtype == np.bool_:
        return _any_or_all(op_type, context, value, axes)
    result = from_ordered(context, reduce(context, op_type, as_ordered(context, value), axes), dtype)
    if not jnp.issubdtype(dtype, jnp.floating):
        return result
    # ONNX Runtime passes over NaN, JAX gives it.
    return context.where(_any_nan(context, value, axes), context.constant(np.nan, dtype), result)


def _end_of_range(dtype: np.dtype, *, low: bool) -> Any:
    if jnp.issubdtype(dtype, jnp.floating):
        return -np.inf if low else np.inf
    if dtype == np.bool_:
        return not low
    return np.iinfo(dtype).min if low else np.iinfo(dtype).max


def _any_nan(context: Context, value: Any, axes: Sequence[int], *, keep: bool = False) -> Any:
    return _any(context, context.op("IsNaN", value, dtype=bool), axes, keep=keep)


def _any(context: Context, flags: Any, axes: Sequence[int], *, keep: bool = False) -> Any:
    # The operator itself takes booleans since opset 20; as bytes it takes them in every opset.
    return context.cast(reduce(context, "ReduceMax", context.cast(flags, np.uint8), axes, keep=keep), bool)


rule_for("reduce_max")(partial(_extreme, "ReduceMax"))
rule_for("reduce_min")(partial(_extreme, "ReduceMin"))


def _any_or_all(op_type: str, context: Context, value: Any, axes: Sequence[int]) -> Any:
    if _is_empty(context, axes):
        return _everywhere(context, op_type == "ReduceMin")
    if all(context.ins[0].shape[axis] == 1 for axis in axes):
        return context.reshape(value, context.out.shape)
    return context.cast(reduce(context, op_type, context.cast(value, np.uint8), axes), bool)


def _bitwise(of_flags: OnnxRule, op_type: str, context: Context, value: Any, axes: Sequence[int]) -> Any:
    """Returns flags reduced by `of_flags`, and integers bit by bit."""
    dtype = context.out.dtype
    if dtype == np.bool_:
        return of_flags(context, value, axes)
    if _is_empty(context, axes):
        return _everywhere(context, ~dtype.type(0) if op_type == "BitwiseAnd" else 0)
    return _by_halves(op_type, context, value, axes)


def _is_odd(context: Context, flags: Any, axes: Sequence[int]) -> Any:
    """Returns whether the number of true `flags` is odd."""
    if _is_empty(context, axes):
        return _everywhere(context, False)
    return _by_halves("Xor", context, flags, axes)


rule_for("reduce_or")(partial(_bitwise, partial(_any_or_all, "ReduceMax"), "BitwiseOr"))
rule_for("reduce_and")(partial(_bitwise, partial(_any_or_all, "ReduceMin"), "BitwiseAnd"))
rule_for("reduce_xor")(partial(_bitwise, _is_odd, "BitwiseXor"))


def _place(op_type: str, context: Context, value: Any, axes: Sequence[int], index_dtype: Any) -> Any:
    """Returns where the extreme first stands; a NaN counts as more extreme than any number, as in JAX."""
    (axis,) = axes
    dtype = type_of(value).dtype
    if dtype == np.bool_:
        value = context.cast(value, np.uint8)
    elif jnp.issubdtype(dtype, jnp.floating):
        value = _nan_as_extreme(op_type, context, value, axes)
    value = as_ordered(context, value)
    found = context.op(op_type, value, dtype=np.int64, shape=context.out.shape, axis=int(axis), keepdims=0)
    return context.cast(found, index_dtype)


def _nan_as_extreme(op_type: str, context: Context, value: Any, axes: Sequence[int]) -> Any:
    is_nan = context.op("IsNaN", value, dtype=bool)
    marks = context.cast(is_nan, type_of(value).dtype)
    marks = marks if op_type == "ArgMax" else context.op("Neg", marks)
    return context.where(_any(context, is_nan, axes, keep=True), marks, value)


rule_for("argmax")(partial(_place, "ArgMax"))
rule_for("argmin")(partial(_place, "ArgMin"))


@rule_for("cumsum")
def _cumsum(context: Context, value: Any, axis: int, reverse: bool) -> Any:
    return context.op(
        "CumSum", value, context.constant(axis, np.int64), shape=context.out.shape, reverse=int(reverse)
    )
