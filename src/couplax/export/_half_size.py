"""Constants of a program in bfloat16 stay in bfloat16 in the file, and are cast where it starts."""

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np
import onnx_ir as ir

_LEAST = 1024
"""Below so many numbers a node more weighs more than what it saves."""


def register_at_half_size(graph: ir.Graph, constants: Iterable[ir.Value]) -> None:
    """Makes `constants` those of `graph`: large ones of float32 that bfloat16 holds are kept in that.

    ONNX Runtime casts them once, when it loads the file.
    """
    first = next(iter(graph), None)
    for constant in constants:
        small = _in_bfloat16(constant)
        if small is None or first is None:
            graph.register_initializer(constant)
        else:
            graph.register_initializer(small)
            constant.const_value = None
            cast = ir.node("Cast", [small], {"to": ir.DataType.FLOAT}, outputs=[constant], name=constant.name)
            graph.insert_before(first, cast)


def _in_bfloat16(constant: ir.Value) -> ir.Value | None:
    """Returns a constant of the same numbers in bfloat16, where it holds them and they are many."""
    array = None if constant.const_value is None else constant.const_value.numpy()
    if array is None or array.dtype != np.float32 or array.size < _LEAST:
        return None
    small = array.astype(jnp.bfloat16)
    if not np.array_equal(small.astype(np.float32), array, equal_nan=True):
        return None
    name = f"{constant.name}_bfloat16"
    tensor = ir.tensor(small, name=name)
    return ir.Value(
        name=name, type=ir.TensorType(ir.DataType.BFLOAT16), shape=constant.shape, const_value=tensor
    )
