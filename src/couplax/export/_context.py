"""What a rule has at hand: the equation, and the few ways to write nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.extend.core as jec
import numpy as np

from couplax._errors import ExportError
from couplax._sizes import Size, is_open, is_symbolic
from couplax._source import where
from couplax.export._kernels import carrier
from couplax.export._run_sizes import reshape_target
from couplax.export._types import TensorType, broadcast_shapes, describe_aval, tensor_type, type_of

if TYPE_CHECKING:
    import onnx_ir as ir

    from couplax.export._builder import Builder

_RESHAPES = frozenset({"Reshape"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """An equation being lowered.

    Attributes:
        eqn: the equation.
        builder: the graph being written.
        lower: from a closed jaxpr and the values of its inputs to the values of its outputs.
        place: the user's line behind the equation; nothing where there is none.
    """

    eqn: jec.JaxprEqn
    builder: "Builder"
    lower: Callable[[jec.ClosedJaxpr, Sequence["ir.Value"]], list["ir.Value"]]
    place: str = ""

    @property
    def out(self) -> TensorType:
        """The type of the equation's first output."""
        return self.outs[0]

    @property
    def outs(self) -> list[TensorType]:
        """The types of the equation's outputs."""
        return [tensor_type(var.aval) for var in self.eqn.outvars]

    @property
    def ins(self) -> list[TensorType]:
        """The types of the equation's inputs, at full size."""
        return [tensor_type(atom.aval) for atom in self.eqn.invars]

    def op(
        self,
        op_type: str,
        *inputs: "ir.Value | None",
        dtype: Any = None,
        shape: Sequence[Size] | None = None,
        **attributes: Any,
    ) -> "ir.Value":
        """Returns the output of an operator, run in a wider dtype where there is no kernel for its own.

        Args:
            dtype: that of the output; by default that of the first input.
            shape: that of the output; by default the one that all inputs broadcast to.
        """
        given = [value for value in inputs if value is not None]
        own = type_of(given[0]).dtype
        wide = carrier(op_type, own)
        if wide is None:
            raise self.refuse(f"ONNX Runtime has no `{op_type}` for {own.name}")
        if shape is None:
            shape = broadcast_shapes(*(type_of(value).shape for value in given))
        result = np.dtype(own if dtype is None else dtype)
        widened = [self._widen(value, own, wide) for value in inputs]
        made = TensorType(wide if result == own else result, tuple(shape))
        return self.cast(self._node(op_type, widened, [made], attributes)[0], result)

    def ops(
        self,
        op_type: str,
        *inputs: "ir.Value | None",
        outputs: Sequence[TensorType],
        domain: str = "",
        **attributes: Any,
    ) -> list["ir.Value"]:
        """Returns the outputs, of the types given, of an operator that has several, or is none of ONNX's."""
        return self._node(op_type, inputs, outputs, attributes, domain)

    def constant(self, array: Any, dtype: Any = None) -> "ir.Value":
        """Returns `array` as a constant; a list of integers is int64."""
        return self.builder.constant(np.asarray(array, dtype=dtype))

    def like(self, value: "ir.Value", number: Any) -> "ir.Value":
        """Returns the scalar `number` in the dtype of `value`."""
        return self.constant(number, type_of(value).dtype)

    def cast(self, value: "ir.Value", dtype: Any) -> "ir.Value":
        """Returns `value` cast to `dtype` as ONNX casts; itself where it has that dtype."""
        tensor = type_of(value)
        if tensor.dtype == np.dtype(dtype):
            return value
        array = self.known(value)
        if array is not None:
            return self.constant(array.astype(dtype))
        made = TensorType(np.dtype(dtype), tensor.shape)
        return self._node("Cast", [value], [made], {"to": self.onnx_dtype(dtype)})[0]

    def carried(self, op_type: str, value: "ir.Value") -> "ir.Value":
        """Returns `value` in a dtype that holds it and for which ONNX Runtime has a kernel of `op_type`."""
        own = type_of(value).dtype
        wide = carrier(op_type, own)
        if wide is None:
            raise self.refuse(f"ONNX Runtime has no `{op_type}` for {own.name}")
        return self.cast(value, wide)

    def reshape(self, value: "ir.Value", shape: Sequence[Size]) -> "ir.Value":
        """Returns `value` with another shape; a chain of reshapes is one."""
        shape = tuple(shape)
        array = self.known(value)
        if array is not None and array.shape != shape:
            return self.constant(array.reshape(shape))
        producer = value.producer()
        if producer is not None and producer.op_type in _RESHAPES and producer.inputs[0] is not None:
            value = producer.inputs[0]
        if type_of(value).shape == shape:
            return value
        return self._reshaped(value, shape)

    def sizes(self, shape: Sequence[Size]) -> "ir.Value":
        """Returns `shape` as a vector of int64, a constant where no size is open."""
        return self.builder.sizes.vector(shape)

    def size(self, size: Size) -> "ir.Value":
        """Returns `size` as an int64, a constant where it is not open."""
        return self.reshape(self.sizes([size]), ()) if is_symbolic(size) else self.constant(size, np.int64)

    def full(self, value: "ir.Value", shape: Sequence[Size]) -> "ir.Value":
        """Returns `value` broadcast to `shape`."""
        return self.builder.full(value, shape)

    def transpose(self, value: "ir.Value", permutation: Sequence[int]) -> "ir.Value":
        """Returns `value` with its axes in the order given."""
        permutation = [int(axis) for axis in permutation]
        if permutation == sorted(permutation):
            return value
        array = self.known(value)
        if array is not None:
            return self.constant(array.transpose(permutation))
        shape = type_of(value).shape
        return self.op("Transpose", value, shape=[shape[axis] for axis in permutation], perm=permutation)

    def where(self, condition: "ir.Value", true: "ir.Value", false: "ir.Value") -> "ir.Value":
        """Returns `true` where `condition`, else `false`."""
        tensor = type_of(true)
        wide = carrier("Where", tensor.dtype)
        if wide is None:
            raise self.refuse(f"ONNX Runtime has no `Where` for {tensor.dtype.name}")
        shapes = (type_of(value).shape for value in (condition, true, false))
        made = TensorType(wide, broadcast_shapes(*shapes))
        widened = [condition, self.cast(true, wide), self.cast(false, wide)]
        return self.cast(self._node("Where", widened, [made], {})[0], tensor.dtype)

    def known(self, value: "ir.Value") -> np.ndarray | None:
        """Returns the array that `value` is, where it is a constant."""
        return None if value.const_value is None else value.const_value.numpy()

    def onnx_dtype(self, dtype: Any) -> int:
        """Returns ONNX's number for `dtype`."""
        return self.builder.onnx_dtype(np.dtype(dtype))

    def graph(
        self,
        inputs: Sequence["ir.Value"],
        write: Callable[[], Sequence["ir.Value"]],
    ) -> tuple["ir.Graph", list[TensorType]]:
        """Returns a graph to stand in an attribute, and the types of its outputs."""
        return self.builder.graph(inputs, write, self.eqn.primitive.name)

    def refuse(self, reason: str) -> ExportError:
        """Returns the error that says why this equation cannot be written."""
        inputs = ", ".join(describe_aval(atom.aval) for atom in self.eqn.invars)
        return ExportError(
            f"JAX primitive `{self.eqn.primitive.name}` on ({inputs}), reached at {where(self.eqn)}, cannot "
            f"be written to ONNX: {reason}.\nRewrite that call."
        )

    def _reshaped(self, value: "ir.Value", shape: tuple[Size, ...]) -> "ir.Value":
        target = reshape_target(type_of(value).shape, shape) if is_open(shape) else None
        if target is not None:
            return self.op("Reshape", value, self.constant(target, np.int64), shape=shape)
        allow_zero = {"allowzero": 1} if 0 in shape else {}
        return self.op("Reshape", value, self.sizes(shape), shape=shape, **allow_zero)

    def _widen(self, value: "ir.Value | None", own: np.dtype, wide: np.dtype) -> "ir.Value | None":
        return self.cast(value, wide) if value is not None and type_of(value).dtype == own else value

    def _node(
        self,
        op_type: str,
        inputs: Sequence["ir.Value | None"],
        outputs: Sequence[TensorType],
        attributes: dict[str, Any],
        domain: str = "",
    ) -> list["ir.Value"]:
        reason = self.eqn.primitive.name
        return self.builder.node(op_type, inputs, outputs, attributes, reason, self.place, domain)
