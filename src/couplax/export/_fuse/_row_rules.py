"""How operators on numbers and vectors run on matrices of one row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import onnx_ir as ir

from couplax.export._fuse._graphs import Editor, constant_of, has_shape, rank
from couplax.export._types import type_of

ELEMENTWISE = frozenset(
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitCast BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast "
    "Ceil Cos Cosh Div Equal Erf Exp Floor Greater GreaterOrEqual Identity IsInf IsNaN Less LessOrEqual Log "
    "Max Min Mod Mul Neg Not Or Pow Reciprocal Round Sign Sin Sinh Sqrt Sub Tan Tanh Where Xor".split()
)
"""Operators that take rows as they are: shapes broadcast from the right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRule:
    """How an operator is written on rows.

    Attributes:
        serves: whether the node is of the kind that the rule writes.
        change: changes the node, whose vectors are rows by then.
        only_first: whether its first input alone is a row; otherwise all are.
    """

    serves: Callable[[ir.Node], bool]
    change: Callable[[Editor, ir.Node], None]
    only_first: bool = True

    def count(self, node: ir.Node) -> int:
        """Returns how many inputs, from the first on, are rows."""
        return 1 if self.only_first else len(node.inputs)


def takes_any_form(node: ir.Node) -> bool:
    """Returns whether `node` gives the same for a vector and for a row."""
    return (
        node.op_type == "Reshape"
        and constant_of(node.inputs[1]) is not None
        and not _is_flat(node.outputs[0])
    )


def _is_flat(value: ir.Value) -> bool:
    """Returns whether `value` is a number, a vector or a row."""
    return has_shape(value) and (rank(value) < 2 or (rank(value) == 2 and type_of(value).shape[0] == 1))


def _is_vector_first(node: ir.Node) -> bool:
    return rank(node.inputs[0]) == 1


def _along_rows(_: Editor, node: ir.Node) -> None:
    node.attributes["axis"] = ir.AttrInt64("axis", 1)


def _has_known_index(node: ir.Node) -> bool:
    return _is_vector_first(node) and constant_of(node.inputs[1]) is not None and rank(node.inputs[1]) < 2


def _gather(editor: Editor, node: ir.Node) -> None:
    index = constant_of(node.inputs[1])
    if index is not None:
        node.replace_input_with(1, editor.integers(index.reshape(-1).tolist()))
    _along_rows(editor, node)


def _has_known_axes(node: ir.Node) -> bool:
    return _is_vector_first(node) and len(node.inputs) > 3 and constant_of(node.inputs[3]) is not None


def _slice(editor: Editor, node: ir.Node) -> None:
    node.replace_input_with(3, editor.integers([1]))


def _reduces_all(node: ir.Node) -> bool:
    return _is_vector_first(node) and len(node.inputs) == 2 and constant_of(node.inputs[1]) is not None


def _reduce(editor: Editor, node: ir.Node) -> None:
    node.replace_input_with(1, editor.integers([1]))
    node.attributes["keepdims"] = ir.AttrInt64("keepdims", 1)


def _is_vector_by_matrix(node: ir.Node) -> bool:
    return _is_vector_first(node) and rank(node.inputs[1]) == 2


def _as_it_is(_: Editor, __: ir.Node) -> None:
    """Changes nothing: that the inputs are rows is enough."""


def _is_flat_on_both_sides(node: ir.Node) -> bool:
    return rank(node.inputs[0]) < 2 and _is_flat(node.outputs[0])


def _vanish(editor: Editor, node: ir.Node) -> None:
    """Lets what reads the node read its input; what a graph gives must be made there, and is made a row."""
    value, output, graph = node.inputs[0], node.outputs[0], node.graph
    if value is None or graph is None or output.is_graph_output():
        node.replace_input_with(1, editor.integers(list(type_of(output).shape)))
        return
    output.replace_all_uses_with(value)
    graph.remove(node, safe=True)


_REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")

ROW_RULES: Mapping[str, RowRule] = {
    "Concat": RowRule(serves=_is_vector_first, change=_along_rows, only_first=False),
    "Gather": RowRule(serves=_has_known_index, change=_gather),
    "MatMul": RowRule(serves=_is_vector_by_matrix, change=_as_it_is),
    "Reshape": RowRule(serves=_is_flat_on_both_sides, change=_vanish),
    "Slice": RowRule(serves=_has_known_axes, change=_slice),
    "Split": RowRule(serves=_is_vector_first, change=_along_rows),
    **{name: RowRule(serves=_reduces_all, change=_reduce) for name in _REDUCTIONS},
}
