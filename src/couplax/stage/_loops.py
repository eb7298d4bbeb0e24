"""Specialise rules for loops: `while` and `scan`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.extend.core as jec

from couplax._compat import scan_counts
from couplax.stage._binding_times import binding_times, settle, unknown_atom, unknown_outputs
from couplax.stage._counted import CountedLoop, Row, Split, interleave, run_known, split, table, write_out
from couplax.stage._interpret import UNKNOWN, Value, interpret, is_known
from couplax.stage._known import Residual, SpecialiseContext, abstract, identical


def specialise_while(
    context: SpecialiseContext,
    *inputs: Value,
    cond_jaxpr: jec.ClosedJaxpr,
    body_jaxpr: jec.ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Value]:
    """Returns the carries at the end of a `while`: a counted loop where its condition is known."""
    cond_constants, inputs = inputs[:cond_nconsts], inputs[cond_nconsts:]
    body_constants, init = inputs[:body_nconsts], inputs[body_nconsts:]
    first = context.residual(cond_jaxpr, [abstract(value) for value in (*cond_constants, *init)]).outputs[0]
    if first is not UNKNOWN and not first:
        return list(init)
    steady, body = _steady(context, body_jaxpr, body_constants, init, ())
    varying = [k for k in range(len(init)) if k not in steady]
    carries = [init[k] if k in steady else jax.typeof(init[k]) for k in range(len(init))]
    cond = context.residual(cond_jaxpr, [*map(abstract, cond_constants), *carries])
    loop = _loop(body, body_constants, [init[k] for k in varying], varying)
    cond_rest = [value for value in cond_constants if not is_known(value)]
    ends = _known_while(context, loop, cond, len(cond_rest)) or _residual_while(loop, cond, cond_rest)
    last = dict(zip(varying, ends, strict=True))
    return [last.get(k, value) for k, value in enumerate(init)]


def specialise_scan(
    context: SpecialiseContext,
    *inputs: Value,
    jaxpr: jec.ClosedJaxpr,
    length: int,
    reverse: bool,
    **layout: Any,
) -> list[Value]:
    """Returns the outputs of a `scan`: its known part is run, its unknown part written out or left."""
    if length == 0:
        return context.keep(*inputs)
    constants, count = scan_counts(context.eqn.params)
    head, init, stacks = (
        inputs[:constants],
        inputs[constants : constants + count],
        inputs[constants + count :],
    )
    slices = [_slice_type(stack) for stack in stacks]
    steady, body = _steady(context, jaxpr, head, init, slices)
    varying = [k for k in range(count) if k not in steady]
    stacked = range(count, len(body.outputs))
    loop = _loop(
        body, head, [init[k] for k in varying], varying, stacks=stacks, stacked=stacked, reverse=reverse
    )
    carries, outputs = _counted_scan(context, loop, length)
    last = dict(zip(varying, carries, strict=True))
    return [*(last.get(k, value) for k, value in enumerate(init)), *outputs]


def _slice_type(stack: Value) -> Any:
    aval = jax.typeof(stack)
    return aval.update(shape=aval.shape[1:])


def _steady(
    context: SpecialiseContext,
    body: jec.ClosedJaxpr,
    constants: Sequence[Value],
    init: Sequence[Value],
    slices: Sequence[Any],
) -> tuple[frozenset[int], Residual]:
    """Returns which carries keep a known value throughout, and what is left of the body then.

    All known carries are taken to be steady at first; those that a turn changes are given up, until none is.
    """
    steady = frozenset(k for k, value in enumerate(init) if is_known(value))
    while True:
        carries = [value if k in steady else jax.typeof(value) for k, value in enumerate(init)]
        residual = context.residual(body, [*map(abstract, constants), *carries, *slices])
        outputs = residual.outputs
        kept = frozenset(k for k in steady if outputs[k] is not UNKNOWN and identical(outputs[k], init[k]))
        if kept == steady:
            return steady, residual
        steady = kept


def _loop(
    body: Residual,
    constants: Sequence[Value],
    init: Sequence[Value],
    varying: Sequence[int],
    *,
    stacks: Sequence[Value] = (),
    stacked: Sequence[int] = (),
    reverse: bool = False,
) -> CountedLoop:
    """Returns the loop of the body that is left, with the binding times of its carries settled."""
    rest = [value for value in constants if not is_known(value)]
    unknown_stacks = [not is_known(stack) for stack in stacks]

    def after(flags: list[bool]) -> list[bool]:
        outputs = unknown_outputs(body.closed.jaxpr, [*[True] * len(rest), *flags, *unknown_stacks])
        return [outputs[k] for k in varying]

    return CountedLoop(
        closed=body.closed,
        constants=rest,
        init=init,
        carries=varying,
        unknown_carries=settle([not is_known(value) for value in init], after),
        stacks=stacks,
        stacked=stacked,
        unknown_stacks=unknown_stacks,
        reverse=reverse,
    )


def _known_while(
    context: SpecialiseContext, loop: CountedLoop, cond: Residual, cond_rest: int
) -> list[Value] | None:
    """Returns the varying carries at the end where the condition is known at every turn, else None."""
    undecided = cond.outputs[0] is not UNKNOWN
    if undecided or unknown_outputs(cond.closed.jaxpr, [*[True] * cond_rest, *loop.unknown_carries])[0]:
        return None
    parts = split(loop)
    decide = jax.jit(lambda carries: _decide(loop, cond, cond_rest, carries))
    ran = run_known(parts, lambda _, carries: () if bool(decide(carries)) else None, context.budget)
    if ran is None:
        return None
    known, rows = ran
    unknown, _ = write_out(context, parts, rows)
    return interleave(loop.unknown_carries, unknown, known)


def _decide(loop: CountedLoop, cond: Residual, cond_rest: int, known: Sequence[Value]) -> Value:
    """Returns the condition, which reads known carries alone."""
    carries = interleave(loop.unknown_carries, None, known)
    times = binding_times(cond.closed.jaxpr, [*[True] * cond_rest, *loop.unknown_carries])
    equations = [
        eqn for eqn in cond.closed.jaxpr.eqns if not any(unknown_atom(atom, times) for atom in eqn.invars)
    ]
    return interpret(cond.closed, [*[UNKNOWN] * cond_rest, *carries], equations=equations)[0]


def _residual_while(loop: CountedLoop, cond: Residual, cond_rest: Sequence[Value]) -> list[Value]:
    def go_on(carries: tuple[Value, ...]) -> Value:
        return interpret(cond.closed, [*cond_rest, *carries])[0]

    def turn(carries: tuple[Value, ...]) -> tuple[Value, ...]:
        outputs = interpret(loop.closed, [*loop.constants, *carries])
        return tuple(outputs[k] for k in loop.carries)

    return list(jax.lax.while_loop(go_on, turn, tuple(loop.init)))


def _counted_scan(
    context: SpecialiseContext, loop: CountedLoop, length: int
) -> tuple[list[Value], list[Value]]:
    """Returns the varying carries at the end and the stacked outputs."""
    parts = split(loop)
    ran = _run_scan(context, parts, length)
    if ran is None:
        parts = split(_all_unknown(loop))
        blank = [UNKNOWN] * len(parts.loop.unknown_inputs)
        ran = (), [interpret(parts.loop.closed, blank, equations=(), results=parts.row)] * length
    known, rows = ran
    unknown, outputs = write_out(context, parts, rows)
    carries = interleave(parts.loop.unknown_carries, unknown, known)
    flags = [unknown_atom(atom, parts.left) for atom in parts.stacked]
    return carries, interleave(flags, outputs, _known_stacked(parts, rows))


def _run_scan(
    context: SpecialiseContext, parts: Split, length: int
) -> tuple[Sequence[Value], list[Row]] | None:
    loop = parts.loop
    stacks = [stack for stack, flag in zip(loop.stacks, loop.unknown_stacks, strict=True) if not flag]

    def more(trip: int, carries: Sequence[Value]) -> list[Value] | None:
        place = length - 1 - trip if loop.reverse else trip
        return [stack[place] for stack in stacks] if trip < length else None

    return run_known(parts, more, context.budget) if length <= context.budget.trips else None


def _all_unknown(loop: CountedLoop) -> CountedLoop:
    carries, stacks = [True] * len(loop.unknown_carries), [True] * len(loop.stacks)
    return replace(loop, unknown_carries=carries, unknown_stacks=stacks)


def _known_stacked(parts: Split, rows: Sequence[Row]) -> list[Value]:
    ordered = rows[::-1] if parts.loop.reverse else rows
    columns = range(len(parts.boundary), len(parts.row))
    with jax.ensure_compile_time_eval():
        return [table([row[k] for row in ordered]) for k in columns]
