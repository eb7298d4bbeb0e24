"""Known values: those that depend on no input, so that they can be computed while the program is staged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax.foreign._primitives import FOREIGN_PRIMITIVES
from couplax.stage._interpret import UNKNOWN, Value, bind, interpret, is_known, trace

_HOST_CALLS = frozenset({"pure_callback", "io_callback", "debug_callback", "debug_print"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much specialisation may grow a program.

    Attributes:
        elements: a folded array has at most this many elements, unless the arrays it is made of have more.
        equations: a loop is unrolled where its trips together have at most this many equations.
        trips: a known loop of more trips stays as it is.
        table: the known values of a loop's trips take at most this many bytes, else the loop stays as it is.
    """

    elements: int = 4096
    equations: int = 256
    trips: int = 100_000
    table: int = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """What is left of a jaxpr once some of its inputs are known.

    Attributes:
        closed: from the unknown inputs to all the outputs.
        outputs: per output its value where that is known, else `UNKNOWN`.
    """

    closed: jec.ClosedJaxpr
    outputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialiseContext:
    """What a specialise rule may ask for: the equation, the budget, and the pass itself for jaxprs inside."""

    eqn: jec.JaxprEqn
    budget: Budget
    handle: Callable[[jec.JaxprEqn, list[Value]], Sequence[Value]]

    def evaluate(self, closed: jec.ClosedJaxpr, inputs: Sequence[Value]) -> list[Value]:
        """Returns the outputs of `closed`, specialised, on `inputs`; known ones come out as numbers."""
        return interpret(closed, inputs, self.handle)

    def residual(self, closed: jec.ClosedJaxpr, inputs: Sequence[Value]) -> Residual:
        """Returns what is left of `closed` where `inputs` holds numbers, and avals for what is unknown."""
        outputs: list[Value] = []

        def unknown_part(*unknown: Value) -> list[Value]:
            rest = iter(unknown)
            merged = [value if is_known(value) else next(rest) for value in inputs]
            results = self.evaluate(closed, merged)
            outputs[:] = [value if is_known(value) else UNKNOWN for value in results]
            return results

        residual = trace(unknown_part, [value for value in inputs if not is_known(value)])
        return Residual(closed=residual, outputs=tuple(outputs))

    def keep(self, *inputs: Value, **changed: Any) -> list[Value]:
        """Returns the outputs of the equation's own primitive, which so stays in the program."""
        return bind(self.eqn, inputs, **changed)


def abstract(value: Value) -> Any:
    """Returns `value` where it is known, else its abstract value."""
    return value if is_known(value) else jax.typeof(value)


def is_foldable(eqn: jec.JaxprEqn, inputs: Sequence[Value], budget: Budget) -> bool:
    """Returns whether `eqn` may be run now: inputs known, no host code, no array out of proportion."""
    if not all(is_known(value) for value in inputs) or eqn.effects or calls_host(eqn):
        return False
    size = sum(_elements(var.aval) for var in eqn.outvars)
    return size <= max(budget.elements, sum(np.size(value) for value in inputs))


def _elements(aval: Any) -> int:
    return int(np.prod(getattr(aval, "shape", ())))


def fold(eqn: jec.JaxprEqn, inputs: Sequence[Value]) -> list[Value]:
    """Returns the outputs of `eqn`, run here and now."""
    with jax.ensure_compile_time_eval():
        return bind(eqn, inputs)


def calls_host(eqn: jec.JaxprEqn) -> bool:
    """Returns whether `eqn` calls code outside JAX, itself or in a jaxpr inside."""
    if is_host_call(eqn.primitive):
        return True
    return any(calls_host(inner) for sub in jec.jaxprs_in_params(eqn.params) for inner in sub.eqns)


def is_host_call(primitive: jec.Primitive) -> bool:
    """Returns whether `primitive` is a foreign code or a callback, never to be run while staging."""
    return primitive in FOREIGN_PRIMITIVES or primitive.name in _HOST_CALLS


def identical(left: Value, right: Value) -> bool:
    """Returns whether two known values have the same shape, dtype and bits."""
    left, right = _bits(left), _bits(right)
    return left.shape == right.shape and left.dtype == right.dtype and left.tobytes() == right.tobytes()


def _bits(value: Value) -> np.ndarray[Any, Any]:
    with jax.ensure_compile_time_eval():
        array = jnp.asarray(value)
        is_key = jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(array) if is_key else array)
