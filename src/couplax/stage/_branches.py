"""Specialise rules for choices: `cond`, `select_n`, `and`, `or`."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax.stage._cases import Cases, is_flag
from couplax.stage._context import Residual, SpecialiseContext, abstract
from couplax.stage._fold import taken_branch
from couplax.stage._interpret import UNKNOWN, Value, interpret, is_known, trace
from couplax.stage._known import identical


def specialise_cond(
    context: SpecialiseContext, index: Value, *operands: Value, branches: Sequence[Any], **params: Any
) -> list[Value]:
    """Returns the outputs of the branch that a known `index` picks, else of a specialised `cond`."""
    if is_known(index):
        return context.evaluate(taken_branch(branches, index), operands)
    cases = context.cases.of(index)
    if cases is None:
        return _unknown_cond(context, index, operands, branches, index)
    taken = [taken_branch(branches, value) for value in cases.values]
    if all(branch is taken[0] for branch in taken[1:]):
        return context.evaluate(taken[0], operands)
    which = jax.lax.convert_element_type(cases.which, jnp.int32)
    return _unknown_cond(context, which, operands, taken, cases.which)


def _unknown_cond(
    context: SpecialiseContext,
    index: Value,
    operands: Sequence[Value],
    branches: Sequence[Any],
    which: Value,
) -> list[Value]:
    """Returns the outputs of a `cond`; a branch knows what `which` was for it to be taken."""
    unknown = [k for k, value in enumerate(operands) if not is_known(value)]
    given = [[_in_case(context, value, which, case) for value in operands] for case in range(len(branches))]
    left = [context.residual(branch, values) for branch, values in zip(branches, given, strict=True)]
    per_output = [[residual.outputs[k] for residual in left] for k in range(len(context.eqn.outvars))]
    shared = [_shared(values) for values in per_output]
    wanted = [k for k, value in enumerate(shared) if value is UNKNOWN]
    if not wanted:
        return shared
    reads = [[not is_known(values[k]) for k in unknown] for values in given]
    avals = [jax.typeof(operands[k]) for k in unknown]
    kept = [_only(residual, flags, avals, wanted) for residual, flags in zip(left, reads, strict=True)]
    outputs = iter(context.keep(index, *(operands[k] for k in unknown), branches=tuple(kept)))
    merged = [next(outputs) if value is UNKNOWN else value for value in shared]
    for value, values in zip(merged, per_output, strict=True):
        if all(each is not UNKNOWN for each in values):
            context.cases.note(value, Cases(which, tuple(values)))
    return merged


def _shared(values: Sequence[Value]) -> Value:
    first = values[0]
    same = first is not UNKNOWN and all(v is not UNKNOWN and identical(first, v) for v in values)
    return first if same else UNKNOWN


def _in_case(context: SpecialiseContext, value: Value, which: Value, case: int) -> Value:
    """Returns what `value` is where `which` is `case`, if that is known, else its abstract value."""
    cases = context.cases.of(value)
    return abstract(value) if cases is None or cases.which is not which else cases.values[case]


def _only(
    residual: Residual, reads: Sequence[bool], avals: Sequence[Any], wanted: Sequence[int]
) -> jec.ClosedJaxpr:
    """Returns the residual with the `wanted` outputs alone, from inputs of which it `reads` some."""
    closed = residual.closed
    results = [closed.jaxpr.outvars[k] for k in wanted]

    def part(*inputs: Value) -> list[Value]:
        read = [value for value, flag in zip(inputs, reads, strict=True) if flag]
        return interpret(closed, read, results=results)

    return trace(part, avals)


def specialise_select(context: SpecialiseContext, which: Value, *cases: Value) -> list[Value]:
    """Returns the case that a known predicate picks, all of it the same, else a `select_n`."""
    picked = _uniform(which)
    if picked is not None:
        return [cases[int(picked)]]
    decided = context.cases.of(which)
    if decided is not None and decided.which is not which and is_flag(decided.which):
        which, cases = decided.which, tuple(cases[int(value)] for value in decided.values)
    outputs = context.keep(which, *cases)
    if jax.typeof(which).shape == () and all(is_known(case) and np.size(case) == 1 for case in cases):
        context.cases.note(outputs[0], Cases(which, cases))
    return outputs


def specialise_and(context: SpecialiseContext, left: Value, right: Value) -> list[Value]:
    """Returns `left & right`: false, or the other side, where one side is known."""
    return _absorb(context, left, right, absorbing=False)


def specialise_or(context: SpecialiseContext, left: Value, right: Value) -> list[Value]:
    """Returns `left | right`: true, or the other side, where one side is known."""
    return _absorb(context, left, right, absorbing=True)


def _absorb(context: SpecialiseContext, left: Value, right: Value, *, absorbing: bool) -> list[Value]:
    aval: Any = context.eqn.outvars[0].aval
    for known, other in ((left, right), (right, left)):
        value = _uniform(known) if aval.dtype == jnp.bool_ else None
        result = None if value is None else known if bool(value) == absorbing else other
        # One of the sides may be a scalar, where the other is an array.
        if result is not None and jax.typeof(result).shape == aval.shape:
            return [result]
        if value is not None and bool(value) == absorbing:
            return [np.full(aval.shape, absorbing)]
    return context.keep(left, right)


def _uniform(value: Value) -> Any:
    """Returns the one element that a known array holds everywhere, or None."""
    if not is_known(value) or np.size(value) == 0:
        return None
    array = np.asarray(value)
    first = array.reshape(-1)[0]
    return first if array.size == 1 or bool((array == first).all()) else None
