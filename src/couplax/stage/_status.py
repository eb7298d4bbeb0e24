"""Run-time checks as a status: an integer that a program returns beside its result, 0 where none fired.

Where `failures="status"`, finalising leaves a marker in place of each check. `collected` takes the markers
out again: what they say is carried through branches and loops to the end of the program, the first that fires
before all that fire later.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import jax
import jax.core
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax._compat import scan_counts
from couplax._errors import StageError
from couplax._source import user_line, where
from couplax.stage._interpret import Value, bind, interpret, trace

FINE = "no check fired"
"""What the status 0 means."""

check_p = jec.Primitive("stage_check")
check_p.multiple_results = True


@check_p.def_abstract_eval
def _no_output(failed: Any, which: Any, *, meanings: tuple[str, ...]) -> list[jax.core.ShapedArray]:
    return []


def mark(failed: Value, which: Value, meanings: Sequence[str]) -> None:
    """Leaves a marker: where any of `failed`, the program's status is to say `meanings[which]`."""
    check_p.bind(jnp.any(failed), jnp.asarray(which, np.int32), meanings=tuple(meanings))


def collected(closed: jec.ClosedJaxpr) -> tuple[jec.ClosedJaxpr, tuple[str, ...]]:
    """Returns `closed` without markers, its status as one more output, and what each status means.

    Raises:
        StageError: a marker stands where its status cannot come out.
    """
    meanings, codes = [FINE], dict[int, int]()
    _number(closed.jaxpr, meanings, codes)

    def run(*inputs: Value) -> list[Value]:
        outputs, code = _run(closed, inputs, codes)
        return [*outputs, code]

    return trace(run, closed.in_avals), tuple(meanings)


Codes = Mapping[int, int]
"""Per marker, by the identity of its equation, the status that stands for its first meaning."""


def _number(jaxpr: Any, meanings: list[str], codes: dict[int, int]) -> None:
    """Numbers the markers in the order in which they stand."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is check_p and id(eqn) not in codes:
            codes[id(eqn)] = len(meanings)
            place = user_line(eqn)
            meanings += [f"{said} ({place})" if place else said for said in eqn.params["meanings"]]
        for inner in jec.jaxprs_in_params(eqn.params):
            _number(getattr(inner, "jaxpr", inner), meanings, codes)


def _run(closed: jec.ClosedJaxpr, inputs: Sequence[Value], codes: Codes) -> tuple[list[Value], Value]:
    """Returns the outputs of `closed`, and the status of the first marker in it that fires."""
    found = [jnp.int32(0)]

    def handle(eqn: jec.JaxprEqn, values: list[Value]) -> Sequence[Value]:
        if not _is_marked(eqn):
            return bind(eqn, values)
        if eqn.primitive.name not in _RULES:
            raise StageError(
                f'`failures="status"` cannot follow a run-time check inside `{eqn.primitive.name}`, reached '
                f'at {where(eqn)}. Take the check out of it, or choose `failures="nan"`.'
            )
        outputs, code = _RULES[eqn.primitive.name](eqn, values, codes)
        found.append(code)
        return outputs

    outputs = interpret(closed, inputs, handle)
    return outputs, reduce(_first, found)


def _is_marked(eqn: jec.JaxprEqn) -> bool:
    return eqn.primitive is check_p or any(map(_has_marker, jec.jaxprs_in_params(eqn.params)))


def _has_marker(jaxpr: Any) -> bool:
    return any(map(_is_marked, getattr(jaxpr, "jaxpr", jaxpr).eqns))


def _first(earlier: Value, later: Value) -> Value:
    """Returns the status that was reached first."""
    return jax.lax.select(earlier == 0, later, earlier)


Rule = Callable[[jec.JaxprEqn, list[Value], Codes], tuple[Sequence[Value], Value]]
"""From an equation with markers in it and its inputs to its outputs and the status."""


def _marker(eqn: jec.JaxprEqn, inputs: list[Value], codes: Codes) -> tuple[Sequence[Value], Value]:
    failed, which = inputs
    return [], jax.lax.select(failed, which + np.int32(codes[id(eqn)]), jnp.int32(0))


def _cond(eqn: jec.JaxprEqn, inputs: list[Value], codes: Codes) -> tuple[Sequence[Value], Value]:
    def run(branch: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
        return trace(lambda *operands: _flat(_run(branch, operands, codes)), branch.in_avals)

    *outputs, code = bind(eqn, inputs, branches=tuple(map(run, eqn.params["branches"])))
    return outputs, code


def _flat(ran: tuple[list[Value], Value]) -> list[Value]:
    return [*ran[0], ran[1]]


def _while(eqn: jec.JaxprEqn, inputs: list[Value], codes: Codes) -> tuple[Sequence[Value], Value]:
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    test, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    of_test, of_body, init = inputs[:first], inputs[first : first + second], inputs[first + second :]

    def tested(state: tuple[list[Value], Value]) -> tuple[list[Value], Value]:
        return _run(test, [*of_test, *state[0]], codes)

    def turn(state: tuple[list[Value], Value]) -> tuple[list[Value], Value]:
        carries, code = _run(body, [*of_body, *state[0]], codes)
        return carries, reduce(_first, [state[1], tested(state)[1], code])

    end = jax.lax.while_loop(lambda state: tested(state)[0][0], turn, (list(init), jnp.int32(0)))
    return end[0], _first(end[1], tested(end)[1])


def _scan(eqn: jec.JaxprEqn, inputs: list[Value], codes: Codes) -> tuple[Sequence[Value], Value]:
    constants, carried = scan_counts(eqn.params)
    shared, init = inputs[:constants], inputs[constants : constants + carried]

    def turn(state: tuple[list[Value], Value], slices: list[Value]) -> Any:
        outputs, code = _run(eqn.params["jaxpr"], [*shared, *state[0], *slices], codes)
        return (outputs[:carried], _first(state[1], code)), outputs[carried:]

    (carries, code), stacked = jax.lax.scan(
        turn,
        (list(init), jnp.int32(0)),
        list(inputs[constants + carried :]),
        **{name: eqn.params[name] for name in ("length", "reverse", "unroll")},
    )
    return [*carries, *stacked], code


_RULES: Mapping[str, Rule] = {check_p.name: _marker, "cond": _cond, "while": _while, "scan": _scan}
