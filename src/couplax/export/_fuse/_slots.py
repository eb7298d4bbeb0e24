"""What stands in the slots of a buffer that is written slot by slot at known places."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._graphs import constant_of, has_shape, inner_graphs, rank
from couplax.export._types import type_of


@dataclass(frozen=True, slots=True)
class Slot:
    """What stands in a slot: all of `value`, or its part at `index` where that is given, or a constant."""

    value: ir.Value | None
    index: int | None = None
    constant: np.ndarray | None = None

    def is_same(self, other: "Slot") -> bool:
        """Returns whether both are the same constant."""
        ours, theirs = self.constant, other.constant
        return ours is not None and theirs is not None and np.array_equal(ours, theirs)


def slots_of(value: ir.Value, length: int) -> list[Slot]:
    """Returns what stands in `value`, taken as slots of `length` numbers each."""
    maker, array = value.producer(), constant_of(value)
    if array is not None:
        return [Slot(None, constant=part) for part in array.reshape(-1, length)]
    read = _READ.get(maker.op_type) if maker is not None else None
    found = read(maker, value, length) if maker is not None and read is not None else None
    count = int(np.prod(type_of(value).shape)) // length
    return found or [Slot(value, index) for index in range(count)]


def are_known(slots: Sequence[Slot]) -> bool:
    """Returns whether something is known of `slots`, and each that is not stands in a matrix of slots."""
    told = [slot for slot in slots if slot.index is None]
    others = [slot.value for slot in slots if slot.index is not None]
    return bool(told) and all(value is not None and rank(value) == 2 for value in others)


def _of_input(node: ir.Node, _: ir.Value, length: int) -> list[Slot] | None:
    value = node.inputs[0]
    return None if value is None or not has_shape(value) else slots_of(value, length)


def _of_write(node: ir.Node, _: ir.Value, length: int) -> list[Slot] | None:
    """Returns the slots behind a write that fills one slot from its start to its end."""
    buffer, places, update = node.inputs
    where = constant_of(places)
    if buffer is None or where is None or where.size != length or where[0] % length:
        return None
    if node.attributes.get_string("reduction", "none") != "none" or where.ndim != 1:
        return None
    if not np.array_equal(where, where[0] + np.arange(length)):
        return None
    slots = slots_of(buffer, length)
    slots[int(where[0]) // length] = Slot(update)
    return slots


def _of_branches(node: ir.Node, value: ir.Value, length: int) -> list[Slot] | None:
    """Returns the slots of what a branch gives: constants where both branches have the same ones."""
    index = list(node.outputs).index(value)
    both = [slots_of(graph.outputs[index], length) for graph in inner_graphs(node)]
    return [one if one.is_same(other) else Slot(value, at) for at, (one, other) in enumerate(_zipped(both))]


def _zipped(both: Sequence[list[Slot]]) -> list[tuple[Slot, Slot]]:
    return list(zip(*both, strict=True))


_READ: Mapping[str, Callable[[ir.Node, ir.Value, int], list[Slot] | None]] = {
    "Identity": _of_input,
    "If": _of_branches,
    "Reshape": _of_input,
    "ScatterElements": _of_write,
}
"""How the slots of what a node gives are read off, by its operator."""
