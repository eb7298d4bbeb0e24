"""Two primitives: a foreign code's value, and its derivative as a linear map.

`foreign_value_p` is y = f(x). `foreign_linear_p` is v -> J(x) v, or w -> J(x)^T w where `transposed`: linear
in its vectors, with transpose and batching rules, so that one set of rules gives forward mode, reverse mode,
Jacobians and `vmap` from whatever the code offers. Its operands are all of x, those of y that are wanted (a
difference starts from them), and the vectors.

A batched call has `lanes`: the operands that `mapped` marks have a leading axis of that size, the others are
    shared. All lanes
go to the host in one crossing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.core
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from couplax._errors import ForeignError
from couplax.foreign._host import Host
from couplax.foreign._route import lowering
from couplax.foreign._signature import Signature

Arrays = Sequence[np.ndarray]

foreign_value_p = jec.Primitive("foreign_value")
foreign_value_p.multiple_results = True

foreign_linear_p = jec.Primitive("foreign_linear")
foreign_linear_p.multiple_results = True

foreign_second_p = jec.Primitive("foreign_second")
foreign_second_p.multiple_results = True

FOREIGN_PRIMITIVES = frozenset({foreign_value_p, foreign_linear_p, foreign_second_p})
"""The primitives that call code outside JAX."""


def value_call(
    arrays: Arrays, *, host: Host, signature: Signature, mapped: Sequence[bool], lanes: int | None
) -> Arrays:
    """Returns the code's outputs, on the host."""
    if lanes is None:
        return host.value(signature, arrays)
    results = host.values(signature, [lane_of(arrays, mapped, k) for k in range(lanes)])
    return stacked(results, signature.out.structs, lanes)


def linear_call(
    arrays: Arrays,
    *,
    host: Host,
    signature: Signature,
    transposed: bool,
    mapped: Sequence[bool],
    lanes: int | None,
) -> Arrays:
    """Returns the derivative along the vectors, or its transpose, on the host."""
    derivative = host.adjoints if transposed else host.tangents
    if lanes is None:
        x, y, v = parts_of(signature, arrays)
        return derivative(signature, x, y, [v])[0]
    points: dict[bytes, list[int]] = {}
    for k in range(lanes):
        x, _, _ = parts_of(signature, lane_of(arrays, mapped, k))
        points.setdefault(b"".join(part.tobytes() for part in x), []).append(k)
    results: dict[int, Arrays] = {}
    for members in points.values():
        sweep = [parts_of(signature, lane_of(arrays, mapped, k)) for k in members]
        x, y, _ = sweep[0]
        results.update(zip(members, derivative(signature, x, y, [v for _, _, v in sweep]), strict=True))
    return stacked((results[k] for k in range(lanes)), linear_structs(signature, transposed), lanes)


def parts_of(
    signature: Signature, operands: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    """Returns the operands of the linear map as x, y and the vectors."""
    first = len(signature.arguments.structs)
    second = first + len(signature.outputs)
    return operands[:first], operands[first:second], operands[second:]


def lane_of(arrays: Arrays, mapped: Sequence[bool], lane: int) -> list[np.ndarray]:
    return [array[lane] if flag else array for array, flag in zip(arrays, mapped, strict=True)]


def stacked(results: Any, structs: Sequence[jax.ShapeDtypeStruct], lanes: int) -> list[np.ndarray]:
    stacks = [np.empty((lanes, *struct.shape), struct.dtype) for struct in structs]
    for k, result in enumerate(results):
        for stack, array in zip(stacks, result, strict=True):
            stack[k] = array
    return stacks


def linear_structs(signature: Signature, transposed: bool) -> list[jax.ShapeDtypeStruct]:
    if transposed:
        return [signature.arguments.structs[k] for k in signature.inputs]
    return [signature.out.structs[k] for k in signature.outputs]


def avals(structs: Sequence[jax.ShapeDtypeStruct], lanes: int | None) -> list[Any]:
    lead = () if lanes is None else (lanes,)
    return [jax.core.ShapedArray((*lead, *struct.shape), struct.dtype) for struct in structs]


@foreign_value_p.def_abstract_eval
def _value_avals(
    *operands: Any, host: Host, signature: Signature, mapped: Sequence[bool], lanes: int | None
) -> list[Any]:
    return avals(signature.out.structs, lanes)


@foreign_linear_p.def_abstract_eval
def _linear_avals(
    *operands: Any,
    host: Host,
    signature: Signature,
    transposed: bool,
    mapped: Sequence[bool],
    lanes: int | None,
) -> list[Any]:
    return avals(linear_structs(signature, transposed), lanes)


def eager(call: Callable[..., Arrays]) -> Callable[..., list[Any]]:
    def run(*operands: Any, **params: Any) -> list[Any]:
        return [jnp.asarray(array) for array in call([np.asarray(x) for x in operands], **params)]

    return run


foreign_value_p.def_impl(eager(value_call))
foreign_linear_p.def_impl(eager(linear_call))


def _value_prepared(*, host: Host, signature: Signature, mapped: Any, lanes: int | None) -> Any:
    return host.prepared(signature) if lanes is None else None


mlir.register_lowering(foreign_value_p, lowering(value_call, native="value", prepared=_value_prepared))
mlir.register_lowering(foreign_linear_p, lowering(linear_call, native="linear"))


def _value_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    host: Host,
    signature: Signature,
    mapped: tuple[bool, ...],
    lanes: int | None,
) -> tuple[list[Any], list[Any]]:
    outputs = foreign_value_p.bind(*primals, host=host, signature=signature, mapped=mapped, lanes=lanes)
    active = tuple(k for k, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero))
    wanted = tuple(k for k, s in enumerate(signature.out.structs) if jnp.issubdtype(s.dtype, jnp.inexact))
    zeros = [ad.Zero(jax.typeof(output).to_tangent_aval()) for output in outputs]
    if not active or not wanted:
        return outputs, zeros
    moved = replace(signature, inputs=active, outputs=wanted)
    vectors = [tangents[k] for k in active]
    if host.code.reference is not None:
        derivatives = _by_reference(host.code.reference, moved, primals, vectors, mapped, lanes)
    else:
        derivatives = foreign_linear_p.bind(
            *primals,
            *(outputs[k] for k in wanted),
            *vectors,
            host=host,
            signature=moved,
            transposed=False,
            mapped=(*mapped, *[lanes is not None] * len(wanted), *(mapped[k] for k in active)),
            lanes=lanes,
        )
    given = dict(zip(wanted, derivatives, strict=True))
    return outputs, [given.get(k, zero) for k, zero in enumerate(zeros)]


ad.primitive_jvps[foreign_value_p] = _value_jvp


def _by_reference(
    reference: Callable[..., Any],
    signature: Signature,
    primals: Sequence[Any],
    vectors: Sequence[Any],
    mapped: Sequence[bool],
    lanes: int | None,
) -> list[Any]:
    """Returns the tangents of the wanted outputs by the JAX function that stands for the code."""

    def of_active(*active: Any) -> list[Any]:
        given = dict(zip(signature.inputs, active, strict=True))
        leaves = [given.get(k, primal) for k, primal in enumerate(primals)]
        outputs = referenced(reference, signature, leaves, mapped, lanes)
        return [outputs[k] for k in signature.outputs]

    return jax.jvp(of_active, [primals[k] for k in signature.inputs], vectors)[1]


def referenced(
    reference: Callable[..., Any],
    signature: Signature,
    leaves: Sequence[Any],
    mapped: Sequence[bool],
    lanes: int | None,
) -> list[Any]:
    """Returns the flat outputs of the JAX function that stands for the code.

    Raises:
        ForeignError: it does not return what the code declares.
    """

    def once(*flat: Any) -> list[Any]:
        result = reference(*signature.as_arguments(flat))
        values, tree = jax.tree.flatten(result)
        came, want = [jax.typeof(value) for value in values], signature.out.structs
        if tree != signature.out.tree or [aval.shape for aval in came] != [struct.shape for struct in want]:
            raise ForeignError(
                f"Reference `{getattr(reference, '__name__', reference)}` returns {tree} of shapes "
                f"{[aval.shape for aval in came]}, and its fast code declares {signature.out.tree} of shapes "
                f"{[struct.shape for struct in want]}. The two must return alike."
            )
        return [jnp.asarray(value, s.dtype) for value, s in zip(values, want, strict=True)]

    if lanes is None:
        return once(*leaves)
    return jax.vmap(once, in_axes=tuple(0 if flag else None for flag in mapped), axis_size=lanes)(*leaves)


def _linear_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    host: Host,
    signature: Signature,
    transposed: bool,
    mapped: tuple[bool, ...],
    lanes: int | None,
) -> list[Any]:
    x, y, v = parts_of(signature, operands)
    x_mapped, y_mapped, v_mapped = parts_of(signature, mapped)
    kept = [k for k, cotangent in enumerate(cotangents) if not isinstance(cotangent, ad.Zero)]
    if not kept:
        return [None] * len(operands)
    # An output whose cotangent is symbolically zero is left out, so that a nan in it cannot spoil the rest.
    if transposed:
        signature = replace(signature, inputs=tuple(signature.inputs[k] for k in kept))
    else:
        y, y_mapped = [y[k] for k in kept], [y_mapped[k] for k in kept]
        signature = replace(signature, outputs=tuple(signature.outputs[k] for k in kept))
    results = foreign_linear_p.bind(
        *x,
        *y,
        *(cotangents[k] for k in kept),
        host=host,
        signature=signature,
        transposed=not transposed,
        mapped=(*x_mapped, *y_mapped, *[lanes is not None] * len(kept)),
        lanes=lanes,
    )
    return [*[None] * (len(operands) - len(v)), *summed(results, v_mapped, lanes)]


ad.primitive_transposes[foreign_linear_p] = _linear_transpose


def summed(results: Sequence[Any], mapped: Sequence[bool], lanes: int | None) -> list[Any]:
    """Returns the cotangents of operands, summed over the lanes that share one."""
    pairs = zip(results, mapped, strict=True)
    return [result.sum(axis=0) if lanes is not None and not flag else result for result, flag in pairs]


def batcher(primitive: jec.Primitive) -> Callable[..., Any]:
    """Returns the batching rule of `primitive`: a new axis becomes lanes, or is merged into them."""

    def rule(
        operands: Sequence[Any],
        axes: Sequence[int | None],
        *,
        mapped: tuple[bool, ...],
        lanes: int | None,
        **params: Any,
    ) -> tuple[list[Any], list[int]]:
        size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
        new = tuple(axis is not None for axis in axes)
        pairs = zip(operands, axes, strict=True)
        fronted = [jnp.moveaxis(x, axis, 0) if axis is not None else x for x, axis in pairs]
        if lanes is None:
            outputs = primitive.bind(*fronted, mapped=new, lanes=size, **params)
        else:
            merged = [
                _merged(*part, size=size, lanes=lanes) for part in zip(fronted, new, mapped, strict=True)
            ]
            either = tuple(a or b for a, b in zip(new, mapped, strict=True))
            wide = primitive.bind(*merged, mapped=either, lanes=size * lanes, **params)
            outputs = [out.reshape(size, lanes, *out.shape[1:]) for out in wide]
        return outputs, [0] * len(outputs)

    return rule


def _merged(operand: Any, new: bool, mapped: bool, *, size: int, lanes: int) -> Any:
    """Returns `operand` with its new axis and its lanes as one; one that has neither stays shared."""
    if not new and not mapped:
        return operand
    rest = operand.shape[int(new) + int(mapped) :]
    lead = (size if new else 1, lanes if mapped else 1)
    return jnp.broadcast_to(operand.reshape(*lead, *rest), (size, lanes, *rest)).reshape(size * lanes, *rest)


batching.primitive_batchers[foreign_value_p] = batcher(foreign_value_p)
batching.primitive_batchers[foreign_linear_p] = batcher(foreign_linear_p)
