"""`foreign_ffi`: a target of XLA's foreign function interface as a JAX function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.ffi
import jax.numpy as jnp
import numpy as np

from couplax._errors import DerivativeError
from couplax.foreign._code import Code, Frozen
from couplax.foreign._declaration import Outputs, declared, outputs_of
from couplax.foreign._differences import Forward
from couplax.foreign._foreign import Foreign, foreign
from couplax.foreign._host import Host
from couplax.foreign._native_linear import Call, NativeLinear, floating
from couplax.foreign._route import AbstractNative, lowered
from couplax.foreign._signature import Signature

Arrays = Sequence[Any]
_FORWARD = Forward()


def foreign_ffi(
    target_name: str,
    out: Any,
    *,
    attributes: dict[str, Any] | None = None,
    tangent: str | None = None,
    adjoint: str | None = None,
    differences: Forward = _FORWARD,
    precision: Any = None,
    scale: float | tuple[float, ...] | None = None,
    name: str | None = None,
) -> Foreign:
    """Returns an FFI target, registered with `jax.ffi.register_ffi_target`, as a differentiable JAX function.

    The target takes the flat arrays of the arguments and returns those of `out`. Programs call it themselves:
    it is not remembered, and only calls outside programs are counted.

    Args:
        out: what it returns: a dtype for a scalar, a `jax.ShapeDtypeStruct`, a pytree of them, or a function
            from input structs to such.
        attributes: the target's attributes, as numpy scalars, strings or arrays.
        tangent: a target for v -> J v: it takes the inputs and then a tangent of each floating-point one, and
            returns the tangents of the floating-point outputs. It has the same attributes.
        adjoint: a target for w -> J^T w: it takes the inputs and then a cotangent of each floating-point
            output, and returns the cotangents of the floating-point inputs.
        differences, precision, scale: as in `foreign`, for derivatives that have no target; first ones alone.
    """
    targets = Targets(target_name, tangent, adjoint, outputs_of(out), Frozen(attributes or {}))
    return foreign(
        FfiRoutine(targets),
        out,
        tangent=None if tangent is None else FfiTangent(targets),
        adjoint=None if adjoint is None else FfiAdjoint(targets),
        differences=Forward(differences.step),
        precision=precision,
        scale=scale,
        name=name or target_name,
    )


@dataclass(frozen=True, slots=True)
class Targets:
    """The names of the targets for the value, the tangent and the adjoint, with what they return."""

    value: str
    tangent: str | None
    adjoint: str | None
    out: Outputs | Callable[..., Any]
    attributes: Frozen

    def outputs(self, arguments: Arrays) -> Outputs:
        """Returns what the value's target returns for `arguments`."""
        structs = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), x.dtype), tuple(arguments))
        return declared(self.value, self.out, structs)

    def maker(self, target: str | None, structs: Arrays) -> Call:
        """Returns `target` as a function of flat arrays that returns arrays of these structs."""
        made = jax.ffi.ffi_call(str(target), list(structs), vmap_method="sequential")
        return lambda arrays: list(made(*arrays, **self.attributes.value))

    def linear(self, code: Code, signature: Signature) -> NativeLinear:
        """Returns the linear map of the targets in a program."""
        outputs, inputs = signature.out.structs, signature.arguments.structs
        tangents = [outputs[k] for k in floating(outputs)]
        cotangents = [inputs[k] for k in floating(inputs)]
        return NativeLinear(
            code=code,
            signature=signature,
            value=self.maker(self.value, outputs),
            tangent=None if self.tangent is None else self.maker(self.tangent, tangents),
            adjoint=None if self.adjoint is None else self.maker(self.adjoint, cotangents),
        )


@dataclass(frozen=True)
class FfiRoutine(AbstractNative):
    """The value's target as a routine: called by Python through JAX, and by programs itself."""

    targets: Targets

    def __call__(self, *arguments: Any) -> Any:
        """Returns the outputs at the arguments, outside programs."""
        outputs = self.targets.outputs(arguments)
        results = self.targets.maker(self.targets.value, outputs.structs)(jax.tree.leaves(arguments))
        return jax.tree.unflatten(outputs.tree, results)

    def lower_value(
        self,
        context: Any,
        operands: Arrays,
        *,
        host: Host,
        signature: Signature,
        mapped: Sequence[bool],
        lanes: int | None,
    ) -> Any:
        """Returns the lowered value."""
        value = self.targets.maker(self.targets.value, signature.out.structs)
        return lowered(context, lambda *x: value(x), operands, mapped, lanes)

    def lower_linear(
        self,
        context: Any,
        operands: Arrays,
        *,
        host: Host,
        signature: Signature,
        transposed: bool,
        mapped: Sequence[bool],
        lanes: int | None,
    ) -> Any:
        """Returns the lowered linear map.

        Raises:
            DerivativeError: differences of complex numbers are wanted.
        """
        linear = self.targets.linear(host.code, signature)
        if not linear.serves(transposed):
            raise DerivativeError(
                f"FFI target `{self.targets.value}` has complex arrays, of which no differences are taken "
                "here. Register a target for its tangent or its adjoint."
            )
        one = linear.transposed if transposed else linear.forward
        return lowered(context, one, operands, mapped, lanes)


@dataclass(frozen=True, slots=True)
class FfiTangent:
    """The tangent's target as a routine, outside programs."""

    targets: Targets

    def __call__(self, primals: Arrays, tangents: Arrays) -> Any:
        """Returns the tangents of the outputs."""
        outputs, x = self.targets.outputs(primals), jax.tree.leaves(primals)
        vectors = [v for v in jax.tree.leaves(tangents) if jnp.issubdtype(v.dtype, jnp.inexact)]
        places = floating(outputs.structs)
        made = self.targets.maker(self.targets.tangent, [outputs.structs[k] for k in places])
        given = dict(zip(places, made([*x, *vectors]), strict=True))
        leaves = [given.get(k, np.zeros(s.shape, s.dtype)) for k, s in enumerate(outputs.structs)]
        return jax.tree.unflatten(outputs.tree, leaves)


@dataclass(frozen=True, slots=True)
class FfiAdjoint:
    """The adjoint's target as a routine, outside programs."""

    targets: Targets

    def __call__(self, primals: Arrays, cotangents: Any) -> Any:
        """Returns the cotangents of the inputs, zeros for integers."""
        x, tree = jax.tree.flatten(tuple(primals))
        vectors = [w for w in jax.tree.leaves(cotangents) if jnp.issubdtype(w.dtype, jnp.inexact)]
        places = floating(x)
        structs = [jax.ShapeDtypeStruct(x[k].shape, x[k].dtype) for k in places]
        made = self.targets.maker(self.targets.adjoint, structs)
        given = dict(zip(places, made([*x, *vectors]), strict=True))
        return jax.tree.unflatten(tree, [given.get(k, np.zeros_like(leaf)) for k, leaf in enumerate(x)])
