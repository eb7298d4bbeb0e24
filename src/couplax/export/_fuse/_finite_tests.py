"""Tests of numbers for NaN, which are decided where all numbers are finite, and what reads them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._graphs import FUSED_DTYPES, Editor, constant_of, has_shape, put_for, remove
from couplax.export._types import type_of

Tables = Mapping[int, np.ndarray]
"""The constants that a loop cuts into slices, by the `id` of the slice in its body."""

FiniteRule = Callable[[Editor, ir.Node, Tables], list[ir.Value] | None]
"""Rewrites a node; returns the values that have to be finite for it, or None where it does not fit."""


def is_itself(editor: Editor, node: ir.Node, _: Tables) -> list[ir.Value] | None:
    """Decides whether a value equals itself, as all do but NaN."""
    value, other = node.inputs
    if value is None or value is not other or type_of(value).dtype.name not in FUSED_DTYPES:
        return None
    return [value] if _decided(editor, node, True) else None


def is_decided(editor: Editor, node: ir.Node, _: Tables) -> list[ir.Value] | None:
    """Decides what reads a truth that is the same everywhere."""
    truth = _truth(node.inputs[0])
    if truth is None:
        return None
    return [] if _decided(editor, node, truth ^ (node.op_type == "Not")) else None


def is_chosen(_: Editor, node: ir.Node, __: Tables) -> list[ir.Value] | None:
    """Takes the one of two values that a truth chooses."""
    truth, output = _truth(node.inputs[0]), node.outputs[0]
    taken = node.inputs[1 if truth else 2]
    if truth is None or taken is None or output.is_graph_output() or type_of(taken) != type_of(output):
        return None
    output.replace_all_uses_with(taken)
    remove(node)
    return []


def _truth(value: ir.Value | None) -> bool | None:
    """Returns the truth that stands everywhere in a constant, as a boolean or as 0 or 1; None for others."""
    array = constant_of(value)
    if array is None or array.dtype.kind not in "biu" or not array.size or (array != array.flat[0]).any():
        return None
    return bool(array.flat[0]) if array.flat[0] in (0, 1) else None


def _decided(editor: Editor, node: ir.Node, truth: Any) -> bool:
    """Returns whether a constant stands for what `node` gives now."""
    output = node.outputs[0]
    if output.is_graph_output() or not has_shape(output) or type_of(output).dtype.kind not in "biu":
        return False
    put_for(output, editor.builder.constant(np.full(type_of(output).shape, truth, type_of(output).dtype)))
    remove(node)
    return True


TEST_RULES: Mapping[str, FiniteRule] = {
    "Cast": is_decided,
    "Equal": is_itself,
    "Not": is_decided,
    "ReduceMax": is_decided,
    "Where": is_chosen,
}
"""The rules for tests, by operator."""
