"""Numbers computed from the elements of a row, computed all at once by products of rows.

`10 (y_1 - y_0)`, `y_0 (28 - y_2) - y_1` and `y_0 y_1 - 8/3 y_2` are `(y L + l) * (y R + r) + y M`: four
nodes. Each number is computed in the order in which it stands; zeros alone are added to it. So it is the same
while all are finite, and where one is not, it spreads to the others of its row: zero times infinity is NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._elements import Term, negated, number
from couplax.export._fuse._graphs import Editor
from couplax.export._types import TensorType, type_of

Terms = tuple[Term, ...]

_DEEPEST = 8
_ZERO, _ONE = number(0.0), number(1.0)


@dataclass(frozen=True, slots=True)
class _Sum:
    """`coefficients . y + constant`, of two summands at most."""

    coefficients: dict[int, float] = field(default_factory=dict[int, float])
    constant: float = 0.0


class TooDeepError(Exception):
    """Numbers cannot be written as a few products of rows."""


class Mixture:
    """Writes nodes that compute numbers from the elements of `row`."""

    def __init__(self, editor: Editor, row: ir.Value) -> None:
        self._editor, self._row = editor, row
        self._made: dict[Terms, ir.Value] = {}
        self.nodes: list[ir.Node] = []

    def written(self, terms: Terms, depth: int = 0) -> ir.Value:
        """Returns the row of `terms`.

        Raises:
            TooDeepError: they take too many nodes.
        """
        if depth > _DEEPEST:
            raise TooDeepError
        if terms not in self._made:
            sums = [_sum(term) for term in terms]
            linear = [each for each in sums if each is not None]
            if len(linear) == len(terms):
                self._made[terms] = self._linear(linear)
            else:
                self._made[terms] = self._mixed(terms, sums, depth + 1)
        return self._made[terms]

    def _mixed(self, terms: Terms, sums: Sequence[_Sum | None], depth: int) -> ir.Value:
        """Returns the row of terms that are not all linear: the outermost operation of all that have it."""
        parts = [_apart(term, each) for term, each in zip(terms, sums, strict=True)]
        if any(part.coefficients for _, part in parts):
            rest = self.written(tuple(rest for rest, _ in parts), depth)
            return self._product([part for _, part in parts], rest)
        op = "*" if any(term.op == "*" for term in terms) else "+"
        pairs = [_FACTORS[op](term) for term in terms]
        left, right = (self.written(tuple(side), depth) for side in zip(*pairs, strict=True))
        return self._node({"*": "Mul", "+": "Add"}[op], [left, right], len(terms))

    def _linear(self, sums: Sequence[_Sum]) -> ir.Value:
        constants = [each.constant for each in sums]
        if not any(each.coefficients for each in sums):
            return self._constant([constants])
        return self._product(sums, self._constant([constants]) if any(constants) else None)

    def _product(self, sums: Sequence[_Sum], added: ir.Value | None) -> ir.Value:
        matrix = np.zeros((type_of(self._row).shape[1], len(sums)))
        for column, each in enumerate(sums):
            for at, coefficient in each.coefficients.items():
                matrix[at, column] = coefficient
        if added is None and matrix.shape[0] == matrix.shape[1] and np.array_equal(matrix, np.eye(len(sums))):
            return self._row
        return self._node("Gemm", [self._row, self._constant(matrix), added], len(sums))

    def _constant(self, numbers: np.ndarray | list[list[float]]) -> ir.Value:
        return self._editor.builder.constant(np.asarray(numbers, type_of(self._row).dtype))

    def _node(self, op_type: str, inputs: Sequence[ir.Value | None], length: int) -> ir.Value:
        made = self._editor.node(op_type, inputs, TensorType(type_of(self._row).dtype, (1, length)))
        self.nodes.append(made)
        return made.outputs[0]


def _single(term: Term) -> tuple[int | None, float] | None:
    """Returns a constant, as None and its value, or an element with its coefficient; None for others."""
    if term.op == "number":
        return None, term.number
    if term.op == "element":
        return term.at, 1.0
    if term.op == "*":
        for weight, of in (term.sides, term.sides[::-1]):
            if weight.op == "number" and of.op == "element":
                return of.at, weight.number
    return None


def _sum(term: Term) -> _Sum | None:
    """Returns `term` as one summand or two of different kinds, to be rounded once; None for others."""
    sides = (term, _ZERO) if term.op not in "+-" else term.sides
    both = [_single(side) for side in (sides[0], negated(sides[1]) if term.op == "-" else sides[1])]
    singles = [single for single in both if single is not None]
    if len(singles) < 2 or (singles[0][0] == singles[1][0] and term.op in "+-"):
        return None
    coefficients = {at: weight for at, weight in singles if at is not None}
    return _Sum(coefficients, sum(weight for at, weight in singles if at is None))


def _apart(term: Term, linear: _Sum | None) -> tuple[Term, _Sum]:
    """Returns `term` as a rest and what is linear in the row, nothing where it has no such summand."""
    if linear is not None:
        return number(linear.constant), _Sum(linear.coefficients)
    if term.op in "+-":
        left, right = term.sides
        right = negated(right) if term.op == "-" else right
        for rest, summand in ((left, right), (right, left)):
            single = _single(summand)
            if single is not None and single[0] is not None:
                return rest, _Sum({single[0]: single[1]})
    return term, _Sum()


def _as_product(term: Term) -> tuple[Term, Term]:
    if term.op != "*":
        return _ONE, term
    left, right = term.sides
    return (left, right) if _sum(left) is not None and _single(right) is None else (right, left)


def _as_sum(term: Term) -> tuple[Term, Term]:
    if term.op not in "+-":
        return term, _ZERO
    left, right = term.sides
    return left, negated(right) if term.op == "-" else right


_FACTORS = {"*": _as_product, "+": _as_sum}
"""How a term is taken apart where others of its row are products, or sums."""
