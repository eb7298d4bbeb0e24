"""Numbers computed from the elements of one row by +, - and x, read off the nodes that compute them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._graphs import FUSED_DTYPES, constant_of, has_shape
from couplax.export._types import type_of

MOST_TERMS = 512
"""Numbers made of more operations than this are left as they are."""


@dataclass(frozen=True, slots=True)
class Term:
    """`op` of two terms, or a constant, or an element of the row.

    Attributes:
        op: `+`, `-`, `*`, `number` or `element`.
        at: which element; `number`: which constant.
    """

    op: str
    left: "Term | None" = None
    right: "Term | None" = None
    at: int = 0
    number: float = 0.0

    @property
    def sides(self) -> tuple["Term", "Term"]:
        """What `op` stands between."""
        assert self.left is not None
        assert self.right is not None
        return self.left, self.right


def number(value: float) -> Term:
    """Returns a constant."""
    return Term("number", number=value)


def negated(term: Term) -> Term:
    """Returns `-term`, whose numbers are those of `term` to the bit, with the other sign."""
    if term.op == "number":
        return number(-term.number)
    if term.op == "element":
        return Term("*", number(-1.0), term)
    left, right = term.sides
    pairs = {"+": ("-", negated(left), right), "-": ("-", right, left), "*": ("*", negated(left), right)}
    return Term(*pairs[term.op])


@dataclass(slots=True)
class Elements:
    """The numbers of a row and what they are computed from.

    Attributes:
        row: the row whose elements they read.
        terms: the numbers.
        nodes: the nodes that compute them; none of them is needed where nothing else reads it.
    """

    row: ir.Value
    terms: list[Term]
    nodes: list[ir.Node]


def elements_of(node: ir.Node) -> Elements | None:
    """Returns the numbers that `node` puts into a row; None where they are not all of that kind."""
    if node.op_type != "Concat" or node.attributes.get_int("axis", 0) != 1 or not _is_row(node.outputs[0]):
        return None
    reader = _Reader(node)
    try:
        terms = [reader.read(value) for value in node.inputs]
    except _OtherError:
        return None
    return None if reader.row is None else Elements(reader.row, terms, reader.nodes)


def _is_row(value: ir.Value) -> bool:
    if not has_shape(value) or type_of(value).dtype.name not in FUSED_DTYPES:
        return False
    return len(type_of(value).shape) == 2 and type_of(value).shape[0] == 1


class _OtherError(Exception):
    """A number is computed from something else."""


class _Reader:
    """Reads terms off nodes."""

    def __init__(self, node: ir.Node) -> None:
        self.row: ir.Value | None = None
        self.nodes: list[ir.Node] = []
        self._graph, self._count = node.graph, 0

    def read(self, value: ir.Value | None) -> Term:
        """Returns the term of `value`."""
        array, maker = constant_of(value), None if value is None else value.producer()
        self._count += 1
        if value is None or self._count > MOST_TERMS or not has_shape(value):
            raise _OtherError
        if array is not None and array.size == 1 and np.isfinite(array).all():
            return number(float(array.reshape(())))
        if maker is None or maker.graph is not self._graph or type_of(value).shape != (1, 1):
            raise _OtherError
        self.nodes.append(maker)
        if maker.op_type not in _READ:
            raise _OtherError
        return _READ[maker.op_type](self, maker)

    def element(self, node: ir.Node) -> Term:
        """Returns the element that a `Gather` takes of the row."""
        row, index = node.inputs[0], constant_of(node.inputs[1])
        if row is None or index is None or index.size != 1 or node.attributes.get_int("axis", 0) != 1:
            raise _OtherError
        if not _is_row(row) or self.row not in (None, row):
            raise _OtherError
        self.row = row
        return Term("element", at=int(index.reshape(())) % type_of(row).shape[1])

    def both(self, op: str, node: ir.Node) -> Term:
        """Returns `op` of the two inputs of `node`."""
        left, right = map(self.read, node.inputs)
        return Term(op, left, right)


_READ: Mapping[str, Callable[[_Reader, ir.Node], Term]] = {
    "Add": lambda reader, node: reader.both("+", node),
    "Gather": _Reader.element,
    "Mul": lambda reader, node: reader.both("*", node),
    "Neg": lambda reader, node: negated(reader.read(node.inputs[0])),
    "Sub": lambda reader, node: reader.both("-", node),
}
"""How a number is read off the node that computes it."""
