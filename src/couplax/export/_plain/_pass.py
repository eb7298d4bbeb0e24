"""The pass that leaves no key and no complex number: what stands for them takes their place."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jec

from couplax.export._plain._parts import by_parts
from couplax.export._plain._table import PLAIN_RULES, PlainContext
from couplax.export._plain._values import (
    Value,
    is_odd,
    part_structs,
    put_together,
    taken_apart,
)
from couplax.stage import finalise, interpret, simplify, specialise


def plain(closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    """Returns `closed` with integers for each random key and two real numbers for each complex one.

    A key that comes in or goes out has one more axis, of two or of four; a complex input or output becomes
    two, its real part first. A program without either is returned as it is.

    Raises:
        ExportError: an equation on keys or complex numbers has no rule.
    """
    if not _holds_odd(closed.jaxpr):
        return closed
    counts = [len(part_structs(aval)) for aval in closed.in_avals]

    def flat(*parts: Value) -> list[Value]:
        rest = iter(parts)
        taken = [[next(rest) for _ in range(count)] for count in counts]
        values = [put_together(each, aval) for each, aval in zip(taken, closed.in_avals, strict=True)]
        return jax.tree.leaves(_run(closed, values))

    structs = [struct for aval in closed.in_avals for struct in part_structs(aval)]
    return simplify(specialise(finalise(jax.make_jaxpr(flat)(*structs))))


def _holds_odd(jaxpr: Any) -> bool:
    avals = [atom.aval for atom in (*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars)]
    avals += [atom.aval for eqn in jaxpr.eqns for atom in (*eqn.invars, *eqn.outvars)]
    return any(map(is_odd, avals)) or any(_holds_odd(sub) for eqn in jaxpr.eqns for sub in _inner(eqn))


def _inner(eqn: jec.JaxprEqn) -> list[Any]:
    return [getattr(sub, "jaxpr", sub) for sub in jec.jaxprs_in_params(eqn.params)]


def _run(closed: jec.ClosedJaxpr, inputs: Sequence[Value]) -> list[Value]:
    """Returns the outputs of `closed` on values that may be `Keys` and `Pair`s."""
    return [taken_apart(value) for value in interpret(closed, inputs, _handle)]


def _handle(eqn: jec.JaxprEqn, inputs: list[Value]) -> Sequence[Value]:
    avals = [atom.aval for atom in (*eqn.invars, *eqn.outvars)]
    inside = any(map(_holds_odd, _inner(eqn)))
    context = PlainContext(eqn=eqn, run=_run)
    values = [taken_apart(value) for value in inputs]
    if not any(map(is_odd, avals)) and not inside:
        outputs = eqn.primitive.bind(*values, **eqn.params)
    elif eqn.primitive.name in PLAIN_RULES:
        outputs = PLAIN_RULES[eqn.primitive.name](context, *values, **eqn.params)
    else:
        outputs = by_parts(context, values)
    return outputs if eqn.primitive.multiple_results else [outputs]
