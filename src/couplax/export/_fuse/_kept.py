"""Where a number that is not finite is still to be seen after everything that is done with it."""

from collections.abc import Sequence

import onnx_ir as ir

from couplax.export._fuse._graphs import FUSED_DTYPES, has_shape, rank
from couplax.export._types import type_of

KEEPING = frozenset("Add Concat Gemm Identity MatMul Mul Neg ReduceSum Reshape Sub".split())
"""Operators that give something that is not finite wherever they read something that is not."""


def kept_in(value: ir.Value) -> set[int]:
    """Returns the `id`s of the values that leave in `value` what they have that is not finite."""
    found, waiting = {id(value)}, [value]
    while waiting:
        maker = waiting.pop().producer()
        if maker is None or maker.graph is not value.graph or maker.op_type not in KEEPING:
            continue
        for each in maker.inputs:
            if each is not None and each.const_value is None and id(each) not in found:
                found.add(id(each))
                waiting.append(each)
    return found


def chosen(candidates: Sequence[ir.Value], touched: Sequence[ir.Value], most: int) -> list[ir.Value] | None:
    """Returns few of `candidates` in which all of `touched` are kept; None where `most` do not do."""
    kept = [(value, kept_in(value)) for value in candidates]
    missing, taken = set(map(id, touched)), list[ir.Value]()
    while missing and len(taken) < most:
        value, most_kept = max(kept, key=lambda each: len(each[1] & missing), default=(None, set[int]()))
        if value is None or not most_kept & missing:
            return None
        missing -= most_kept
        taken.append(value)
    return None if missing else taken


def is_checkable(value: ir.Value) -> bool:
    """Returns whether one product tells whether all of `value` is finite."""
    return has_shape(value) and rank(value) in (1, 2) and type_of(value).dtype.name in FUSED_DTYPES


def sinks(body: ir.Graph) -> list[ir.Value]:
    """Returns the values of `body` behind which something is lost."""
    made = [output for node in body if node.op_type in KEEPING for output in node.outputs]
    return [value for value in made if is_checkable(value) and _is_sink(value, body)]


def _is_sink(value: ir.Value, body: ir.Graph) -> bool:
    users = [user for user, _ in value.uses()]
    return any(user.op_type not in KEEPING or user.graph is not body for user in users) or not users
