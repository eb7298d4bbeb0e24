"""`couplax inspect`: what an ONNX file takes and gives, and what it is made of."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from couplax.cli._export import size_of
from couplax.cli._file import read_onnx
from couplax.export._names import FOREIGN, VARIABLES

if TYPE_CHECKING:
    import onnx


_IN_TABLES = (FOREIGN, VARIABLES)
"""Metadata that stand in a table of their own, or beside the inputs and outputs."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A node, and how many loops it is in."""

    node: Any
    loops: int


def add_to(commands: Any) -> None:
    """Adds the command to the parser's `commands`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "inspect",
        help="show what an ONNX file holds",
        description="Show an ONNX file's inputs, outputs, operators, loops, opset and size.",
    )
    parser.add_argument("file", type=Path, help="the ONNX file")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Runs the command and returns its exit code."""
    from rich.console import Console

    console = Console(highlight=False)
    proto = read_onnx(chosen.file)
    console.print(_heading(chosen.file, proto), markup=False)
    for table in (_values(proto), _operators(proto), _foreign(proto), _loops(proto), _lines(proto)):
        if table.row_count:
            console.print(table)
    return 0


def nodes(graph: Any, loops: int = 0) -> Iterator[Placed]:
    """Yields every node of `graph`, those of the graphs inside it included."""
    for node in graph.node:
        yield Placed(node, loops)
        for inner in _inner(node):
            yield from nodes(inner, loops + (node.op_type in {"Loop", "Scan"}))


def _inner(node: Any) -> list[Any]:
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def _heading(path: Path, proto: "onnx.ModelProto") -> str:
    sets = ", ".join(f"{entry.domain or 'ai.onnx'} {entry.version}" for entry in proto.opset_import)
    made = " ".join(filter(None, [proto.producer_name, proto.producer_version])) or "unknown"
    notes = [f"{entry.key}: {entry.value}" for entry in proto.metadata_props if entry.key not in _IN_TABLES]
    about = " ".join(filter(None, [proto.graph.name, proto.graph.doc_string.partition("\n")[0]]))
    constants = sum(prod(each.dims) for each in proto.graph.initializer)
    return "\n".join(
        [
            f"{path}: {size_of(path)}, opset {sets}, IR {proto.ir_version}, made by {made}",
            f"{sum(1 for _ in nodes(proto.graph))} nodes, {len(proto.graph.initializer)} constants of "
            f"{constants} numbers in all",
            f"computes: {about}",
            *notes,
        ]
    )


def _table(title: str, *columns: str) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column in {"nodes", "in loops"} else "left")
    return table


def _values(proto: "onnx.ModelProto") -> Any:
    from rich.markup import escape

    parts = [("input", entry) for entry in proto.graph.input]
    parts += [("output", entry) for entry in proto.graph.output]
    said = any(entry.doc_string for _, entry in parts)
    table = _table("Inputs and outputs", "", "name", "type", *(["about"] if said else []))
    for what, entry in parts:
        about = [escape(entry.doc_string)] if said else []
        table.add_row(what, escape(entry.name), escape(_type(entry)), *about)
    return table


def _type(entry: Any) -> str:
    import onnx

    tensor = entry.type.tensor_type
    sizes = (axis.dim_param or str(axis.dim_value) for axis in tensor.shape.dim)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return f"{dtype.name}[{','.join(sizes)}]"


def _operators(proto: "onnx.ModelProto") -> Any:
    found = list(nodes(proto.graph))
    everywhere = Counter(placed.node.op_type for placed in found)
    looped = Counter(placed.node.op_type for placed in found if placed.loops)
    table = _table("Operators", "operator", "nodes", "in loops")
    for name, count in sorted(everywhere.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(name, str(count), str(looped[name] or ""))
    return table


def _foreign(proto: "onnx.ModelProto") -> Any:
    """Returns what the operators that stand for foreign codes compute, and where they are called."""
    from rich.markup import escape

    said = next((entry.value for entry in proto.metadata_props if entry.key == FOREIGN), "{}")
    table = _table("Foreign codes", "operator", "code", "computes", "called at")
    for name, about in json.loads(said).items():
        table.add_row(name, escape(about["code"]), about["operation"], escape(", ".join(about["called_at"])))
    return table


def _loops(proto: "onnx.ModelProto") -> Any:
    table = _table("Loops", "loop", "trips", "nodes", "inside")
    constants = {each.name: each for each in proto.graph.initializer}
    for placed in nodes(proto.graph):
        if placed.node.op_type in {"Loop", "Scan"}:
            (body,) = _inner(placed.node)
            inside = f"{placed.loops} loops" if placed.loops else ""
            count = sum(1 for _ in nodes(body))
            table.add_row(placed.node.op_type, _trips(placed.node, constants), str(count), inside)
    return table


def _trips(node: Any, constants: dict[str, Any]) -> str:
    """Returns how often the loop `node` runs, as far as the file says."""
    import onnx

    if node.op_type == "Scan":
        # A Scan has a trip for each row of what it scans, the last of its inputs.
        scanned = constants.get(node.input[-1])
        return "one for each row" if scanned is None else str(scanned.dims[0])
    limit = constants.get(node.input[0])
    if limit is None:
        return "until its condition fails" if not node.input[0] else "computed"
    return str(int(onnx.numpy_helper.to_array(limit)))


def _lines(proto: "onnx.ModelProto") -> Any:
    """Returns how many nodes come from each line of the user's code, as far as the file says."""
    from rich.markup import escape

    found = [placed for placed in nodes(proto.graph) if placed.node.doc_string]
    everywhere = Counter(placed.node.doc_string for placed in found)
    looped = Counter(placed.node.doc_string for placed in found if placed.loops)
    table = _table("Lines", "line", "nodes", "in loops")
    for line, count in sorted(everywhere.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(escape(line), str(count), str(looped[line] or ""))
    return table
