"""Loops inside a counted loop whose trips are known at each of its trips: none or one become a branch.

Diffrax looks after each step whether times to save lie within it: mostly none, and now and then one.
"""

from collections.abc import Sequence

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax.stage._binding_times import Times, known_condition, unknown_atom
from couplax.stage._fold import fold_known
from couplax.stage._interpret import Handle, Value, interpret, is_known
from couplax.stage._liveness import liveness


def decided_loops(equations: Sequence[jec.JaxprEqn], times: Times) -> list[jec.JaxprEqn]:
    """Returns those of `equations` that are `while`s of a known condition and of unknown results."""
    loops = [eqn for eqn in equations if eqn.primitive.name == "while"]
    return [eqn for eqn in loops if known_condition(eqn, [unknown_atom(a, times) for a in eqn.invars])]


def goes_on(eqn: jec.JaxprEqn, inputs: Sequence[Value]) -> Value:
    """Returns whether the loop `eqn` makes a first trip on `inputs`, and whether it makes a second.

    Only what the condition reads is run, which is known.
    """
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    head, constants, carries = inputs[:first], inputs[first : first + second], inputs[first + second :]
    cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    test = liveness(cond.jaxpr, [True])
    turn = liveness(body.jaxpr, test.inputs[first:])
    moved = interpret(body, [*constants, *carries], fold_known, equations=turn.equations)
    flags = [
        interpret(cond, [*head, *each], fold_known, equations=test.equations)[0] for each in (carries, moved)
    ]
    return np.array(flags, bool) if all(map(is_known, flags)) else jnp.stack(flags)


def branching(handle: Handle, loops: Sequence[tuple[jec.JaxprEqn, Value]]) -> Handle:
    """Returns `handle`, but each of `loops` runs its one trip where the flag beside it is set."""

    def branch(eqn: jec.JaxprEqn, inputs: list[Value]) -> Sequence[Value]:
        found = [flag for loop, flag in loops if loop is eqn]
        return _one_trip(eqn, inputs, found[0], handle) if found else handle(eqn, inputs)

    return branch


def _one_trip(eqn: jec.JaxprEqn, inputs: Sequence[Value], flag: Value, handle: Handle) -> Sequence[Value]:
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    constants, carries = inputs[first : first + second], list(inputs[first + second :])

    def turn(carries: list[Value]) -> list[Value]:
        return interpret(eqn.params["body_jaxpr"], [*constants, *carries], handle)

    if is_known(flag):
        return turn(carries) if bool(flag) else carries
    return jax.lax.cond(flag, turn, list, carries)
