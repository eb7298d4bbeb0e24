"""The linear map of a native routine in a program: its own derivatives, or differences in JAX."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax.foreign._code import Code
from couplax.foreign._differences import Forward
from couplax.foreign._primitives import parts_of
from couplax.foreign._signature import Signature

Arrays = Sequence[Any]
Call = Callable[[Arrays], list[Any]]
"""A call of a routine on flat arrays."""
Along = Callable[[Arrays], list[Any]]
"""The derivative of the wanted outputs along one vector per active input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeLinear:
    """v -> J(x) v and w -> J(x)^T w of a routine, as functions of the linear primitive's operands.

    Attributes:
        value: from x to the flat outputs, for differences.
        tangent: from x and a tangent of each floating-point input to the tangents of the floating-point
            outputs.
        adjoint: from x and a cotangent of each floating-point output to the cotangents of the floating-point
            inputs.
    """

    code: Code
    signature: Signature
    value: Call
    tangent: Call | None
    adjoint: Call | None

    def serves(self, transposed: bool) -> bool:
        """Returns whether the map can be made here; if not, the host has the differences that are wanted."""
        own = self.tangent is not None or (transposed and self.adjoint is not None)
        return self.code.sparsity is None and (own or _can_difference(self.code, self.signature))

    def forward(self, *operands: Any) -> list[Any]:
        """Returns J(x) v for the wanted outputs."""
        x, y, v = parts_of(self.signature, operands)
        return self._along(x, y)(v)

    def transposed(self, *operands: Any) -> list[Any]:
        """Returns J(x)^T w for the active inputs."""
        x, y, w = parts_of(self.signature, operands)
        if self.adjoint is None:
            return _by_columns(self._along(x, y), [x[k] for k in self.signature.inputs], w)
        structs, given = self.signature.out.structs, dict(zip(self.signature.outputs, w, strict=True))
        dense = [given.get(k, jnp.zeros(structs[k].shape, structs[k].dtype)) for k in floating(structs)]
        results = dict(zip(floating(x), self.adjoint([*x, *dense]), strict=True))
        return [results[k].astype(x[k].dtype) for k in self.signature.inputs]

    def _along(self, x: Arrays, y: Arrays) -> Along:
        if self.tangent is None:
            return along_by_differences(self.code, self.signature, self.value, x, y)
        tangent = self.tangent

        def along(vectors: Arrays) -> list[Any]:
            given = dict(zip(self.signature.inputs, vectors, strict=True))
            dense = [given.get(k, jnp.zeros_like(x[k])) for k in floating(x)]
            results = dict(zip(floating(self.signature.out.structs), tangent([*x, *dense]), strict=True))
            return [results[k] for k in self.signature.outputs]

        return along


def floating(structs: Arrays) -> list[int]:
    """Returns the places of what has derivatives."""
    return [k for k, struct in enumerate(structs) if jnp.issubdtype(struct.dtype, jnp.inexact)]


def _can_difference(code: Code, signature: Signature) -> bool:
    """Returns whether the differences below serve: forward differences of real numbers, without bounds."""
    kinds = {np.dtype(struct.dtype).kind for struct in (*signature.arguments.structs, *signature.out.structs)}
    return type(code.differences) is Forward and code.bounds.value is None and "c" not in kinds


def along_by_differences(code: Code, signature: Signature, value: Call, x: Arrays, y: Arrays) -> Along:
    """Returns v -> J(x) v by the forward difference that the host takes: the same step to the same point.

    Where v is zero the code is called once more than by the host, and the result is zero all the same.

    Args:
        y: the wanted outputs at x.
    """
    active = signature.inputs
    typical = [_typical(x[k], scale) for k, scale in zip(active, _scales(code, x, active), strict=True)]

    def along(vectors: Arrays) -> list[Any]:
        wide = [_wide(v) for v in vectors]
        pivot, size = _pivot(wide, typical)
        # The placeholder for a zero direction keeps the arithmetic free of 0/0; the factor undoes it.
        safe = jnp.where(pivot == 0, 1.0, pivot)
        units = [v / safe for v in wide]
        step = size * (
            _root(code, x, active, wide) if code.differences.step is None else code.differences.step
        )
        there = [_moved(x[k], step, unit) for k, unit in zip(active, units, strict=True)]
        moves = [_wide(t) - _wide(x[k]) for k, t in zip(active, there, strict=True)]
        moved = sum(jnp.vdot(unit, move) for unit, move in zip(units, moves, strict=True))
        length = sum(jnp.vdot(unit, unit) for unit in units)
        factor = jnp.where(pivot == 0, 0.0, pivot * length / jnp.where(pivot == 0, 1.0, moved))
        given = dict(zip(active, there, strict=True))
        results = value([given.get(k, leaf) for k, leaf in enumerate(x)])
        return [
            jnp.asarray((results[k] - here) * factor, here.dtype)
            for k, here in zip(signature.outputs, y, strict=True)
        ]

    return along


def _by_columns(along: Along, like: Arrays, ws: Arrays) -> list[Any]:
    """Returns J^T w in the shapes of `like`, from the columns of J: one call of `along` for each element."""
    sizes = [int(np.prod(struct.shape)) for struct in like]
    ends = np.cumsum([0, *sizes])

    def column(index: Any) -> Any:
        vectors = [
            (jnp.arange(size) + start == index).astype(struct.dtype).reshape(struct.shape)
            for struct, size, start in zip(like, sizes, ends, strict=False)
        ]
        return sum(jnp.vdot(c, w).astype(float) for c, w in zip(along(vectors), ws, strict=True))

    if ends[-1] == 0:
        return [jnp.zeros(struct.shape, struct.dtype) for struct in like]
    flat = jax.lax.map(column, jnp.arange(ends[-1])) if ends[-1] > 1 else column(0).reshape(1)
    parts = jnp.split(flat, ends[1:-1])
    return [part.reshape(s.shape).astype(s.dtype) for part, s in zip(parts, like, strict=True)]


def _scales(code: Code, x: Arrays, active: Sequence[int]) -> list[Any]:
    scale = code.scale.value
    return [scale[k] if isinstance(scale, tuple) else scale for k in active]


def _typical(x: Any, scale: Any) -> Any:
    return jnp.maximum(jnp.maximum(jnp.abs(x), scale), jnp.finfo(x.dtype).tiny).astype(float)


def _pivot(vectors: Arrays, typical: Arrays) -> tuple[Any, Any]:
    """Returns the element that moves most for its size, and that size; the first of equals, like the host."""
    flat = jnp.concatenate([v.ravel() for v in vectors])
    sizes = jnp.concatenate(
        [jnp.broadcast_to(t, v.shape).ravel() for t, v in zip(typical, vectors, strict=True)]
    )
    place = jnp.argmax(jnp.abs(flat) / sizes)
    return flat[place], sizes[place]


def _root(code: Code, x: Arrays, active: Sequence[int], vectors: Arrays) -> Any:
    """Returns the root of the spacing of the coarsest numbers that move."""
    roots = [_epsilon(code, x[k].dtype) ** 0.5 for k in active]
    if len(set(roots)) == 1:
        return roots[0]
    moving = [jnp.where(jnp.any(v != 0), root, 0.0) for v, root in zip(vectors, roots, strict=True)]
    return jnp.max(jnp.stack(moving))


def _epsilon(code: Code, dtype: Any) -> float:
    dtypes = [dtype] if code.precision is None else [dtype, np.dtype(code.precision)]
    return max(float(jnp.finfo(d).eps) for d in dtypes)


def _moved(x: Any, step: Any, unit: Any) -> Any:
    # XLA may keep the sum in registers wider than x; the barrier makes it the number that the routine sees.
    return jax.lax.optimization_barrier((_wide(x) + step * unit).astype(x.dtype))


def _wide(array: Any) -> Any:
    return jnp.asarray(array, float)
