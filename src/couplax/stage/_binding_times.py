"""Binding times: which variables of a jaxpr depend on what only a run gives, and which are known before."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.extend.core as jec

from couplax._compat import scan_counts
from couplax.stage._known import calls_host

Times = dict[jec.Var, bool]
"""Per variable whether it is unknown until the program runs."""


def binding_times(jaxpr: Any, unknown_inputs: Sequence[bool]) -> Times:
    """Returns for every variable of `jaxpr` whether it is unknown, given which of its inputs are."""
    times: Times = dict.fromkeys(jaxpr.constvars, False)
    times.update(zip(jaxpr.invars, unknown_inputs, strict=True))
    for eqn in jaxpr.eqns:
        unknown = [unknown_atom(atom, times) for atom in eqn.invars]
        times.update(zip(eqn.outvars, _outputs(eqn, unknown), strict=True))
    return times


def unknown_atom(atom: Any, times: Times) -> bool:
    """Returns whether `atom`, a variable or a literal, is unknown."""
    return not isinstance(atom, jec.Literal) and times[atom]


def unknown_outputs(jaxpr: Any, unknown_inputs: Sequence[bool]) -> list[bool]:
    """Returns for every output of `jaxpr` whether it is unknown, given which of its inputs are."""
    times = binding_times(jaxpr, unknown_inputs)
    return [unknown_atom(atom, times) for atom in jaxpr.outvars]


def settle(unknown: Sequence[bool], after: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    """Returns the least fixed point of a loop's carries: unknown at the start, or unknown after some turn."""
    flags = list(unknown)
    while True:
        joined = [before or now for before, now in zip(flags, after(flags), strict=True)]
        if joined == flags:
            return flags
        flags = joined


def _outputs(eqn: jec.JaxprEqn, unknown: list[bool]) -> Sequence[bool]:
    rule = _RULES.get(eqn.primitive.name)
    if rule is None or not any(unknown) or calls_host(eqn):
        return [any(unknown) or calls_host(eqn)] * len(eqn.outvars)
    return rule(eqn, unknown)


def _cond(eqn: jec.JaxprEqn, unknown: list[bool]) -> Sequence[bool]:
    if unknown[0]:
        return [True] * len(eqn.outvars)
    per_branch = [unknown_outputs(branch.jaxpr, unknown[1:]) for branch in eqn.params["branches"]]
    return [any(flags) for flags in zip(*per_branch, strict=True)]


def _while(eqn: jec.JaxprEqn, unknown: list[bool]) -> Sequence[bool]:
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    cond_constants, body_constants = unknown[:first], unknown[first : first + second]
    body, cond = eqn.params["body_jaxpr"].jaxpr, eqn.params["cond_jaxpr"].jaxpr
    carries = settle(
        unknown[first + second :], lambda flags: unknown_outputs(body, [*body_constants, *flags])
    )
    # An unknown number of trips makes unknown whatever changes.
    endless = unknown_outputs(cond, [*cond_constants, *carries])[0]
    return [True] * len(carries) if endless else carries


def _scan(eqn: jec.JaxprEqn, unknown: list[bool]) -> Sequence[bool]:
    constants, count = scan_counts(eqn.params)
    body = eqn.params["jaxpr"].jaxpr
    head, carries, slices = (
        unknown[:constants],
        unknown[constants : constants + count],
        unknown[constants + count :],
    )
    carries = settle(carries, lambda flags: unknown_outputs(body, [*head, *flags, *slices])[:count])
    return [*carries, *unknown_outputs(body, [*head, *carries, *slices])[count:]]


_RULES: dict[str, Callable[[jec.JaxprEqn, list[bool]], Sequence[bool]]] = {
    "cond": _cond,
    "while": _while,
    "scan": _scan,
}
