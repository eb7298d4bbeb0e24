"""Specialise rules for choices: `cond`, `select_n`, `and`, `or`."""

from collections.abc import Sequence
from typing import Any

import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax.stage._interpret import UNKNOWN, Value, interpret, is_known, trace
from couplax.stage._known import Residual, SpecialiseContext, abstract, identical


def specialise_cond(
    context: SpecialiseContext, index: Value, *operands: Value, branches: Sequence[Any], **params: Any
) -> list[Value]:
    """Returns the outputs of the branch that a known `index` picks, else of a specialised `cond`."""
    if is_known(index):
        return context.evaluate(branches[int(np.clip(index, 0, len(branches) - 1))], operands)
    left = [context.residual(branch, [abstract(value) for value in operands]) for branch in branches]
    shared = [_shared([residual.outputs[k] for residual in left]) for k in range(len(context.eqn.outvars))]
    wanted = [k for k, value in enumerate(shared) if value is UNKNOWN]
    if not wanted:
        return shared
    kept = tuple(_only(residual, wanted) for residual in left)
    outputs = iter(context.keep(index, *(value for value in operands if not is_known(value)), branches=kept))
    return [next(outputs) if value is UNKNOWN else value for value in shared]


def _shared(values: Sequence[Value]) -> Value:
    first = values[0]
    same = first is not UNKNOWN and all(v is not UNKNOWN and identical(first, v) for v in values)
    return first if same else UNKNOWN


def _only(residual: Residual, wanted: Sequence[int]) -> jec.ClosedJaxpr:
    """Returns the residual with the `wanted` outputs alone."""
    closed = residual.closed
    results = [closed.jaxpr.outvars[k] for k in wanted]
    return trace(lambda *inputs: interpret(closed, inputs, results=results), closed.in_avals)


def specialise_select(context: SpecialiseContext, which: Value, *cases: Value) -> list[Value]:
    """Returns the case that a known predicate picks, all of it the same, else a `select_n`."""
    picked = _uniform(which)
    if picked is None:
        return context.keep(which, *cases)
    return [cases[int(picked)]]


def specialise_and(context: SpecialiseContext, left: Value, right: Value) -> list[Value]:
    """Returns `left & right`: false, or the other side, where one side is known."""
    return _absorb(context, left, right, absorbing=False)


def specialise_or(context: SpecialiseContext, left: Value, right: Value) -> list[Value]:
    """Returns `left | right`: true, or the other side, where one side is known."""
    return _absorb(context, left, right, absorbing=True)


def _absorb(context: SpecialiseContext, left: Value, right: Value, *, absorbing: bool) -> list[Value]:
    if jnp.result_type(context.eqn.outvars[0].aval) != jnp.bool_:
        return context.keep(left, right)
    for known, other in ((left, right), (right, left)):
        value = _uniform(known)
        if value is not None:
            return [known if bool(value) == absorbing else other]
    return context.keep(left, right)


def _uniform(value: Value) -> Any:
    """Returns the one element that a known array holds everywhere, or None."""
    if not is_known(value) or np.size(value) == 0:
        return None
    array = np.asarray(value)
    first = array.reshape(-1)[0]
    return first if array.size == 1 or bool((array == first).all()) else None
