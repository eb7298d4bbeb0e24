"""Second derivatives: how the linear map v -> J(x) v changes with x, by differences of what the code offers.

`foreign_second_p` is D^2 f(x)[v, m], the change of J(x) v as x makes the move m, or of J(x)^T w where
`transposed`. It is linear in its vectors and in its moves, and the two forms are each other's transposes: <w,
D^2 f [v, m]> is symmetric in v and m. Its operands are all of x, the vectors, and a move for each active
input.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from couplax._errors import DerivativeError
from couplax.foreign._host import Host
from couplax.foreign._primitives import (
    avals,
    batcher,
    eager,
    foreign_linear_p,
    foreign_second_p,
    lane_of,
    linear_structs,
    parts_of,
    stacked,
    summed,
)
from couplax.foreign._route import lowering
from couplax.foreign._signature import Signature

Array = np.ndarray[Any, Any]


def second_call(
    arrays: Sequence[Array],
    *,
    host: Host,
    signature: Signature,
    transposed: bool,
    mapped: Sequence[bool],
    lanes: int | None,
) -> Sequence[Array]:
    """Returns how the derivative along the vectors, or its transpose, changes by the moves, on the host."""
    derivative = host.second_adjoint if transposed else host.second_tangent
    if lanes is None:
        return derivative(signature, *_split(signature, transposed, arrays))
    results = (
        derivative(signature, *_split(signature, transposed, lane_of(arrays, mapped, k)))
        for k in range(lanes)
    )
    return stacked(results, linear_structs(signature, transposed), lanes)


def _split(signature: Signature, transposed: bool, operands: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Returns the operands as x, the vectors and the moves."""
    first = len(signature.arguments.structs)
    second = first + len(signature.outputs if transposed else signature.inputs)
    return operands[:first], operands[first:second], operands[second:]


@foreign_second_p.def_abstract_eval
def _second_avals(
    *operands: Any,
    host: Host,
    signature: Signature,
    transposed: bool,
    mapped: Sequence[bool],
    lanes: int | None,
) -> list[Any]:
    return avals(linear_structs(signature, transposed), lanes)


foreign_second_p.def_impl(eager(second_call))
mlir.register_lowering(foreign_second_p, lowering(second_call))
batching.primitive_batchers[foreign_second_p] = batcher(foreign_second_p)


def _linear_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    host: Host,
    signature: Signature,
    transposed: bool,
    mapped: tuple[bool, ...],
    lanes: int | None,
) -> tuple[list[Any], list[Any]]:
    params: dict[str, Any] = {"host": host, "transposed": transposed, "lanes": lanes}
    x, y, v = parts_of(signature, primals)
    x_moves, _, v_moves = parts_of(signature, tangents)
    outputs = foreign_linear_p.bind(*primals, signature=signature, mapped=mapped, **params)
    parts: list[Sequence[Any]] = []
    if any(not isinstance(move, ad.Zero) for move in v_moves):
        vectors = [ad.instantiate_zeros(move) for move in v_moves]
        parts.append(foreign_linear_p.bind(*x, *y, *vectors, signature=signature, mapped=mapped, **params))
    if any(not isinstance(move, ad.Zero) for move in x_moves):
        parts.append(_by_second(x, v, x_moves, signature, mapped, params))
    if not parts:
        return outputs, [ad.Zero(jax.typeof(output).to_tangent_aval()) for output in outputs]
    return outputs, [sum(terms[1:], start=terms[0]) for terms in zip(*parts, strict=True)]


ad.primitive_jvps[foreign_linear_p] = _linear_jvp


def _by_second(
    x: Sequence[Any],
    v: Sequence[Any],
    x_moves: Sequence[Any],
    signature: Signature,
    mapped: tuple[bool, ...],
    params: dict[str, Any],
) -> Sequence[Any]:
    """Returns how the outputs of the linear map change as x moves."""
    host: Host = params["host"]
    if host.code.differences.second is None:
        raise DerivativeError(_WAYS_OUT.format(name=host.code.name))
    moving = {k: move for k, move in enumerate(x_moves) if not isinstance(move, ad.Zero)}
    every = tuple(sorted({*signature.inputs, *moving}))
    x_mapped, _, v_mapped = parts_of(signature, mapped)
    moves, moves_mapped = _spread(signature, every, moving, {k: x_mapped[k] for k in moving})
    vectors, vectors_mapped = list(v), list(v_mapped)
    if not params["transposed"]:
        given = dict(zip(signature.inputs, v, strict=True))
        vectors, vectors_mapped = _spread(
            signature, every, given, dict(zip(signature.inputs, v_mapped, strict=True))
        )
    outputs = foreign_second_p.bind(
        *x,
        *vectors,
        *moves,
        signature=replace(signature, inputs=every),
        mapped=(*x_mapped, *vectors_mapped, *moves_mapped),
        **params,
    )
    if not params["transposed"]:
        return outputs
    found = dict(zip(every, outputs, strict=True))
    return [found[k] for k in signature.inputs]


_WAYS_OUT = (
    "A second derivative of foreign code `{name}` is asked for, and it offers a first one at most. Ask for "
    "second ones by differences of the first, differences=couplax.Central(second=1e-4), use a method that "
    "needs first derivatives alone, or pair the code with a JAX function, couplax.paired(fast, reference)."
)


def _spread(
    signature: Signature, every: Sequence[int], given: dict[int, Any], mapped: dict[int, bool]
) -> tuple[list[Any], list[bool]]:
    """Returns a vector for each of the inputs `every`, zero where none is given, and which have lanes."""
    structs = signature.arguments.structs
    vectors = [given.get(k, jnp.zeros(structs[k].shape, structs[k].dtype)) for k in every]
    return vectors, [mapped.get(k, False) for k in every]


def _second_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, host: Host, signature: Signature, **params: Any
) -> tuple[list[Any], list[Any]]:
    x, vectors, moves = _split(signature, params["transposed"], primals)
    dx, dvectors, dmoves = _split(signature, params["transposed"], tangents)
    if any(not isinstance(move, ad.Zero) for move in dx):
        raise DerivativeError(
            f"A third derivative of foreign code `{host.code.name}` is asked for; couplax offers two by "
            "differences. Pair the code with a JAX function, couplax.paired(fast, reference)."
        )
    full = {"host": host, "signature": signature, **params}
    outputs = foreign_second_p.bind(*primals, **full)
    parts = [
        foreign_second_p.bind(*x, *map(ad.instantiate_zeros, dvectors), *moves, **full),
        foreign_second_p.bind(*x, *vectors, *map(ad.instantiate_zeros, dmoves), **full),
    ]
    return outputs, [left + right for left, right in zip(*parts, strict=True)]


ad.primitive_jvps[foreign_second_p] = _second_jvp


def _second_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    host: Host,
    signature: Signature,
    transposed: bool,
    mapped: tuple[bool, ...],
    lanes: int | None,
) -> list[Any]:
    x, vectors, moves = _split(signature, transposed, operands)
    x_mapped, vectors_mapped, moves_mapped = _split(signature, transposed, mapped)
    weights = [ad.instantiate_zeros(cotangent) for cotangent in cotangents]
    weights_mapped = [lanes is not None] * len(weights)
    of_moves = any(ad.is_undefined_primal(move) for move in moves)
    fixed, fixed_mapped = (vectors, vectors_mapped) if of_moves else (moves, moves_mapped)
    # The trilinear form <w, D^2 f [v, m]>, read for the operand that is not there; what is not transposed
    # weighs outputs.
    first, second, form = (weights, fixed, True)
    first_mapped, second_mapped = weights_mapped, fixed_mapped
    if transposed and of_moves:
        first, second, first_mapped, second_mapped = fixed, weights, fixed_mapped, weights_mapped
    elif transposed:
        form = False
    results = foreign_second_p.bind(
        *x,
        *first,
        *second,
        host=host,
        signature=signature,
        transposed=form,
        mapped=(*x_mapped, *first_mapped, *second_mapped),
        lanes=lanes,
    )
    target_mapped = moves_mapped if of_moves else vectors_mapped
    sums = summed(results, target_mapped, lanes)
    blank_vectors, blank_moves = [None] * len(vectors), [None] * len(moves)
    return [*[None] * len(x), *(blank_vectors if of_moves else sums), *(sums if of_moves else blank_moves)]


ad.primitive_transposes[foreign_second_p] = _second_transpose
