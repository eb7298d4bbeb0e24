"""Which values of a loop are held as rows, and where one form has to be turned into the other."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import onnx_ir as ir

from couplax.export._fuse._graphs import FUSED_DTYPES, LOOPS, has_shape, inner_graphs
from couplax.export._fuse._row_rules import ELEMENTWISE, ROW_RULES, RowRule, rank, takes_any_form
from couplax.export._types import type_of


@dataclass(frozen=True, slots=True)
class Need:
    """A place that wants its value in one of the two forms: an input of a node, or an output of a graph."""

    place: ir.Node | ir.Graph
    index: int
    as_row: bool

    @property
    def value(self) -> ir.Value:
        """The value that stands there."""
        values = self.place.inputs if isinstance(self.place, ir.Node) else self.place.outputs
        found = values[self.index]
        assert found is not None
        return found

    def give(self, value: ir.Value) -> None:
        """Puts `value` there."""
        if isinstance(self.place, ir.Node):
            self.place.replace_input_with(self.index, value)
        else:
            self.place.outputs[self.index] = value


@dataclass(slots=True)
class RowPlan:
    """What becomes of the values of a loop, of the loops inside it, and of its branches.

    Attributes:
        rows: the values to be held as rows.
        made_in: the graphs that make the values of the loop.
        stacks: what loops stack of rows.
        sliced: the inputs of loops, made outside them all, that come apart into rows.
    """

    rows: dict[int, ir.Value] = field(default_factory=dict[int, ir.Value])
    made_in: dict[int, ir.Graph] = field(default_factory=dict[int, ir.Graph])
    needs: list[Need] = field(default_factory=list[Need])
    changes: list[tuple[ir.Node, RowRule]] = field(default_factory=list[tuple[ir.Node, RowRule]])
    stacks: list[ir.Value] = field(default_factory=list[ir.Value])
    sliced: list[Need] = field(default_factory=list[Need])

    @property
    def saving(self) -> int:
        """How many reshapes go, less those that come, in the loop."""
        gone = sum(node.op_type == "Reshape" for node, _ in self.changes)
        come = {(id(need.value), need.as_row) for need in self.needs if self._costs(need)}
        return gone - len(come)

    def _costs(self, need: Need) -> bool:
        return id(need.value) in self.made_in and self.is_row(need.value) != need.as_row

    def is_row(self, value: ir.Value | None) -> bool:
        """Returns whether `value` is to be held as a row."""
        return id(value) in self.rows

    def hold(self, values: Iterable[ir.Value]) -> None:
        """Lets `values` be rows, those of them that are numbers or vectors."""
        self.rows.update((id(value), value) for value in values if rank(value) < 2)

    def want(self, place: ir.Node | ir.Graph, indices: Iterable[int], *, as_row: bool) -> None:
        """Notes the form that is wanted at some places of a node or a graph."""
        self.needs += [Need(place, index, as_row) for index in indices]


def planned(loop: ir.Node) -> RowPlan:
    """Returns how `loop` looks if all is held as rows that can be."""
    plan = RowPlan()
    _plan_loop(plan, loop)
    return plan


def _plan_graph(plan: RowPlan, graph: ir.Graph) -> None:
    plan.made_in.update((id(value), graph) for value in graph.inputs)
    for node in graph:
        plan.made_in.update((id(value), graph) for value in node.outputs)
        if node.op_type in LOOPS:
            _plan_loop(plan, node)
        elif node.op_type == "If":
            _plan_branches(plan, node)
        else:
            _plan_node(plan, node)


def _plan_node(plan: RowPlan, node: ir.Node) -> None:
    given = [index for index, value in enumerate(node.inputs) if plan.is_row(value)]
    rule = ROW_RULES.get(node.op_type)
    if not given or takes_any_form(node):
        return
    if node.op_type in ELEMENTWISE and all(map(has_shape, node.outputs)):
        plan.hold(node.outputs)
    elif rule is not None and rule.serves(node) and given[0] < rule.count(node):
        plan.want(node, range(rule.count(node)), as_row=True)
        plan.want(node, range(rule.count(node), len(node.inputs)), as_row=False)
        plan.changes.append((node, rule))
        plan.hold(node.outputs)
    else:
        plan.want(node, given, as_row=False)


def _plan_branches(plan: RowPlan, node: ir.Node) -> None:
    branches = inner_graphs(node)
    for branch in branches:
        _plan_graph(plan, branch)
    if plan.is_row(node.inputs[0]):
        plan.want(node, [0], as_row=False)
    for index, output in enumerate(node.outputs):
        if any(plan.is_row(branch.outputs[index]) for branch in branches):
            plan.hold([output])
            for branch in branches:
                plan.want(branch, [index], as_row=True)


def _plan_loop(plan: RowPlan, node: ir.Node) -> None:
    """Plans a loop: its carries are rows on both sides, where they may be; so is what it stacks of rows."""
    (body,) = inner_graphs(node)
    before, after, count = layout(node, body)
    carried = [index for index in range(count) if _may_be_row(body.inputs[before + index])]
    plan.hold(body.inputs[before + index] for index in carried)
    plan.hold(node.outputs[index] for index in carried)
    _plan_slices(plan, node, body, before + count)
    others = [i for i, value in enumerate(node.inputs) if value is not None and i - before not in carried]
    plan.want(node, [before + index for index in carried], as_row=True)
    plan.want(node, others, as_row=False)
    _plan_graph(plan, body)
    plan.want(body, [after + index for index in carried], as_row=True)
    plan.want(body, [i for i in range(after + count) if i - after not in carried], as_row=False)
    for index in range(count, len(node.outputs)):
        if plan.is_row(body.outputs[after + index]) and has_shape(node.outputs[index]):
            plan.stacks.append(node.outputs[index])
        else:
            plan.want(body, [after + index], as_row=False)


def _plan_slices(plan: RowPlan, node: ir.Node, body: ir.Graph, first: int) -> None:
    """Plans the slices of stacks that are made outside of all loops: one reshape there serves all trips."""
    for index in range(first, len(body.inputs)):
        stack, part = node.inputs[index], body.inputs[index]
        if stack is not None and id(stack) not in plan.made_in and has_shape(stack) and _may_be_row(part):
            plan.hold([part])
            plan.sliced.append(Need(node, index, as_row=True))


def layout(node: ir.Node, body: ir.Graph) -> tuple[int, int, int]:
    """Returns how many inputs and outputs of a body come before its carries, and how many carries it has."""
    if node.op_type == "Loop":
        return 2, 1, len(body.inputs) - 2
    return 0, 0, len(body.inputs) - node.attributes["num_scan_inputs"].as_int()


def _may_be_row(value: ir.Value) -> bool:
    return has_shape(value) and rank(value) < 2 and type_of(value).dtype.name in FUSED_DTYPES
