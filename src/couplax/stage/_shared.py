"""What all branches of a choice compute from the same values is computed once, before the choice.

It ran in every case, so nothing runs more often than before.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import jax
import jax.extend.core as jec
import numpy as np

from couplax.stage._interpret import Value, interpret, is_known, trace

Numbers = dict[Hashable, int]
"""Per way of making a value from what lies outside the branches a number, the same in every branch."""

MOST_CONSTANT = 4096
"""A constant of more elements is equal to itself alone."""


def hoisted(
    branches: Sequence[jec.ClosedJaxpr], operands: Sequence[Value]
) -> tuple[Sequence[jec.ClosedJaxpr], list[Value]]:
    """Returns the branches without what all of them compute, and the operands with it behind them."""
    numbers: Numbers = {}
    numbered = [_numbered(branch, operands, numbers) for branch in branches]
    common = set[int].intersection(*(set(of.values()) for of in numbered))
    if not common:
        return branches, list(operands)
    order = sorted(common)
    variables = [{number: var for var, number in of.items()} for of in numbered]
    first = [variables[0][number] for number in order]
    equations = [eqn for eqn in branches[0].jaxpr.eqns if _is_common(eqn, numbered[0], common)]
    values = interpret(branches[0], operands, equations=equations, results=first)
    rest = [
        _without(branch, [own[number] for number in order], [jax.typeof(value) for value in values])
        for branch, own in zip(branches, variables, strict=True)
    ]
    return rest, [*operands, *values]


def _numbered(branch: jec.ClosedJaxpr, operands: Sequence[Value], numbers: Numbers) -> dict[jec.Var, int]:
    """Returns the numbers of those variables that are made of what lies outside the branch."""
    jaxpr = branch.jaxpr
    variables, values = [*jaxpr.invars, *jaxpr.constvars], [*operands, *branch.consts]
    outside = {var: _identity(value) for var, value in zip(variables, values, strict=True)}
    made: dict[jec.Var, int] = {}
    for eqn in jaxpr.eqns:
        key = _key(eqn, outside)
        if key is None:
            continue
        for place, var in enumerate(eqn.outvars):
            made[var] = outside[var] = numbers.setdefault((key, place), len(numbers))
    return made


def _key(eqn: jec.JaxprEqn, outside: Mapping[Any, Hashable]) -> Hashable | None:
    """Returns what makes two equations equal, or None where something is of the branch alone."""
    if eqn.effects:
        return None
    inputs = [
        _identity(atom.val) if isinstance(atom, jec.Literal) else outside.get(atom) for atom in eqn.invars
    ]
    key = (eqn.primitive, *inputs, *sorted(eqn.params.items(), key=lambda item: item[0]))
    try:
        hash(key)
    except TypeError:
        return None
    return None if any(each is None for each in inputs) else key


def _identity(value: Value) -> Hashable:
    if not is_known(value) or np.size(value) > MOST_CONSTANT:
        return ("itself", id(value))
    aval = jax.typeof(value)
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended):
        return ("itself", id(value))
    return ("constant", aval.dtype, aval.shape, np.asarray(value, aval.dtype).tobytes())


def _is_common(eqn: jec.JaxprEqn, numbered: Mapping[jec.Var, int], common: set[int]) -> bool:
    return bool(eqn.outvars) and all(numbered.get(var) in common for var in eqn.outvars)


def _without(branch: jec.ClosedJaxpr, variables: Sequence[jec.Var], avals: Sequence[Any]) -> jec.ClosedJaxpr:
    """Returns `branch` that is given `variables` after its own inputs."""
    count, shared = len(branch.in_avals), set(variables)
    equations = [eqn for eqn in branch.jaxpr.eqns if not eqn.outvars or not shared.issuperset(eqn.outvars)]

    def part(*inputs: Value) -> list[Value]:
        seeds = dict(zip(variables, inputs[count:], strict=True))
        return interpret(branch, inputs[:count], equations=equations, seeds=seeds)

    return trace(part, [*branch.in_avals, *avals])
