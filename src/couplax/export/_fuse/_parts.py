"""Elements of a row, taken one by one, come out of one `Split`."""

import onnx_ir as ir

from couplax.export._fuse._graphs import Editor, constant_of, inner_graphs, put_for, remove
from couplax.export._types import TensorType, type_of


def split_rows(editor: Editor, graph: ir.Graph) -> None:
    """Puts one `Split` for the elements that a graph takes of a row, where it takes at least half of them."""
    taken: dict[int, list[ir.Node]] = {}
    for node in graph:
        for inner in inner_graphs(node):
            split_rows(editor, inner)
        if _element(node) is not None:
            taken.setdefault(id(node.inputs[0]), []).append(node)
    for nodes in taken.values():
        row = nodes[0].inputs[0]
        if row is not None and len(nodes) > 1 and 2 * len(nodes) >= type_of(row).shape[1]:
            _put(editor, graph, row, nodes)


def _element(node: ir.Node) -> int | None:
    """Returns which element of a row `node` takes; None where it does something else."""
    if node.op_type != "Gather" or node.attributes.get_int("axis", 0) != 1:
        return None
    index = constant_of(node.inputs[1])
    if index is None or index.shape != (1,) or type_of(node.outputs[0]).shape != (1, 1):
        return None
    return int(index[0])


def _put(editor: Editor, graph: ir.Graph, row: ir.Value, nodes: list[ir.Node]) -> None:
    count = type_of(row).shape[1]
    piece = TensorType(type_of(row).dtype, (1, 1))
    parts = [editor.builder.value("split", piece) for _ in range(count)]
    split = ir.node(
        "Split", [row, editor.integers([1] * count)], {"axis": 1}, outputs=parts, name=parts[0].name
    )
    nodes[0].prepend(split)
    for node in nodes:
        put_for(node.outputs[0], parts[_element(node) or 0])
        remove(node)
