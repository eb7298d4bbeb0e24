"""Known values: those that depend on no input, so that they can be computed while the program is staged."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax._sizes import is_open
from couplax.foreign._primitives import FOREIGN_PRIMITIVES
from couplax.stage._interpret import Value, is_known

_HOST_CALLS = frozenset({"pure_callback", "io_callback", "debug_callback", "debug_print"})

SIZE_PRIMITIVE = "dim_as_value"
"""JAX's primitive that gives a symbolic size as a number."""

_LARGE = 4096
"""Arrays of more elements are told apart by identity."""


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
    equations: int = 512
    trips: int = 100_000
    table: int = 2**26


def is_foldable(eqn: jec.JaxprEqn, inputs: Sequence[Value], budget: Budget) -> bool:
    """Returns whether `eqn` may be run now: inputs known, no host code, no array out of proportion."""
    if not all(is_known(value) for value in inputs) or eqn.effects or waits_for_run(eqn):
        return False
    size = sum(_elements(var.aval) for var in eqn.outvars)
    return size <= max(budget.elements, sum(np.size(value) for value in inputs))


def _elements(aval: Any) -> int:
    return int(np.prod(getattr(aval, "shape", ())))


def waits_for_run(eqn: jec.JaxprEqn) -> bool:
    """Returns whether `eqn`, or one in a jaxpr inside, is for the run whatever its inputs are.

    It calls code outside JAX, or has a symbolic size, which only a run gives.
    """
    return _anywhere(lambda each: is_host_call(each.primitive) or _has_open_sizes(each), eqn)


def calls_host(eqn: jec.JaxprEqn) -> bool:
    """Returns whether `eqn` calls code outside JAX, itself or in a jaxpr inside."""
    return _anywhere(lambda each: is_host_call(each.primitive), eqn)


def _anywhere(is_so: Callable[[jec.JaxprEqn], bool], eqn: jec.JaxprEqn) -> bool:
    if is_so(eqn):
        return True
    return any(_anywhere(is_so, inner) for sub in jec.jaxprs_in_params(eqn.params) for inner in sub.eqns)


def _has_open_sizes(eqn: jec.JaxprEqn) -> bool:
    return eqn.primitive.name == SIZE_PRIMITIVE or any(
        is_open(getattr(atom.aval, "shape", ())) for atom in (*eqn.invars, *eqn.outvars)
    )


def is_host_call(primitive: jec.Primitive) -> bool:
    """Returns whether `primitive` is a foreign code or a callback, never to be run while staging."""
    return primitive in FOREIGN_PRIMITIVES or primitive.name in _HOST_CALLS


def identical(left: Value, right: Value) -> bool:
    """Returns whether two known values have the same shape, dtype and bits."""
    left, right = _bits(left), _bits(right)
    return left.shape == right.shape and left.dtype == right.dtype and left.tobytes() == right.tobytes()


def fingerprint(value: Value) -> Hashable:
    """Returns what tells a known value from others: its type and bits, or, where it is large, itself."""
    if np.size(value) > _LARGE:
        return id(value)
    array = _bits(value)
    return (jax.typeof(value), array.dtype.name, array.tobytes())


def _bits(value: Value) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray):
        return value
    with jax.ensure_compile_time_eval():
        array = value if isinstance(value, jax.Array) else jnp.asarray(value)
        is_key = jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(array) if is_key else array)
