"""The interpreter that every pass stands on, and the retracing that turns an interpretation into a jaxpr."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import jax.core
import jax.extend.core as jec
from jax.extend import source_info_util

from couplax._source import has_user_line

Value = Any
"""An array, a Python scalar or a tracer: what stands for a variable while a jaxpr is interpreted."""

UNKNOWN: Any = jax.core.AbstractValue()
"""Stands for a value that is not there: one that only a run of the program gives, or that nothing needs."""

Handle = Callable[[jec.JaxprEqn, list[Value]], Sequence[Value]]
"""What a pass does with one equation: from the values of its inputs to the values of its outputs."""


def bind(eqn: jec.JaxprEqn, inputs: Sequence[Value], **changed: Any) -> list[Value]:
    """Returns the outputs of `eqn`'s primitive on `inputs`, with the params that `changed` replaces."""
    outputs = eqn.primitive.bind(*inputs, **{**eqn.params, **changed})
    return list(outputs) if eqn.primitive.multiple_results else [outputs]


def interpret(
    closed: jec.ClosedJaxpr,
    inputs: Sequence[Value],
    handle: Handle = bind,
    *,
    equations: Iterable[jec.JaxprEqn] | None = None,
    results: Sequence[Any] | None = None,
    seeds: Mapping[jec.Var, Value] | None = None,
) -> list[Value]:
    """Returns the values of `results`, by default the outputs, of `closed` on `inputs`.

    What was not computed, since its equation is not among those to run, reads as `UNKNOWN`.

    Args:
        handle: what is done with each equation; by default it is bound as it is.
        equations: those to run, in order; by default all of them.
        results: the variables or literals whose values are wanted.
        seeds: values of variables that are known beforehand; they stand, whatever an equation gives.
    """
    jaxpr = closed.jaxpr
    seeds = seeds or {}
    env: dict[jec.Var, Value] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(jaxpr.invars, inputs, strict=True))
    env.update(seeds)

    def read(atom: Any) -> Value:
        return atom.val if isinstance(atom, jec.Literal) else env.get(atom, UNKNOWN)

    for eqn in jaxpr.eqns if equations is None else equations:
        with user_context(eqn):
            outputs = handle(eqn, [read(atom) for atom in eqn.invars])
        env.update((var, out) for var, out in zip(eqn.outvars, outputs, strict=True) if var not in seeds)
    return [read(atom) for atom in (jaxpr.outvars if results is None else results)]


def user_context(eqn: jec.JaxprEqn) -> Any:
    """Returns a context in which new equations bear the user's line of `eqn`.

    An equation from inside a library's own `jit` has no such line; there the line of the call around it
    stays.
    """
    source = eqn.source_info
    if not has_user_line(eqn):
        return nullcontext()
    return source_info_util.user_context(source.traceback, name_stack=source.name_stack)


def structs(avals: Iterable[Any]) -> list[jax.ShapeDtypeStruct]:
    """Returns `avals` as structs for `jax.make_jaxpr`; a staged program has no weak types left."""
    return [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]


def trace(fn: Callable[..., Sequence[Value]], avals: Iterable[Any]) -> jec.ClosedJaxpr:
    """Returns the closed jaxpr of `fn` at `avals`."""
    return jax.make_jaxpr(fn)(*structs(avals))


def closed_jaxpr(jaxpr: Any) -> jec.ClosedJaxpr:
    """Returns `jaxpr` as a closed jaxpr; one without constants may come open."""
    return jaxpr if isinstance(jaxpr, jec.ClosedJaxpr) else jec.ClosedJaxpr(jaxpr, ())


def is_known(value: Value) -> bool:
    """Returns whether `value` is a number here and now, not a tracer and not an abstract value."""
    return not isinstance(value, jax.core.Tracer | jax.core.AbstractValue)


def count_equations(jaxpr: Any) -> int:
    """Returns the number of equations of `jaxpr`, those of the jaxprs inside it included."""
    inner = (sub for eqn in jaxpr.eqns for sub in jec.jaxprs_in_params(eqn.params))
    return len(jaxpr.eqns) + sum(count_equations(sub) for sub in inner)
