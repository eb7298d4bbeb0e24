"""Loops are rewritten for finite numbers, and run again as they were where one is not.

What a rule of `_finite_rules` rewrites gives the same numbers while all are finite. All that it touches flows
by +, - and x, which keep what is not finite, into a few numbers of each turn. A loop of known length is run
to its end, where a state that takes its own former value up has kept it; any other loop looks at these
numbers in each turn, and ends with the first that is not finite. Then, and then alone, the loop is run as
JAX has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._finite_rules import FINITE_RULES, Tables
from couplax.export._fuse._graphs import (
    Editor,
    constant_of,
    forget,
    has_shape,
    inner_graphs,
    is_unread,
    outermost_loops,
    put_for,
    remove,
)
from couplax.export._fuse._kept import chosen, is_checkable, kept_in, sinks
from couplax.export._fuse._row_plan import layout
from couplax.export._types import TensorType, type_of

_LEAST = 4
"""So many nodes have to go, or the loop stays as it is: the file holds it twice."""

_MOST_LOOKS = 2
"""At so many values of a turn is looked."""

_FLAG = TensorType(np.dtype(bool), (1, 1))
_BRANCHES = ("then_branch", "else_branch")


def rewrite_finite(editor: Editor, graph: ir.Graph) -> None:
    """Rewrites the outermost loops of `graph` that have become a good deal shorter."""
    for loop in list(outermost_loops(graph)):
        if all(map(has_shape, loop.outputs)) and any(n.op_type == "Concat" for n in inner_graphs(loop)[0]):
            fast = _rewritten(editor, loop)
            if fast is not None:
                _put(editor, loop, fast)


@dataclass(frozen=True, slots=True)
class _Fast:
    """A loop for finite numbers; the nodes behind it that give `is_finite`, whether all were."""

    loop: ir.Node
    behind: Sequence[ir.Node]
    is_finite: ir.Value


def _rewritten(editor: Editor, loop: ir.Node) -> _Fast | None:
    """Returns `loop` for finite numbers; None where that is no good deal shorter, or nothing would tell."""
    (plain,) = inner_graphs(loop)
    body = plain.clone(allow_outer_scope_values=True)
    touched = _touched(editor, body, _tables(loop, body))
    write = _counted if _is_counted(loop, body) else _looking
    fast = write(editor, loop, body, touched) if touched and len(plain) - len(body) >= _LEAST else None
    if fast is None:
        _emptied(body)
    return fast


def _emptied(graph: ir.Graph) -> None:
    """Takes all nodes out of a graph that is not needed."""
    graph.outputs.clear()
    for node in reversed(list(graph)):
        for inner in inner_graphs(node):
            _emptied(inner)
        graph.remove(node)
        forget(node)


def _counted(editor: Editor, loop: ir.Node, body: ir.Graph, touched: Sequence[ir.Value]) -> _Fast | None:
    """Returns the loop, and a look at the states behind it that have kept what was not finite."""
    before, after, count = layout(loop, body)
    pairs = [(body.inputs[before + index], body.outputs[after + index]) for index in range(count)]
    keeping = [index for index, pair in enumerate(pairs) if _keeps_itself(*pair)]
    seen = chosen([pairs[index][1] for index in keeping], touched, _MOST_LOOKS)
    if seen is None:
        return None
    made = _loop(editor, loop, body)
    nodes = _are_finite(editor, [made.outputs[index] for index in keeping if _is_in(pairs[index][1], seen)])
    return _Fast(made, nodes, nodes[-1].outputs[0])


def _is_in(value: ir.Value, values: Sequence[ir.Value]) -> bool:
    return any(each is value for each in values)


def _tables(loop: ir.Node, body: ir.Graph) -> Tables:
    if loop.op_type != "Scan":
        return {}
    pairs = zip(body.inputs, map(constant_of, loop.inputs), strict=True)
    return {id(value): table for value, table in pairs if table is not None}


def _touched(editor: Editor, body: ir.Graph, tables: Tables) -> list[ir.Value]:
    """Returns the values that have to be finite for what is rewritten in `body` by the rules."""
    touched: list[ir.Value] = []
    for node in list(body):
        for rule in FINITE_RULES.get(node.op_type, ()):
            found = rule(editor, node, tables) if node.graph is not None else None
            touched += found or ()
    for node in reversed(list(body)):
        remove(node if is_unread(node) else None)
    return touched


def _is_counted(loop: ir.Node, body: ir.Graph) -> bool:
    """Returns whether the length of `loop` is known before it runs."""
    if loop.op_type == "Scan":
        return True
    condition = body.outputs[0].producer()
    if condition is None or condition.op_type != "Identity" or loop.inputs[0] is None:
        return False
    return condition.inputs[0] is body.inputs[1]


def _keeps_itself(before: ir.Value, after: ir.Value) -> bool:
    return is_checkable(after) and id(before) in kept_in(after)


def _are_finite(editor: Editor, values: Sequence[ir.Value]) -> list[ir.Node]:
    """Returns nodes, in order, that tell whether all of `values` are finite: zero times them is zero."""
    nodes: list[ir.Node] = []
    total: list[ir.Value] = []
    for value in values:
        dtype, shape = type_of(value).dtype, type_of(value).shape
        length = int(np.prod(shape))
        if shape != (1, length):
            nodes.append(editor.reshape(value, (1, length)))
            value = nodes[-1].outputs[0]
        zeros = editor.builder.constant(np.zeros((length, 1), dtype))
        nodes.append(editor.node("Gemm", [value, zeros, *total], TensorType(dtype, (1, 1))))
        total = [nodes[-1].outputs[0]]
    return [*nodes, editor.node("Equal", total * 2, _FLAG)]


def _looking(editor: Editor, loop: ir.Node, body: ir.Graph, touched: Sequence[ir.Value]) -> _Fast | None:
    """Returns the loop that ends where one of few values is not finite, and gives whether none was."""
    seen = chosen(sinks(body), touched, _MOST_LOOKS)
    if seen is None:
        return None
    nodes, goes_on = _are_finite(editor, seen), body.outputs[0]
    flag = nodes[-1].outputs[0]
    scalar = editor.reshape(flag, ())
    both = editor.node("And", [goes_on, scalar.outputs[0]], type_of(goes_on))
    body.extend([*nodes, scalar, both])
    body.outputs[0] = both.outputs[0]
    _, after, count = layout(loop, body)
    body.inputs.append(editor.builder.value("finite", _FLAG))
    body.outputs.insert(after + count, flag)
    made = _loop(editor, loop, body, [editor.builder.constant(np.ones((1, 1), bool))], count)
    return _Fast(made, [], made.outputs[count])


def _loop(
    editor: Editor, loop: ir.Node, body: ir.Graph, more: Sequence[ir.Value] = (), place: int = 0
) -> ir.Node:
    """Returns a loop like `loop` with another body, and states `more` than it at `place` of what it gives."""
    _name_anew(editor, body)
    outputs = [editor.builder.value("finite", type_of(value)) for value in loop.outputs]
    outputs[place:place] = [editor.builder.value("finite", type_of(value)) for value in more]
    others = {name: each for name, each in loop.attributes.items() if name != "body"}
    return ir.node(
        loop.op_type,
        [*loop.inputs, *more],
        {**others, "body": body},
        outputs=outputs,
        name=outputs[0].name,
        doc_string=loop.doc_string,
    )


def _name_anew(editor: Editor, graph: ir.Graph) -> None:
    """Gives all that `graph` makes names of its own: the file holds what it was copied from as well."""
    graph.name = editor.builder.name("body")
    made = [*graph.inputs, *(output for node in graph for output in node.outputs)]
    for value in made:
        value.name = editor.builder.name((value.name or "value").rsplit("_", 1)[0])
    for node in graph:
        node.name = node.outputs[0].name
        for inner in inner_graphs(node):
            _name_anew(editor, inner)


def _put(editor: Editor, loop: ir.Node, fast: _Fast) -> None:
    """Puts `fast` for `loop`, and a choice behind it that runs `loop` where a number was not finite."""
    graph = loop.graph
    assert graph is not None
    given = [value for value in fast.loop.outputs if value is not fast.is_finite]
    copies = [editor.node("Identity", [value], type_of(value)) for value in given]
    outputs = [editor.builder.value("if_finite", type_of(value)) for value in loop.outputs]
    choice = ir.node("If", [fast.is_finite], {}, outputs=outputs, name=outputs[0].name)
    for node in (fast.loop, *fast.behind, choice):
        loop.prepend(node)
    for old, new in zip(loop.outputs, outputs, strict=True):
        put_for(old, new)
    graph.remove(loop)
    kept = ir.Graph(
        [], [each.outputs[0] for each in copies], nodes=copies, name=editor.builder.name("finite")
    )
    again = ir.Graph([], list(loop.outputs), nodes=[loop], name=editor.builder.name("again"))
    for name, branch in zip(_BRANCHES, (kept, again), strict=True):
        choice.attributes[name] = ir.AttrGraph(name, branch)
