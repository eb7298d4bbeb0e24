"""A program as TensorFlow functions: one operation holds the whole module, and XLA compiles it."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import jax
import jax.extend.core as jec

from couplax._errors import ExportError
from couplax.export._module import written_for
from couplax.export._program import Program, Struct, has_cotangent, structs_of
from couplax.export._to_stablehlo import lowered, run_flat

_VERSION = "1.8.0"
"""The StableHLO that TensorFlow reads from 2.18 on."""

Tensors = Sequence[Any]


def tensorflow() -> Any:
    """Returns the package, which takes seconds to load."""
    return import_module("tensorflow")


def flat_function(program: Program, platforms: Sequence[str] | None) -> Callable[..., Tensors]:
    """Returns a function from flat tensors to flat tensors, with the gradient that `program` has.

    Raises:
        ExportError: TensorFlow has no tensors of what comes in or goes out, or lacks an operation.
    """
    for struct in (*program.inputs, *program.outputs):
        _dtype(struct)
    forward = _operation(program.forward, platforms)
    if program.reverse is None:
        return _without_gradient(forward, program.outputs)
    reverse = _operation(program.reverse, platforms)
    return _with_gradient(forward, reverse, program)


def spec(struct: Struct, name: str) -> Any:
    """Returns `struct` as TensorFlow says it, symbolic sizes as None."""
    return tensorflow().TensorSpec(_sizes(struct), _dtype(struct), name=name)


def _operation(closed: jec.ClosedJaxpr, platforms: Sequence[str] | None) -> Callable[..., Tensors]:
    exported = lowered(lambda *flat: run_flat(closed, *flat), structs_of(closed.in_avals), platforms)
    module = written_for(exported, _VERSION)
    outputs = structs_of(exported.out_avals)
    call_module = import_module("tensorflow.compiler.tf2xla.python.xla").call_module

    def operation(*flat: Any) -> Tensors:
        return call_module(
            [flat[index] for index in exported.module_kept_var_idx],
            version=exported.calling_convention_version,
            module=module,
            Tout=[_dtype(struct) for struct in outputs],
            Sout=[_sizes(struct) for struct in outputs],
            platforms=[name.upper() for name in exported.platforms],
        )

    return operation


def _without_gradient(forward: Callable[..., Tensors], outputs: Sequence[Struct]) -> Callable[..., Tensors]:
    """Returns `forward` with an error where TensorFlow differentiates it, which else takes zeros."""
    message = "This function was written without its gradient. Write it with `gradients=True`."

    def guarded(*flat: Any) -> Tensors:
        given = zip(forward(*flat), outputs, strict=True)
        prevent = tensorflow().raw_ops.PreventGradient
        return [prevent(input=t, message=message) if has_cotangent(struct) else t for t, struct in given]

    return guarded


def _with_gradient(
    forward: Callable[..., Tensors], reverse: Callable[..., Tensors], program: Program
) -> Callable[..., Tensors]:
    moving = [struct for struct in program.inputs if has_cotangent(struct)]
    pulled = _without_gradient(reverse, moving)

    def differentiable(*flat: Any) -> tuple[Tensors, Callable[..., Tensors]]:
        def gradient(*cotangents: Any, variables: Any = None) -> Tensors:
            pairs = zip(cotangents, program.outputs, strict=True)
            found = iter(pulled(*flat, *(ct for ct, struct in pairs if has_cotangent(struct))))
            return [next(found) if has_cotangent(struct) else None for struct in program.inputs]

        return forward(*flat), gradient

    return tensorflow().custom_gradient(differentiable)


def _sizes(struct: Struct) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) else None for size in struct.shape)


def _dtype(struct: Struct) -> Any:
    if jax.dtypes.issubdtype(struct.dtype, jax.dtypes.extended):
        raise ExportError(
            f"TensorFlow has no tensors of {struct.dtype}. Take and return `jax.random.key_data(key)`."
        )
    return tensorflow().as_dtype(struct.dtype)
