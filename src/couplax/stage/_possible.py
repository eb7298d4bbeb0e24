"""Which integers an output can be at all, as far as a program says so by constants that it chooses from."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import jax.extend.core as jec
import numpy as np

from couplax._compat import scan_counts

Possible = frozenset[int] | None
"""The values that an integer, or each one of an array, can have; None where that is not known."""

_MOST = 64
_ROUNDS = 4
"""A carry that has more values after so many turns of its loop is taken to be any integer."""


def possible(closed: jec.ClosedJaxpr, inputs: Sequence[Possible] = ()) -> list[Possible]:
    """Returns what the outputs of `closed` can be where its inputs are `inputs`, by default anything."""
    jaxpr = closed.jaxpr
    env: dict[jec.Var, Possible] = {
        var: _of_array(value) for var, value in zip(jaxpr.constvars, closed.consts, strict=True)
    }
    env.update(zip(jaxpr.invars, inputs, strict=False))

    def read(atom: Any) -> Possible:
        return _of_array(atom.val) if isinstance(atom, jec.Literal) else env.get(atom)

    for eqn in jaxpr.eqns:
        rule = _RULES.get(eqn.primitive.name)
        if rule is not None:
            env.update(zip(eqn.outvars, rule(eqn, [read(atom) for atom in eqn.invars]), strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _of_array(value: Any) -> Possible:
    array = np.asarray(value) if isinstance(getattr(value, "dtype", 0), np.dtype | int) else None
    if array is None or array.dtype.kind not in "biu" or array.size > _MOST:
        return None
    return frozenset(map(int, array.flat))


def _union(values: Sequence[Possible]) -> Possible:
    known = [value for value in values if value is not None]
    every = frozenset[int]().union(*known)
    return every if len(known) == len(values) and len(every) <= _MOST else None


def _moved(eqn: jec.JaxprEqn, inputs: Sequence[Possible]) -> list[Possible]:
    aval: Any = eqn.outvars[0].aval
    return [inputs[0] if aval.dtype.kind in "biu" else None]


def _select(eqn: jec.JaxprEqn, inputs: Sequence[Possible]) -> list[Possible]:
    return [_union(inputs[1:])]


def _add(eqn: jec.JaxprEqn, inputs: Sequence[Possible]) -> list[Possible]:
    left, right = inputs
    return [None if left is None or right is None else _union([frozenset(map(sum, product(left, right)))])]


def _cond(eqn: jec.JaxprEqn, inputs: Sequence[Possible]) -> list[Possible]:
    ends = [possible(branch, inputs[1:]) for branch in eqn.params["branches"]]
    return [_union(values) for values in zip(*ends, strict=True)]


def _while(eqn: jec.JaxprEqn, inputs: Sequence[Possible]) -> list[Possible]:
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    shared, start = inputs[first : first + second], inputs[first + second :]
    return _settled(lambda carries: possible(eqn.params["body_jaxpr"], [*shared, *carries]), start)


def _scan(eqn: jec.JaxprEqn, inputs: Sequence[Possible]) -> list[Possible]:
    constants, carried = scan_counts(eqn.params)
    shared, start = inputs[:constants], inputs[constants : constants + carried]
    rows = inputs[constants + carried :]
    body = eqn.params["jaxpr"]
    ends = _settled(lambda carries: possible(body, [*shared, *carries, *rows])[:carried], start)
    return [*ends, *possible(body, [*shared, *ends, *rows])[carried:]]


def _settled(
    turn: Callable[[Sequence[Possible]], Sequence[Possible]], start: Sequence[Possible]
) -> list[Possible]:
    """Returns what carries can be after any number of turns."""
    carries, again, rounds = list(start), True, 0
    while again:
        grown = [_union(pair) for pair in zip(carries, turn(carries), strict=True)]
        rounds += 1
        if rounds > _ROUNDS:
            grown = [new if new == old else None for new, old in zip(grown, carries, strict=True)]
        again, carries = grown != carries, grown
    return carries


Rule = Callable[[jec.JaxprEqn, Sequence[Possible]], Sequence[Possible]]
"""From an equation and what its inputs can be to what its outputs can."""

_RULES: Mapping[str, Rule] = {
    "add": _add,
    "broadcast_in_dim": _moved,
    "cond": _cond,
    "convert_element_type": _moved,
    "dynamic_slice": _moved,
    "reshape": _moved,
    "scan": _scan,
    "select_n": _select,
    "slice": _moved,
    "squeeze": _moved,
    "while": _while,
}
"""The primitives that choose among integers and hand them on; what others give can be anything."""
