"""The specialise rule for `scan`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax._compat import scan_counts
from couplax._sizes import is_symbolic
from couplax.stage._binding_times import unknown_atom
from couplax.stage._context import SpecialiseContext
from couplax.stage._counted import CountedLoop, Row, Split, interleave, run_known, split
from couplax.stage._fold import in_numpy
from couplax.stage._interpret import UNKNOWN, Value, interpret
from couplax.stage._loops import loop_of, steady_carries
from couplax.stage._scan_rows import slice_type, table
from couplax.stage._write_out import write_out


def specialise_scan(
    context: SpecialiseContext,
    *inputs: Value,
    jaxpr: jec.ClosedJaxpr,
    length: int,
    reverse: bool,
    **layout: Any,
) -> list[Value]:
    """Returns the outputs of a `scan`: its known part is run, its unknown part written out or left."""
    if is_symbolic(length):
        return _open_scan(context, inputs, jaxpr)
    if length == 0:
        return context.keep(*inputs)
    constants, count = scan_counts(context.eqn.params)
    head, init, stacks = (
        inputs[:constants],
        inputs[constants : constants + count],
        inputs[constants + count :],
    )
    slices = [slice_type(stack) for stack in stacks]
    steady, body = steady_carries(context, jaxpr, head, init, slices)
    varying = [k for k in range(count) if k not in steady]
    stacked = range(count, len(body.outputs))
    loop = loop_of(
        body, head, [init[k] for k in varying], varying, stacks=stacks, stacked=stacked, reverse=reverse
    )
    carries, outputs = _counted_scan(context, loop, length)
    last = dict(zip(varying, carries, strict=True))
    return [*(last.get(k, value) for k, value in enumerate(init)), *outputs]


def _open_scan(context: SpecialiseContext, inputs: Sequence[Value], jaxpr: jec.ClosedJaxpr) -> list[Value]:
    """Returns the outputs of a `scan` of as many trips as only a run says, its body specialised."""
    turn = context.residual(jaxpr, jaxpr.in_avals)
    return context.keep(*inputs, jaxpr=turn.closed)


def _counted_scan(
    context: SpecialiseContext, loop: CountedLoop, length: int
) -> tuple[list[Value], list[Value]]:
    """Returns the varying carries at the end and the stacked outputs."""
    parts = split(loop)
    ran = _run_scan(context, parts, length)
    if ran is None:
        parts = replace(split(_all_unknown(loop)), inner=())
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
    known = [stack for stack, flag in zip(loop.stacks, loop.unknown_stacks, strict=True) if not flag]
    stacks = [in_numpy(stack) for stack in known]

    def more(trip: int, carries: Sequence[Value]) -> list[Value] | None:
        place = length - 1 - trip if loop.reverse else trip
        return [stack[place] for stack in stacks] if trip < length else None

    if length > context.budget.trips:
        return None
    return _sliced_rows(parts) or run_known(parts, more, context.budget)


def _sliced_rows(parts: Split) -> tuple[Sequence[Value], list[Row]] | None:
    """Returns the rows where they are slices of known arrays and nothing is computed, else None."""
    loop, variables = parts.loop, parts.loop.closed.jaxpr.invars
    places = variables[len(variables) - len(loop.stacks) :]
    known = {
        var: stack
        for var, stack, flag in zip(places, loop.stacks, loop.unknown_stacks, strict=True)
        if not flag and jnp.issubdtype(jax.typeof(stack).dtype, np.generic)
    }
    computes = (
        parts.inner or not parts.row or not all(any(atom is var for var in known) for atom in parts.row)
    )
    if computes or not all(loop.unknown_carries):
        return None
    columns = [np.asarray(known[atom])[:: -1 if loop.reverse else 1] for atom in parts.row]
    return (), [[np.asarray(value) for value in row] for row in zip(*columns, strict=True)]


def _all_unknown(loop: CountedLoop) -> CountedLoop:
    carries, stacks = [True] * len(loop.unknown_carries), [True] * len(loop.stacks)
    return replace(loop, unknown_carries=carries, unknown_stacks=stacks)


def _known_stacked(parts: Split, rows: Sequence[Row]) -> list[Value]:
    ordered = rows[::-1] if parts.loop.reverse else rows
    columns = range(len(parts.boundary), len(parts.row))
    with jax.ensure_compile_time_eval():
        return [table([row[k] for row in ordered]) for k in columns]
