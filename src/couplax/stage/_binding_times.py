"""Binding times: which variables of a jaxpr depend on what only a run gives, and which are known before."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.extend.core as jec

from couplax._compat import scan_counts
from couplax.stage._known import waits_for_run

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
    if rule is None or not any(unknown) or waits_for_run(eqn):
        return [any(unknown) or waits_for_run(eqn)] * len(eqn.outvars)
    return rule(eqn, unknown)


def _cond(eqn: jec.JaxprEqn, unknown: list[bool]) -> Sequence[bool]:
    if unknown[0]:
        return [True] * len(eqn.outvars)
    per_branch = [unknown_outputs(branch.jaxpr, unknown[1:]) for branch in eqn.params["branches"]]
    return [any(flags) for flags in zip(*per_branch, strict=True)]


def _while(eqn: jec.JaxprEqn, unknown: list[bool]) -> Sequence[bool]:
    carries = _while_carries(eqn, unknown)
    # An unknown number of trips makes unknown whatever changes.
    return carries if known_condition(eqn, unknown) else [True] * len(carries)


def known_condition(eqn: jec.JaxprEqn, unknown: list[bool]) -> bool:
    """Returns whether the `while` loop `eqn` goes on by what is known alone."""
    carries, first = _while_carries(eqn, unknown), eqn.params["cond_nconsts"]
    return not unknown_outputs(eqn.params["cond_jaxpr"].jaxpr, [*unknown[:first], *carries])[0]


def _while_carries(eqn: jec.JaxprEqn, unknown: list[bool]) -> list[bool]:
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    constants, body = unknown[first : first + second], eqn.params["body_jaxpr"].jaxpr
    return settle(unknown[first + second :], lambda flags: unknown_outputs(body, [*constants, *flags]))


def _scan(eqn: jec.JaxprEqn, unknown: list[bool]) -> Sequence[bool]:
    inputs, body = _scan_inputs(eqn, unknown), eqn.params["jaxpr"].jaxpr
    constants, count = scan_counts(eqn.params)
    return [*inputs[constants : constants + count], *unknown_outputs(body, inputs)[count:]]


def _scan_inputs(eqn: jec.JaxprEqn, unknown: list[bool]) -> list[bool]:
    constants, count = scan_counts(eqn.params)
    body = eqn.params["jaxpr"].jaxpr
    head, carries = unknown[:constants], unknown[constants : constants + count]
    slices = unknown[constants + count :]
    settled = settle(carries, lambda flags: unknown_outputs(body, [*head, *flags, *slices])[:count])
    return [*head, *settled, *slices]


_RULES: dict[str, Callable[[jec.JaxprEqn, list[bool]], Sequence[bool]]] = {
    "cond": _cond,
    "while": _while,
    "scan": _scan,
}


def count_known(jaxpr: Any, unknown_inputs: Sequence[bool]) -> int:
    """Returns how many equations of `jaxpr` and of the jaxprs inside give what is known alone."""
    times, total = binding_times(jaxpr, unknown_inputs), 0
    for eqn in jaxpr.eqns:
        unknown = [unknown_atom(atom, times) for atom in eqn.invars]
        total += not any(times[var] for var in eqn.outvars)
        total += sum(count_known(sub, flags) for sub, flags in _inside(eqn, unknown))
    return total


def _inside(eqn: jec.JaxprEqn, unknown: list[bool]) -> list[tuple[Any, Sequence[bool]]]:
    """Returns the jaxprs inside `eqn`, each with which of its inputs are unknown."""
    match eqn.primitive.name:
        case "cond":
            return [(branch.jaxpr, unknown[1:]) for branch in eqn.params["branches"]]
        case "while":
            first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
            carries = _while_carries(eqn, unknown)
            return [
                (eqn.params["cond_jaxpr"].jaxpr, [*unknown[:first], *carries]),
                (eqn.params["body_jaxpr"].jaxpr, [*unknown[first : first + second], *carries]),
            ]
        case "scan":
            return [(eqn.params["jaxpr"].jaxpr, _scan_inputs(eqn, unknown))]
        case _:
            return []
