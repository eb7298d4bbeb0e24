"""A buffer of rows, written one by one and read by products alone, need not be there.

The stages of a Runge-Kutta method stand in such a buffer. A product with it is one with those of its rows
that hold something, one below the other: a row of zeros that was never written adds nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._graphs import (
    FUSED_DTYPES,
    Editor,
    constant_of,
    has_shape,
    inner_graphs,
    is_unread,
    rank,
    remove,
)
from couplax.export._fuse._slots import Slot, are_known, slots_of
from couplax.export._types import TensorType, type_of


def spare_buffers(editor: Editor, graph: ir.Graph) -> None:
    """Puts rows for the buffers that the products of `graph`, and of the graphs inside it, read."""
    rows = _Rows(editor)
    for node in list(graph):
        for inner in inner_graphs(node):
            spare_buffers(editor, inner)
        slots = _slots_read(node)
        if slots is not None:
            _spare(rows, node, slots)
    for node in reversed(list(graph)):
        if node.op_type in ("ScatterElements", "Reshape") and is_unread(node):
            remove(node)


def _slots_read(node: ir.Node) -> list[Slot] | None:
    """Returns the slots that a product of finite constant weights and a buffer reads; None for others."""
    weights, buffer = (
        (constant_of(node.inputs[0]), node.inputs[1]) if node.op_type == "MatMul" else (None,) * 2
    )
    if weights is None or buffer is None or rank(buffer) != 2 or constant_of(buffer) is not None:
        return None
    if type_of(buffer).dtype.name not in FUSED_DTYPES or not np.isfinite(weights).all():
        return None
    if not has_shape(buffer):
        return None
    slots = slots_of(buffer, type_of(buffer).shape[1])
    return slots if are_known(slots) else None


def _spare(rows: "_Rows", node: ir.Node, slots: Sequence[Slot]) -> None:
    weights = constant_of(node.inputs[0])
    kept = [index for index, slot in enumerate(slots) if slot.constant is None or slot.constant.any()]
    if kept and weights is not None:
        held = rows.below_each_other([slots[index] for index in kept], node)
        node.replace_input_with(0, rows.editor.builder.constant(weights[..., kept]))
        node.replace_input_with(1, held)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Makes matrices of rows in one graph, each once."""

    editor: Editor
    made: dict[tuple[int, ...], ir.Value] = field(default_factory=dict[tuple[int, ...], ir.Value])

    def below_each_other(self, slots: Sequence[Slot], reader: ir.Node) -> ir.Value:
        """Returns the matrix of what stands in `slots`, made before `reader`."""
        rows = [self._row(slot, reader) for slot in slots]
        if len(rows) == 1:
            return rows[0]
        output = TensorType(type_of(rows[0]).dtype, (len(rows), type_of(rows[0]).shape[1]))
        key = tuple(map(id, rows))
        if key not in self.made:
            self.made[key] = self._put(self.editor.node("Concat", rows, output, axis=0), reader)
        return self.made[key]

    def _row(self, slot: Slot, reader: ir.Node) -> ir.Value:
        if slot.value is None:
            assert slot.constant is not None
            return self.editor.builder.constant(slot.constant.reshape(1, -1))
        key = (id(slot.value), -1 if slot.index is None else slot.index)
        if key not in self.made:
            self.made[key] = self._put(self._taken(slot, slot.value, reader), reader)
        return self.made[key]

    def _taken(self, slot: Slot, value: ir.Value, reader: ir.Node) -> ir.Node:
        if slot.index is None:
            return self.editor.reshape(value, (1, *type_of(value).shape))
        row = TensorType(type_of(value).dtype, (1, type_of(value).shape[1]))
        return self.editor.node("Gather", [value, self.editor.integers([slot.index])], row, axis=0)

    def _put(self, node: ir.Node, reader: ir.Node) -> ir.Value:
        reader.prepend(node)
        return node.outputs[0]
