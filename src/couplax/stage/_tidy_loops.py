"""Loops without idle work: invariant equations move out, unchanging and unused carries go."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core as jec

from couplax._compat import scan_counts
from couplax._sizes import is_symbolic
from couplax.stage._interpret import UNKNOWN, Value, interpret
from couplax.stage._known import calls_host
from couplax.stage._liveness import grow, liveness

Simplify = Callable[[jec.ClosedJaxpr], jec.ClosedJaxpr]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A loop's condition or body with what it reads from outside.

    Attributes:
        closed: from all inputs of the loop to outputs.
        fixed: per input its value where that stays the same from trip to trip, else `UNKNOWN`.
        changing: positions of the inputs that each trip is given.
        seeds: the variables that stay the same, computed once, outside the loop.
    """

    closed: jec.ClosedJaxpr
    fixed: Sequence[Value]
    changing: Sequence[int]
    seeds: Mapping[jec.Var, Value]

    def __call__(self, values: Sequence[Value], wanted: Sequence[bool]) -> list[Value]:
        """Returns the `wanted` outputs of a trip on `values`, those of the changing inputs."""
        jaxpr = self.closed.jaxpr
        inputs = list(self.fixed)
        for place, value in zip(self.changing, values, strict=True):
            inputs[place] = value
        live = liveness(jaxpr, wanted).equations
        equations = [
            eqn for eqn in live if not eqn.outvars or any(var not in self.seeds for var in eqn.outvars)
        ]
        results = [atom for atom, flag in zip(jaxpr.outvars, wanted, strict=True) if flag]
        return interpret(self.closed, inputs, equations=equations, results=results, seeds=self.seeds)


def _part(closed: jec.ClosedJaxpr, fixed: Sequence[Value], changing: Sequence[int]) -> _Part:
    return _Part(closed=closed, fixed=fixed, changing=changing, seeds=_invariants(closed, fixed))


def _invariants(closed: jec.ClosedJaxpr, fixed: Sequence[Value]) -> dict[jec.Var, Value]:
    """Returns the values of the variables that depend on nothing but what is fixed."""
    moving = {var for var, value in zip(closed.jaxpr.invars, fixed, strict=True) if value is UNKNOWN}
    equations: list[jec.JaxprEqn] = []
    for eqn in closed.jaxpr.eqns:
        if eqn.effects or calls_host(eqn) or any(_is_in(moving, atom) for atom in eqn.invars):
            moving.update(eqn.outvars)
        else:
            equations.append(eqn)
    variables = [var for eqn in equations for var in eqn.outvars]
    values = interpret(closed, fixed, equations=equations, results=variables)
    return dict(zip(variables, values, strict=True))


def _is_in(moving: set[jec.Var], atom: Any) -> bool:
    return not isinstance(atom, jec.Literal) and atom in moving


def _unchanging(body: jec.ClosedJaxpr, constants: int, carries: int) -> list[bool]:
    """Returns per carry whether a turn gives it back as it was."""
    inputs, outputs = body.jaxpr.invars[constants : constants + carries], body.jaxpr.outvars[:carries]
    return [before is after for before, after in zip(inputs, outputs, strict=True)]


def tidy_while(
    eqn: jec.JaxprEqn, inputs: Sequence[Value], used: Sequence[bool], simplify: Simplify
) -> list[Value]:
    """Returns the carries at the end of a `while` that carries what it must; an unused one as it began."""
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    test, turn = simplify(eqn.params["cond_jaxpr"]), simplify(eqn.params["body_jaxpr"])
    init = inputs[first + second :]
    needed = grow(
        [
            flag or other
            for flag, other in zip(used, liveness(test.jaxpr, [True]).inputs[first:], strict=True)
        ],
        lambda flags: liveness(turn.jaxpr, flags).inputs[second:],
    )
    steady = _unchanging(turn, second, len(init))
    carried = [flag and not still for flag, still in zip(needed, steady, strict=True)]
    places = [k for k, flag in enumerate(carried) if flag]
    fixed = [value if still else UNKNOWN for value, still in zip(init, steady, strict=True)]
    cond = _part(test, [*inputs[:first], *fixed], [first + k for k in places])
    body = _part(turn, [*inputs[first : first + second], *fixed], [second + k for k in places])
    ends = jax.lax.while_loop(
        lambda carries: cond(carries, [True])[0],
        lambda carries: tuple(body(carries, carried)),
        tuple(init[k] for k in places),
    )
    last = dict(zip(places, ends, strict=True))
    return [last.get(k, value) for k, value in enumerate(init)]


def tidy_scan(
    eqn: jec.JaxprEqn, inputs: Sequence[Value], used: Sequence[bool], simplify: Simplify
) -> list[Value]:
    """Returns the outputs of a `scan` that carries what it must; an unused one is unknown, or as it began."""
    constants, count = scan_counts(eqn.params)
    turn = simplify(eqn.params["jaxpr"])
    head, init, stacks = (
        inputs[:constants],
        inputs[constants : constants + count],
        inputs[constants + count :],
    )
    stacked = list(used[count:])
    needed = grow(
        used[:count],
        lambda flags: liveness(turn.jaxpr, [*flags, *stacked]).inputs[constants : constants + count],
    )
    steady = _unchanging(turn, constants, count)
    carried = [flag and not still for flag, still in zip(needed, steady, strict=True)]
    places = [k for k, flag in enumerate(carried) if flag]
    wanted = [*carried, *stacked]
    length, reverse = eqn.params["length"], eqn.params["reverse"]
    slices = [k for k, flag in enumerate(liveness(turn.jaxpr, wanted).inputs[constants + count :]) if flag]
    if is_symbolic(length):
        # JAX takes an open length from what is sliced alone.
        slices, length = slices or [0], None
    fixed = [*head, *(value if still else UNKNOWN for value, still in zip(init, steady, strict=True))]
    changing = [*(constants + k for k in places), *(constants + count + k for k in slices)]
    body = _part(turn, [*fixed, *[UNKNOWN] * len(stacks)], changing)

    def trip(carries: list[Value], sliced: list[Value]) -> tuple[list[Value], list[Value]]:
        values = body([*carries, *sliced], wanted)
        return values[: len(places)], values[len(places) :]

    ends, outputs = jax.lax.scan(
        trip, [init[k] for k in places], [stacks[k] for k in slices], length=length, reverse=reverse
    )
    last, rest = dict(zip(places, ends, strict=True)), iter(outputs)
    return [
        *(last.get(k, value) for k, value in enumerate(init)),
        *(next(rest) if flag else UNKNOWN for flag in stacked),
    ]
