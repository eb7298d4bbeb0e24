"""Liveness: which equations, inputs and carries of a jaxpr its wanted outputs need."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.extend.core as jec

from couplax._compat import scan_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness:
    """What the wanted outputs of a jaxpr need: `equations` in order, `inputs`, and the variables `used`."""

    equations: Sequence[jec.JaxprEqn]
    inputs: Sequence[bool]
    used: frozenset[jec.Var]


Needs = Callable[[jec.JaxprEqn, Sequence[bool]], Sequence[bool]]
"""From an equation and which of its outputs are wanted to which of its inputs it needs."""


def every_input(eqn: jec.JaxprEqn, outputs: Sequence[bool]) -> Sequence[bool]:
    """Returns that `eqn`, kept as it is, needs all of its inputs."""
    return [True] * len(eqn.invars)


def liveness(jaxpr: Any, wanted: Sequence[bool], needs: Needs = every_input) -> Liveness:
    """Returns what the outputs that `wanted` marks need of `jaxpr`.

    Args:
        needs: what an equation needs of its inputs; all of them, unless whoever rebuilds it leaves some out.
    """
    used = _variables(atom for atom, flag in zip(jaxpr.outvars, wanted, strict=True) if flag)
    equations: list[jec.JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        outputs = [var in used for var in eqn.outvars]
        if any(outputs) or eqn.effects:
            equations.append(eqn)
            used |= _variables(
                atom for atom, flag in zip(eqn.invars, needs(eqn, outputs), strict=True) if flag
            )
    inputs = [var in used for var in jaxpr.invars]
    return Liveness(equations=equations[::-1], inputs=inputs, used=frozenset(used))


def needed_inputs(eqn: jec.JaxprEqn, outputs: Sequence[bool]) -> Sequence[bool]:
    """Returns which inputs of `eqn` its marked outputs need, once it is rebuilt for them alone."""
    rule = _RULES.get(eqn.primitive.name)
    return every_input(eqn, outputs) if rule is None or eqn.effects else rule(eqn, outputs)


def grow(flags: Sequence[bool], through: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    """Returns the least set of a loop's carries that holds `flags` and all that a turn needs for it."""
    kept = list(flags)
    while True:
        more = [flag or other for flag, other in zip(kept, through(kept), strict=True)]
        if more == kept:
            return kept
        kept = more


def _variables(atoms: Iterable[Any]) -> set[jec.Var]:
    return {atom for atom in atoms if not isinstance(atom, jec.Literal)}


def _cond(eqn: jec.JaxprEqn, outputs: Sequence[bool]) -> Sequence[bool]:
    per_branch = [liveness(branch.jaxpr, outputs).inputs for branch in eqn.params["branches"]]
    return [True, *(any(flags) for flags in zip(*per_branch, strict=True))]


def _while(eqn: jec.JaxprEqn, outputs: Sequence[bool]) -> Sequence[bool]:
    cond, body = eqn.params["cond_jaxpr"].jaxpr, eqn.params["body_jaxpr"].jaxpr
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    test = liveness(cond, [True]).inputs
    start = [flag or other for flag, other in zip(outputs, test[first:], strict=True)]
    kept = grow(start, lambda flags: liveness(body, flags).inputs[second:])
    return [*test[:first], *liveness(body, kept).inputs[:second], *kept]


def _scan(eqn: jec.JaxprEqn, outputs: Sequence[bool]) -> Sequence[bool]:
    constants, count = scan_counts(eqn.params)
    body = eqn.params["jaxpr"].jaxpr
    stacked = outputs[count:]
    kept = grow(
        outputs[:count],
        lambda flags: liveness(body, [*flags, *stacked]).inputs[constants : constants + count],
    )
    inputs = liveness(body, [*kept, *stacked]).inputs
    return [*inputs[:constants], *kept, *inputs[constants + count :]]


_RULES: dict[str, Needs] = {
    "cond": _cond,
    "while": _while,
    "scan": _scan,
}
