"""The graph being written: nodes in blocks, constants once each, names, and the opset that it takes."""

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
import onnx_ir as ir

from couplax._sizes import Size, is_open, is_symbolic
from couplax.export._kernels import LOWEST_OPSET, SINCE
from couplax.export._run_sizes import RunSizes, expand_target
from couplax.export._types import OPEN_SHAPE, TensorType, type_of

# A broadcast constant up to this many elements is written out; beyond it the file would grow for nothing.
_LARGEST_CONSTANT = 1024


@dataclass(slots=True)
class _Block:
    """The nodes of one graph, with what they made: for reuse, and to know what is this graph's own."""

    nodes: list[ir.Node] = field(default_factory=list[ir.Node])
    made: dict[Hashable, list[ir.Value]] = field(default_factory=dict[Hashable, list[ir.Value]])
    own: set[int] = field(default_factory=set[int])


class Builder:
    """Writes a graph and the graphs inside it.

    Equal nodes are written once: a value made in this block or in one around it is used again. A graph
    inside another reads the values around it by name, as ONNX allows.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)
        self._count = 0
        self._constants: dict[Hashable, ir.Value] = {}
        self._blocks = [_Block()]
        self.opset, self.opset_reason = LOWEST_OPSET, "the reductions"
        self.sizes = RunSizes(self)

    @property
    def nodes(self) -> list[ir.Node]:
        """The nodes of the outermost graph."""
        return self._blocks[0].nodes

    @property
    def constants(self) -> list[ir.Value]:
        """The constants of the file."""
        return list(self._constants.values())

    def onnx_dtype(self, dtype: np.dtype) -> int:
        """Returns ONNX's number for `dtype`."""
        return int(ir.DataType.from_numpy(dtype))

    def value(self, stem: str, tensor: TensorType) -> ir.Value:
        """Returns a new value of the given type, with a name of its own."""
        value = ir.Value(
            name=self.name(stem),
            type=ir.TensorType(ir.DataType.from_numpy(tensor.dtype)),
            shape=ir.Shape([str(size) if is_symbolic(size) else size for size in tensor.shape]),
        )
        if is_open(tensor.shape):
            value.meta[OPEN_SHAPE] = tensor.shape
        return value

    def constant(self, array: np.ndarray) -> ir.Value:
        """Returns `array` as a constant of the file, the same one for equal arrays."""
        array = _kept(array)
        key = (array.dtype.name, array.shape, sha256(array.reshape(-1).view(np.uint8).data).digest())
        if key not in self._constants:
            value = self.value("constant", TensorType(array.dtype, array.shape))
            value.const_value = ir.tensor(array, name=value.name)
            self._constants[key] = value
        return self._constants[key]

    def full(self, value: ir.Value, shape: Sequence[Size]) -> ir.Value:
        """Returns `value` broadcast to `shape`."""
        tensor = TensorType(type_of(value).dtype, tuple(shape))
        if type_of(value) == tensor:
            return value
        if value.const_value is not None and not is_open(shape) and np.prod(shape) <= _LARGEST_CONSTANT:
            return self.constant(np.broadcast_to(value.const_value.numpy(), tensor.shape))
        target = self.sizes.vector(expand_target(type_of(value).shape, tensor.shape))
        return self.node("Expand", [value, target], [tensor], {}, "broadcast_in_dim")[0]

    def node(
        self,
        op_type: str,
        inputs: Sequence[ir.Value | None],
        outputs: Sequence[TensorType],
        attributes: dict[str, Any],
        reason: str,
        place: str = "",
        domain: str = "",
    ) -> list[ir.Value]:
        """Returns the outputs of a node, an equal one where there is one.

        Args:
            reason: the primitive that asks for it.
            place: the user's line that it comes from, which becomes its doc string.
            domain: that of the operator; by default ONNX's own.
        """
        self._raise_opset(SINCE.get(op_type, LOWEST_OPSET), reason)
        attributes = {name: _plain(item) for name, item in attributes.items()}
        frozen = sorted((name, _frozen(item)) for name, item in attributes.items())
        key = (domain, op_type, *map(id, inputs), *frozen)
        for block in reversed(self._blocks):
            if key in block.made:
                return block.made[key]
        made = [self.value(op_type.lower(), tensor) for tensor in outputs]
        said: dict[str, Any] = {"name": made[0].name, "doc_string": place or None, "domain": domain}
        node = ir.node(op_type, inputs, attributes, outputs=made, **said)
        self._append(key, made, node)
        return made

    def graph(
        self, inputs: Sequence[ir.Value], write: Callable[[], Sequence[ir.Value]], name: str
    ) -> tuple[ir.Graph, list[TensorType]]:
        """Returns the graph that `write` writes, to stand inside this one, and the types of its outputs."""
        self._blocks.append(_Block())
        try:
            outputs = self.distinct(write())
            block = self._blocks[-1]
        finally:
            self._blocks.pop()
        graph = ir.Graph(inputs, outputs, nodes=block.nodes, name=self.name(name))
        return graph, [type_of(output) for output in outputs]

    @contextmanager
    def outermost(self) -> Generator[None]:
        """Writes what is written meanwhile into the outermost graph, before the node being made."""
        blocks = self._blocks
        self._blocks = blocks[:1]
        try:
            yield
        finally:
            self._blocks = blocks

    def distinct(self, outputs: Sequence[ir.Value]) -> list[ir.Value]:
        """Returns `outputs` as values that a graph may give: made by its own nodes, and no two the same."""
        seen: set[int] = set()
        kept: list[ir.Value] = []
        for output in outputs:
            if id(output) in seen or id(output) not in self._blocks[-1].own:
                output = self._identity(output)
            seen.add(id(output))
            kept.append(output)
        return kept

    def _identity(self, value: ir.Value) -> ir.Value:
        made = self.value("identity", type_of(value))
        self._append(made.name, [made], ir.node("Identity", [value], {}, outputs=[made], name=made.name))
        return made

    def _append(self, key: Hashable, made: list[ir.Value], node: ir.Node) -> None:
        block = self._blocks[-1]
        block.nodes.append(node)
        block.made[key] = made
        block.own.update(map(id, made))

    def _raise_opset(self, opset: int, reason: str) -> None:
        if opset > self.opset:
            self.opset, self.opset_reason = opset, reason

    def name(self, stem: str) -> str:
        """Returns a name that nothing has, beginning with `stem`."""
        while True:
            name = f"{stem}_{self._count}"
            self._count += 1
            if name not in self._taken:
                return name


def _kept(array: np.ndarray) -> np.ndarray:
    """Returns `array` in C order, as a copy where what was handed in may change or is no array of C order."""
    may_change = array.flags.writeable or not array.flags.c_contiguous
    return np.array(array, order="C") if may_change else array


def _plain(item: Any) -> Any:
    """Returns `item` with Python's integers in place of numpy's, which JAX's params may hold."""
    if isinstance(item, list | tuple):
        return [_plain(each) for each in item]
    return int(item) if isinstance(item, np.integer) else item


def _frozen(item: Any) -> Hashable:
    if isinstance(item, list | tuple):
        return tuple(item)
    return id(item) if isinstance(item, ir.Graph) else item
