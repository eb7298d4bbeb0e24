"""What may be rewritten where all numbers are finite, and else may not: each a rule on a node.

A rule gives the values that flow into nothing any more as they did; the caller sees to it that they are
looked at.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._elements import Elements, elements_of
from couplax.export._fuse._finite_tests import TEST_RULES, FiniteRule, Tables
from couplax.export._fuse._graphs import (
    FUSED_DTYPES,
    Editor,
    constant_of,
    forget,
    is_unread,
    put_for,
    rank,
    remove,
)
from couplax.export._fuse._mixtures import Mixture, TooDeepError
from couplax.export._types import TensorType, type_of


def mix_elements(editor: Editor, node: ir.Node, _: Tables) -> list[ir.Value] | None:
    """Computes the elements that `node` puts into a row by products of rows, where these are fewer nodes."""
    found = elements_of(node)
    if found is None:
        return None
    mixture = Mixture(editor, found.row)
    row = _mixed(mixture, found, node)
    if row is None:
        forget(*mixture.nodes)
        return None
    for made in mixture.nodes:
        node.prepend(made)
    put_for(node.outputs[0], row)
    remove(node)
    for each in reversed(found.nodes):
        remove(each if each.graph is not None and is_unread(each) else None)
    return [row]


def _mixed(mixture: Mixture, found: Elements, node: ir.Node) -> ir.Value | None:
    """Returns the row that `mixture` writes; None where that takes no fewer nodes."""
    try:
        row = mixture.written(tuple(found.terms))
    except TooDeepError:
        return None
    return row if 0 < len(mixture.nodes) < _spared(node, found.nodes) else None


def _spared(node: ir.Node, nodes: Sequence[ir.Node]) -> int:
    """Returns how many nodes go with `node`: those whose readers all go, the takers of elements as one."""
    going, gathers = {node}, 0
    for each in dict.fromkeys(nodes):
        if each.op_type == "Gather":
            gathers = 1
        elif all(user in going for user, _ in each.outputs[0].uses()):
            going.add(each)
    return len(going) + gathers


def drop_zero_weights(editor: Editor, node: ir.Node, tables: Tables) -> list[ir.Value] | None:
    """Leaves rows of weight zero out of a product of weights and of rows below each other."""
    weights, rows = constant_of(node.inputs[0]), _rows(node.inputs[1])
    if weights is None or rows is None or weights.shape[-1] != len(rows):
        return None
    kept = [index for index in range(len(rows)) if weights[..., index].any()]
    if not kept or len(kept) == len(rows):
        return None
    held = rows[kept[0]] if len(kept) == 1 else _stacked(editor, [rows[index] for index in kept], node)
    node.replace_input_with(0, editor.builder.constant(weights[..., kept]))
    node.replace_input_with(1, held)
    return [_bare(row, tables) for index, row in enumerate(rows) if index not in kept]


def scale_at_once(editor: Editor, node: ir.Node, _: Tables) -> list[ir.Value] | None:
    """Writes a weight times `c k` as `w (c k)`, which one `Gemm` adds to a row, whoever else reads `c k`."""
    weight, scaled = constant_of(node.inputs[0]), _scaled(node.inputs[1])
    if weight is None or weight.size != 1 or scaled is None or not _are_added(node):
        return None
    if weight != weight.astype(np.float32):
        return None
    inner = editor.node("Mul", scaled, type_of(scaled[1]))
    outer = editor.node(
        "Mul", [editor.builder.constant(weight.reshape(1, 1)), inner.outputs[0]], type_of(scaled[1])
    )
    return _replaced(node, inner, outer, [scaled[1]])


def take_out_scale(editor: Editor, node: ir.Node, tables: Tables) -> list[ir.Value] | None:
    """Multiplies a sum of rows by a number of at most 1, not each of the rows."""
    weights, products = constant_of(node.inputs[0]), [_scaled(row) for row in _rows(node.inputs[1]) or ()]
    found = [each for each in products if each is not None]
    if weights is None or not found or len(found) < len(products) or not _are_added(node):
        return None
    if any(scale is not found[0][0] for scale, _ in found) or not _is_at_most_one(found[0][0], tables):
        return None
    rows = [row for _, row in found]
    weights = editor.builder.constant(weights.reshape(1, -1))
    inner = editor.node("MatMul", [weights, _stacked(editor, rows, node)], type_of(rows[0]))
    outer = editor.node("Mul", [found[0][0], inner.outputs[0]], type_of(rows[0]))
    return _replaced(node, inner, outer, rows)


def _replaced(node: ir.Node, inner: ir.Node, outer: ir.Node, looked_at: list[ir.Value]) -> list[ir.Value]:
    node.prepend(inner)
    node.prepend(outer)
    put_for(node.outputs[0], outer.outputs[0])
    remove(node)
    return looked_at


def drop_zeros(_: Editor, node: ir.Node, __: Tables) -> list[ir.Value] | None:
    """Leaves out zeros that are added."""
    for value, zeros in (tuple(node.inputs), tuple(node.inputs)[::-1]):
        array = constant_of(zeros)
        if value is None or array is None or array.any() or node.outputs[0].is_graph_output():
            continue
        if array.dtype.name in FUSED_DTYPES and type_of(value) == type_of(node.outputs[0]):
            node.outputs[0].replace_all_uses_with(value)
            remove(node)
            return []
    return None


FINITE_RULES: Mapping[str, Sequence[FiniteRule]] = {
    **{name: (rule,) for name, rule in TEST_RULES.items()},
    "Add": (drop_zeros,),
    "Concat": (mix_elements,),
    "MatMul": (drop_zero_weights, scale_at_once, take_out_scale),
}
"""The rules for each operator, in this order."""


def _rows(value: ir.Value | None) -> list[ir.Value] | None:
    """Returns the rows that a `Concat` puts below each other."""
    maker = None if value is None else value.producer()
    if maker is None or maker.op_type != "Concat" or maker.attributes.get_int("axis", 0) != 0:
        return None
    rows = [row for row in maker.inputs if row is not None]
    return rows if all(rank(row) == 2 and type_of(row).shape[0] == 1 for row in rows) else None


def _stacked(editor: Editor, rows: Sequence[ir.Value], reader: ir.Node) -> ir.Value:
    output = TensorType(type_of(rows[0]).dtype, (len(rows), type_of(rows[0]).shape[1]))
    made = editor.node("Concat", rows, output, axis=0)
    reader.prepend(made)
    return made.outputs[0]


def _scaled(row: ir.Value | None) -> tuple[ir.Value, ir.Value] | None:
    """Returns a number and the row that are multiplied to `row`."""
    maker = None if row is None else row.producer()
    if row is None or maker is None or maker.op_type != "Mul":
        return None
    for scale, inner in (tuple(maker.inputs), tuple(maker.inputs)[::-1]):
        if scale is not None and inner is not None and type_of(inner) == type_of(row):
            if type_of(scale).shape == (1, 1) and constant_of(scale) is None:
                return scale, inner
    return None


def _bare(row: ir.Value, tables: Tables) -> ir.Value:
    """Returns what is finite only if `row` is: `row` without a factor of at most 1, which may go."""
    scaled = _scaled(row)
    return scaled[1] if scaled is not None and _is_at_most_one(scaled[0], tables) else row


def _are_added(node: ir.Node) -> bool:
    """Returns whether what `node` gives is added to rows, and nothing else."""
    readers = [user for user, _ in node.outputs[0].uses()]
    is_added = all(user.op_type == "Add" and rank(user.outputs[0]) == 2 for user in readers)
    return is_added and not node.outputs[0].is_graph_output()


def _is_at_most_one(scale: ir.Value, tables: Tables) -> bool:
    return id(scale) in tables and bool((np.abs(tables[id(scale)]) <= 1).all())
