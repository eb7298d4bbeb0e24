"""Simplify: no dead code, nothing computed twice or to no effect, no idle carries."""

from collections.abc import Hashable, Sequence
from typing import Any

import jax
import jax.extend.core as jec
import numpy as np

from couplax.stage._identities import Made, existing
from couplax.stage._interpret import UNKNOWN, Value, bind, interpret, is_known, trace
from couplax.stage._liveness import Liveness, liveness, needed_inputs
from couplax.stage._shared import hoisted
from couplax.stage._tidy_loops import tidy_scan, tidy_while


def simplify(closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    """Returns `closed` with the same outputs from fewer equations."""
    while True:
        swept = sweep(closed)
        if _size(swept.jaxpr) >= _size(closed.jaxpr):
            return closed
        closed = swept


def _size(jaxpr: Any) -> int:
    """Returns the number of values that `jaxpr` computes; one more level inside loops counts twice as much.

    So what moves out of a loop makes the program smaller.
    """
    inner = sum(_size(sub) for eqn in jaxpr.eqns for sub in jec.jaxprs_in_params(eqn.params))
    return 2 * inner + sum(len(eqn.outvars) for eqn in jaxpr.eqns)


def sweep(closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    """Returns `closed` simplified once, from its outputs to its inputs and back."""
    return trace(lambda *inputs: _simplified(closed, inputs), closed.in_avals)


def _simplified(closed: jec.ClosedJaxpr, inputs: Sequence[Value]) -> list[Value]:
    live = liveness(closed.jaxpr, [True] * len(closed.jaxpr.outvars), needed_inputs)
    return interpret(closed, inputs, _Simplifier(live), equations=live.equations)


class _Simplifier:
    """Handles the equations of one jaxpr in order, and remembers what each value was made of."""

    def __init__(self, live: Liveness) -> None:
        self._live = live
        self._made: dict[int, Made] = {}
        self._seen: dict[Hashable, list[Value]] = {}

    def __call__(self, eqn: jec.JaxprEqn, inputs: list[Value]) -> Sequence[Value]:
        if eqn.effects:
            return bind(eqn, inputs)
        value = existing(eqn, inputs, lambda value: self._made.get(id(value)))
        if value is not None:
            return [value]
        used = tuple(var in self._live.used for var in eqn.outvars)
        key = _key(eqn, inputs, used)
        if key not in self._seen:
            self._seen[key] = list(_run(eqn, inputs, used))
            self._made.update((id(output), Made(eqn, inputs)) for output in self._seen[key])
        return self._seen[key]


def _run(eqn: jec.JaxprEqn, inputs: list[Value], used: Sequence[bool]) -> Sequence[Value]:
    match eqn.primitive.name:
        case "while":
            return tidy_while(eqn, inputs, used, sweep)
        case "scan":
            return tidy_scan(eqn, inputs, used, sweep)
        case "cond":
            return _cond(eqn, inputs, used)
        case _:
            return bind(eqn, inputs)


def _cond(eqn: jec.JaxprEqn, inputs: list[Value], used: Sequence[bool]) -> Sequence[Value]:
    """Returns the outputs of a `cond` whose branches are simplified and give only what is used."""
    needed = needed_inputs(eqn, used)[1:]
    branches = [_wanted(branch, needed, used) for branch in eqn.params["branches"]]
    operands = [value for value, flag in zip(inputs[1:], needed, strict=True) if flag]
    rest, given = hoisted(branches, operands)
    outputs = iter(bind(eqn, [inputs[0], *given], branches=tuple(rest)))
    return [next(outputs) if flag else UNKNOWN for flag in used]


def _wanted(closed: jec.ClosedJaxpr, needed: Sequence[bool], wanted: Sequence[bool]) -> jec.ClosedJaxpr:
    """Returns `closed` simplified, from its `needed` inputs to its `wanted` outputs."""
    jaxpr = closed.jaxpr
    equations = liveness(jaxpr, wanted).equations
    results = [atom for atom, flag in zip(jaxpr.outvars, wanted, strict=True) if flag]

    def part(*inputs: Value) -> list[Value]:
        given = iter(inputs)
        every = [next(given) if flag else UNKNOWN for flag in needed]
        return interpret(closed, every, equations=equations, results=results)

    avals = [aval for aval, flag in zip(closed.in_avals, needed, strict=True) if flag]
    return sweep(trace(part, avals))


def _key(eqn: jec.JaxprEqn, inputs: Sequence[Value], used: tuple[bool, ...]) -> Hashable:
    """Returns what makes two equations equal; one whose params cannot be compared equals itself alone."""
    key = (
        eqn.primitive,
        used,
        *map(_identity, inputs),
        *sorted(eqn.params.items(), key=lambda item: item[0]),
    )
    try:
        hash(key)
    except TypeError:
        return id(eqn)
    return key


def _identity(value: Value) -> Hashable:
    if not is_known(value):
        return id(value)
    aval = jax.typeof(value)
    if aval.ndim > 0 or jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended):
        return id(value)
    return (aval.dtype, np.asarray(value, aval.dtype).tobytes())
