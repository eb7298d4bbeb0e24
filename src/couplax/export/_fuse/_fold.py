"""Nodes on constants alone are computed while the file is written; a product with one is no node."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._graphs import Editor, all_nodes, constant_of, has_shape, put_for, remove
from couplax.export._types import type_of

FOLDED: Mapping[str, Callable[..., Any]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Not": np.logical_not,
    "Or": np.logical_or,
    "Sub": np.subtract,
}
"""Operators that numpy computes to the same bits."""

_LARGEST = 1024
"""What is larger stays a node: the file would grow."""


def fold_constants(editor: Editor, graph: ir.Graph) -> None:
    """Puts constants for the nodes of `graph`, and of the graphs inside it, that read constants alone."""
    for node in list(all_nodes(graph)):
        same, value = _unchanged(node), _value(node)
        if same is not None:
            node.outputs[0].replace_all_uses_with(same)
            remove(node)
        elif value is not None:
            put_for(node.outputs[0], editor.builder.constant(value))
            remove(node)


def _unchanged(node: ir.Node) -> ir.Value | None:
    """Returns the value that `node` multiplies by one; None where it does something else."""
    if node.op_type != "Mul" or node.outputs[0].is_graph_output() or not has_shape(node.outputs[0]):
        return None
    for value, factor in (tuple(node.inputs), tuple(node.inputs)[::-1]):
        array = constant_of(factor)
        if value is not None and array is not None and array.size == 1 and array.flat[0] == 1:
            return value if has_shape(value) and type_of(value) == type_of(node.outputs[0]) else None
    return None


def _value(node: ir.Node) -> np.ndarray | None:
    """Returns what `node` gives; None where that is not known or not small, or a graph gives it."""
    compute, arrays = FOLDED.get(node.op_type), [constant_of(value) for value in node.inputs]
    if compute is None or node.outputs[0].is_graph_output():
        return None
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays) or prod(np.broadcast_shapes(*(each.shape for each in known))) > _LARGEST:
        return None
    with np.errstate(all="ignore"):
        return np.asarray(compute(*known))
