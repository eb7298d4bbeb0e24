"""Products of arrays."""

from collections.abc import Sequence
from typing import Any

from couplax.export._context import Context
from couplax.export._table import rule_for
from couplax.export._types import count_of, type_of

Axes = Sequence[int]


@rule_for("dot_general")
def _dot_general(
    context: Context,
    left: Any,
    right: Any,
    dimension_numbers: tuple[tuple[Axes, Axes], tuple[Axes, Axes]],
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """Returns one matrix product: batch axes first, contracted axes merged, free axes merged."""
    dtype = context.out.dtype
    left, right = context.cast(left, dtype), context.cast(right, dtype)
    (left_summed, right_summed), (left_batch, right_batch) = dimension_numbers
    left_free, right_free = _rest(left, left_summed, left_batch), _rest(right, right_summed, right_batch)
    if not left_summed and not left_batch and not (left_free and right_free):
        return context.full(context.op("Mul", left, right), context.out.shape)
    rows = _merged(context, left, left_batch, left_free, left_summed)
    columns = _merged(context, right, right_batch, right_summed, right_free)
    if not left_batch:
        rows, columns = _as_vectors(context, rows, columns, left_free, right_free)
    return context.reshape(_product(context, rows, columns), context.out.shape)


def _rest(value: Any, summed: Axes, batch: Axes) -> list[int]:
    return [axis for axis in range(len(type_of(value).shape)) if axis not in (*summed, *batch)]


def _merged(context: Context, value: Any, batch: Axes, first: Axes, second: Axes) -> Any:
    """Returns `value` with its axes in three groups: batch axes as they are, the others merged into one."""
    value = context.transpose(value, [*batch, *first, *second])
    sizes = type_of(value).shape
    count, middle = len(batch), len(batch) + len(first)
    return context.reshape(value, [*sizes[:count], count_of(sizes[count:middle]), count_of(sizes[middle:])])


def _as_vectors(
    context: Context, rows: Any, columns: Any, left_free: Axes, right_free: Axes
) -> tuple[Any, Any]:
    """Returns the factors, a side without free axes as a vector: so the product needs no reshape."""
    if not left_free:
        rows = context.reshape(rows, type_of(rows).shape[1:])
    if not right_free:
        columns = context.reshape(columns, type_of(columns).shape[:1])
    return rows, columns


def _product(context: Context, rows: Any, columns: Any) -> Any:
    left, right = list(type_of(rows).shape), list(type_of(columns).shape)
    shape = [*left[:-1], *(right[-1:] if len(right) > 1 else [])]
    if left[-1] == 0:
        return context.full(context.like(rows, 0), shape)
    if len(right) == 1 and len(left) == 2 and context.known(rows) is not None:
        # A constant on the right is packed once, when the file is loaded: twice as fast for a vector.
        rows, columns = columns, context.transpose(rows, [1, 0])
    producer = rows.producer()
    if len(right) == 1 and len(left) == 2 and producer is not None and producer.op_type == "Transpose":
        # ONNX Runtime (1.32 and before) fuses a transpose and a product with a vector into a wrong one; the
        # same product the other way round needs no transpose.
        rows, columns = columns, producer.inputs[0]
    return context.op("MatMul", rows, columns, shape=shape)
