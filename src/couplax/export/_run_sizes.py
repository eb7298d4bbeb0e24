"""Sizes that are open until the file runs: each is read off an input, once, and computed with from there."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from couplax._sizes import Arithmetic, Size, is_open, is_symbolic, size_at, solved, symbols_in
from couplax.export._types import TensorType, type_of

if TYPE_CHECKING:
    import onnx_ir as ir

    from couplax.export._builder import Builder

_ONE_NUMBER = TensorType(np.dtype(np.int64), (1,))
_REASON = "dim_as_value"

_OPERATORS = {"add": "Add", "sub": "Sub", "mul": "Mul", "max": "Max", "min": "Min", "mod": "Mod"}


class RunSizes:
    """The sizes of a graph's inputs as values in the graph: vectors of int64.

    Their nodes stand in the outermost graph, where every graph inside it can read them.
    """

    def __init__(self, builder: "Builder") -> None:
        self._builder = builder
        self._symbols: dict[str, ir.Value] = {}
        self._read_off: dict[str, ir.Value] = {}
        operations = {name: partial(self._node, op_type) for name, op_type in _OPERATORS.items()}
        self._arithmetic = Arithmetic(
            constant=lambda number: builder.constant(np.array([number], np.int64)),
            operations={**operations, "floordiv": self._floor_divided},
        )

    def take(self, inputs: Sequence["ir.Value"]) -> None:
        """Reads the names of sizes off the shapes of `inputs`."""
        axes = [(value, axis, size) for value in inputs for axis, size in enumerate(type_of(value).shape)]
        for value, axis, size in axes:
            if is_symbolic(size) and str(size) not in self._read_off:
                self._read_off[str(size)] = self._read(value, axis)
        sizes = {str(size): size for _, _, size in axes}
        pairs = [(sizes[text], read) for text, read in self._read_off.items()]
        self._symbols = solved(pairs, self._arithmetic)

    def vector(self, shape: Sequence[Size]) -> "ir.Value":
        """Returns `shape` as a vector of int64, a constant where it is known.

        Raises:
            ValueError: no input gives a size.
        """
        if not is_open(shape):
            return self._builder.constant(np.asarray(shape, np.int64))
        with self._builder.outermost():
            # Known sizes beside one another are one constant.
            groups = [
                (known, list(sizes)) for known, sizes in groupby(shape, lambda size: not is_symbolic(size))
            ]
            parts = [part for known, sizes in groups for part in self._parts(known, sizes)]
            return parts[0] if len(parts) == 1 else self._joined(parts, len(shape))

    def _parts(self, known: bool, sizes: list[Size]) -> list["ir.Value"]:
        if known:
            return [self._builder.constant(np.asarray(sizes, np.int64))]
        return [self._value(size) for size in sizes]

    def _value(self, size: Size) -> "ir.Value":
        if str(size) in self._read_off:
            return self._read_off[str(size)]
        missing = symbols_in(size).difference(self._symbols)
        if missing:
            raise ValueError(f"no input of the file has an axis that gives the size `{min(missing)}`")
        return size_at(size, self._symbols, self._arithmetic)

    def _read(self, value: "ir.Value", axis: int) -> "ir.Value":
        place = {"start": axis, "end": axis + 1}
        return self._builder.node("Shape", [value], [_ONE_NUMBER], place, _REASON)[0]

    def _joined(self, parts: Sequence["ir.Value"], count: int) -> "ir.Value":
        made = TensorType(np.dtype(np.int64), (count,))
        return self._builder.node("Concat", parts, [made], {"axis": 0}, _REASON)[0]

    def _node(self, op_type: str, left: "ir.Value", right: "ir.Value") -> "ir.Value":
        return self._builder.node(op_type, [left, right], [_ONE_NUMBER], {}, _REASON)[0]

    def _floor_divided(self, left: "ir.Value", right: "ir.Value") -> "ir.Value":
        # ONNX's own division rounds towards zero, and its remainder has the sign of the divisor.
        whole = self._node("Sub", left, self._node("Mod", left, right))
        return self._node("Div", whole, right)


def reshape_target(before: Sequence[Size], after: Sequence[Size]) -> list[int] | None:
    """Returns how ONNX's `Reshape` is told of `after` without sizes that only a run gives, else None.

    Its 0 copies the size at the same place, and its one -1 is what is left.
    """
    if 0 in after:
        return None
    copied = [
        0 if is_symbolic(size) and before[k : k + 1] == (size,) else size for k, size in enumerate(after)
    ]
    if sum(map(is_symbolic, copied)) > 1:
        return None
    return [-1 if is_symbolic(size) else int(size) for size in copied]


def expand_target(before: Sequence[Size], after: Sequence[Size]) -> list[Size]:
    """Returns `after` with 1 for the open sizes that `before` has already: ONNX's `Expand` keeps those."""
    padded: list[Any] = [1] * (len(after) - len(before)) + list(before)
    return [1 if is_symbolic(size) and own == size else size for own, size in zip(padded, after, strict=True)]
