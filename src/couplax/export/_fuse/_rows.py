"""Numbers and vectors in loops become matrices of one row.

ONNX's `Gemm`, the cheapest way to write `x + c k` and `x W + b`, takes matrices alone. So what a loop
carries and computes is held as rows, where that leaves fewer nodes in it: one reshape before the loop and
one behind it serve all trips, and a reshape of a number to a vector of one vanishes.
"""

from collections.abc import Sequence

import onnx_ir as ir

from couplax.export._fuse._graphs import (
    Editor,
    all_nodes,
    constant_of,
    inner_graphs,
    outermost_loops,
    put_behind,
    put_for,
)
from couplax.export._fuse._products import is_product
from couplax.export._fuse._row_plan import Need, RowPlan, planned
from couplax.export._types import type_of


def use_rows(editor: Editor, graph: ir.Graph) -> None:
    """Holds what the loops of `graph` compute as rows, where that leaves fewer nodes."""
    for loop in list(outermost_loops(graph)):
        plan = planned(loop)
        if plan.saving + _products(loop) > 0:
            _Rewrite(editor, loop, plan).run()


def _products(loop: ir.Node) -> int:
    """Returns how many nodes go where products and sums of vectors become one."""
    return sum(is_product(node) for body in inner_graphs(loop) for node in all_nodes(body))


class _Rewrite:
    """Carries out a plan; every value is turned into its other form once at most."""

    def __init__(self, editor: Editor, loop: ir.Node, plan: RowPlan) -> None:
        self._editor, self._loop, self._plan = editor, loop, plan
        self._turned: dict[int, ir.Value] = {}

    def run(self) -> None:
        """Turns what has to be turned, then rewrites the nodes; shapes come last, for they are still read."""
        for need in self._plan.needs:
            need.give(self._in_form(need))
        for output in filter(self._plan.is_row, self._loop.outputs):
            self._turn_behind(output)
        for output in self._plan.stacks:
            self._turn_behind(output)
            length, *sizes = type_of(output).shape
            output.shape = ir.Shape([length, *_row(sizes)])
        for need in self._plan.sliced:
            length, *sizes = type_of(need.value).shape
            need.give(self._shaped(need.value, [length, *_row(sizes)]))
        for value in self._plan.rows.values():
            value.shape = ir.Shape(_row(type_of(value).shape))
        for node, rule in self._plan.changes:
            rule.change(self._editor, node)

    def _in_form(self, need: Need) -> ir.Value:
        value = need.value
        if self._plan.is_row(value) == need.as_row:
            return value
        if id(value) not in self._turned:
            self._turned[id(value)] = self._turn(value, as_row=need.as_row)
        return self._turned[id(value)]

    def _turn(self, value: ir.Value, *, as_row: bool) -> ir.Value:
        shape = type_of(value).shape
        return self._shaped(value, _row(shape) if as_row else shape)

    def _shaped(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        array = constant_of(value)
        if array is not None:
            return self._editor.builder.constant(array.reshape(shape))
        node = self._editor.reshape(value, shape)
        graph = self._plan.made_in.get(id(value))
        if graph is None:
            self._loop.prepend(node)
        else:
            put_behind(value, node, graph)
        return node.outputs[0]

    def _turn_behind(self, output: ir.Value) -> None:
        node, maker = self._editor.reshape(output, type_of(output).shape), output.producer()
        put_for(output, node.outputs[0])
        node.replace_input_with(0, output)
        if maker is not None:
            maker.append(node)


def _row(shape: Sequence[int]) -> list[int]:
    return [1, *shape] if shape else [1, 1]
