"""What the rewrites do to a graph: look inside it, add a node behind another, put one value for another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from couplax.export._builder import Builder
from couplax.export._types import TensorType, type_of

LOOPS = frozenset({"Loop", "Scan"})

FUSED_DTYPES = frozenset({"float32", "float64"})
"""What ONNX Runtime's `Gemm` computes in."""


@dataclass(frozen=True, slots=True)
class Editor:
    """Makes nodes for a graph that is written already; names and constants come from its builder."""

    builder: Builder

    def node(
        self, op_type: str, inputs: Sequence[ir.Value | None], output: TensorType, **attributes: Any
    ) -> ir.Node:
        """Returns a node that stands in no graph yet."""
        made = self.builder.value(op_type.lower(), output)
        return ir.node(op_type, inputs, attributes, outputs=[made], name=made.name)

    def integers(self, numbers: Sequence[int]) -> ir.Value:
        """Returns `numbers` as a constant vector of int64."""
        return self.builder.constant(np.asarray(numbers, np.int64))

    def reshape(self, value: ir.Value, shape: Sequence[int]) -> ir.Node:
        """Returns a node, in no graph yet, that gives `value` in another shape."""
        made = TensorType(type_of(value).dtype, tuple(shape))
        return self.node("Reshape", [value, self.integers(shape)], made)


def inner_graphs(node: ir.Node) -> list[ir.Graph]:
    """Returns the graphs in the attributes of `node`."""
    return [each.as_graph() for each in node.attributes.values() if each.type == ir.AttributeType.GRAPH]


def all_nodes(graph: ir.Graph) -> Iterator[ir.Node]:
    """Yields the nodes of `graph` and of the graphs inside it, what is inside a node after the node."""
    for node in graph:
        yield node
        for inner in inner_graphs(node):
            yield from all_nodes(inner)


def outermost_loops(graph: ir.Graph) -> Iterator[ir.Node]:
    """Yields the loops that stand in no other loop."""
    for node in graph:
        if node.op_type in LOOPS:
            yield node
        else:
            for inner in inner_graphs(node):
                yield from outermost_loops(inner)


def has_shape(value: ir.Value) -> bool:
    """Returns whether every size of `value` is a number."""
    return value.shape is not None and all(isinstance(size, int) for size in value.shape)


def constant_of(value: ir.Value | None) -> np.ndarray | None:
    """Returns the array that `value` is, where it is a constant."""
    return None if value is None or value.const_value is None else value.const_value.numpy()


def put_for(old: ir.Value, new: ir.Value) -> None:
    """Makes `new` stand wherever `old` stood, under its name; the node of `new` comes from the same line."""
    made, stood = new.producer(), old.producer()
    if made is not None and stood is not None:
        made.doc_string = made.doc_string or stood.doc_string
    if old.is_graph_output():
        old.name, new.name = f"{new.name}_for", old.name
    old.replace_all_uses_with(new, replace_graph_outputs=True)


def put_behind(value: ir.Value, node: ir.Node, graph: ir.Graph) -> None:
    """Puts `node` where `value` is first there, in `graph` whose input or whose own `value` is."""
    producer = value.producer()
    if producer is not None:
        producer.append(node)
    else:
        graph.insert_before(graph[0], node)


def rank(value: ir.Value | None) -> int:
    """Returns the number of axes of `value`."""
    return 0 if value is None or value.shape is None else len(value.shape)


def is_unread(node: ir.Node) -> bool:
    """Returns whether nothing reads what `node` gives."""
    return not any(output.uses() or output.is_graph_output() for output in node.outputs)


def remove(*nodes: ir.Node | None) -> None:
    """Removes nodes that nothing reads any more."""
    for node in nodes:
        if node is not None and node.graph is not None:
            node.graph.remove(node, safe=True)


def forget(*nodes: ir.Node) -> None:
    """Lets nodes that stand in no graph read nothing: a value counts them among its readers."""
    for node in nodes:
        for index in range(len(node.inputs)):
            node.replace_input_with(index, None)
