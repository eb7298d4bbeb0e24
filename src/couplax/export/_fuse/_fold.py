"""Nodes on constants alone are computed while the file is written."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._graphs import Editor, all_nodes, constant_of, put_for, remove

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
        value = _value(node)
        if value is not None:
            put_for(node.outputs[0], editor.builder.constant(value))
            remove(node)


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
