"""Writing out a counted loop: its unknown part once per trip where that is short, else as one `scan`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax.stage._context import SpecialiseContext
from couplax.stage._counted import Row, Split, interleave, picked
from couplax.stage._inner import branching
from couplax.stage._interpret import Value, interpret, trace
from couplax.stage._known import identical
from couplax.stage._scan_rows import ScannedLoop, scan_rows, slice_type
from couplax.stage._simplify import sweep
from couplax.stage._weights import weight


def write_out(
    context: SpecialiseContext, parts: Split, rows: Sequence[Row]
) -> tuple[list[Value], list[Value]]:
    """Returns the unknown carries at the end and the unknown stacked outputs, from every trip's unknown part.

    Args:
        rows: what the known part gave, in the order of the trips.
    """
    write = _unrolled if len(rows) * size_of(parts) <= context.budget.equations else _scanned
    return write(context, parts, rows)


def size_of(parts: Split) -> int:
    """Returns how many operations are left of a trip."""
    return weight(parts.equations)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What a trip is given.

    Attributes:
        carries, slices: unknown ones.
        row: what its known part gives.
        inner: loops that make at most one trip, each with whether it makes it.
    """

    carries: Sequence[Value]
    slices: Sequence[Value]
    row: Sequence[Value]
    inner: Sequence[tuple[jec.JaxprEqn, Value]] = ()


def _trip(
    context: SpecialiseContext, parts: Split, constants: Sequence[Value], given: _Given
) -> tuple[list[Value], list[Value]]:
    """Returns the unknown carries and the unknown stacked outputs of one trip."""
    loop = parts.loop
    inputs = [
        *constants,
        *interleave(loop.unknown_carries, given.carries, None),
        *interleave(loop.unknown_stacks, given.slices, None),
    ]
    values = interpret(
        loop.closed,
        inputs,
        branching(context.handle, given.inner),
        equations=parts.equations,
        results=parts.left_results,
        seeds=dict(zip(parts.boundary, given.row, strict=True)),
    )
    count = sum(loop.unknown_carries)
    return values[:count], values[count:]


def _unrolled(
    context: SpecialiseContext, parts: Split, rows: Sequence[Row]
) -> tuple[list[Value], list[Value]]:
    loop, length = parts.loop, len(rows)
    carries = picked(loop.init, loop.unknown_carries, True)
    stacks = picked(loop.stacks, loop.unknown_stacks, True)
    outputs: list[list[Value]] = []
    for trip, row in enumerate(rows):
        place = length - 1 - trip if loop.reverse else trip
        slices = [jax.lax.index_in_dim(stack, place, keepdims=False) for stack in stacks]
        given = _Given(carries=carries, slices=slices, row=row[: len(parts.boundary)])
        carries, stacked = _trip(context, parts, loop.constants, given)
        outputs.append(stacked)
    ordered = outputs[::-1] if loop.reverse else outputs
    return carries, [jnp.stack(column) for column in zip(*ordered, strict=True)]


def _scanned(
    context: SpecialiseContext, parts: Split, rows: Sequence[Row]
) -> tuple[list[Value], list[Value]]:
    loop = parts.loop
    inner = _single(parts, rows)
    columns = [[row[k] for row in rows] for k in range(len(parts.boundary))]
    columns += [column for _, column in inner]
    constant = [all(identical(column[0], value) for value in column[1:]) for column in columns]
    fixed = [column[0] for column in picked(columns, constant, True)]
    changing = picked(columns, constant, False)

    def turn(*inputs: Value) -> list[Value]:
        constants, carries, slices, changes = _cut(inputs, counts)
        row = interleave(constant, fixed, changes)
        known, flags = row[: len(parts.boundary)], row[len(parts.boundary) :]
        loops = [(eqn, flag) for (eqn, _), flag in zip(inner, flags, strict=True)]
        given = _Given(carries=carries, slices=slices, row=known, inner=loops)
        ends, outputs = _trip(context, parts, constants, given)
        return [*ends, *outputs]

    init = picked(loop.init, loop.unknown_carries, True)
    stacks = picked(loop.stacks, loop.unknown_stacks, True)
    groups = (
        list(map(jax.typeof, loop.constants)),
        list(map(jax.typeof, init)),
        [slice_type(stack) for stack in stacks],
        [jax.typeof(column[0]) for column in changing],
    )
    counts = [len(group) for group in groups]
    # Simplified, so that what becomes of a buffer is seen through conversions and reads of no effect.
    body = sweep(trace(turn, [aval for group in groups for aval in group]))
    return scan_rows(
        ScannedLoop(
            closed=body,
            constants=loop.constants,
            init=init,
            stacks=stacks,
            columns=changing,
            length=len(rows),
            reverse=loop.reverse,
        )
    )


def _single(parts: Split, rows: Sequence[Row]) -> list[tuple[jec.JaxprEqn, list[Value]]]:
    """Returns the loops inside that never make a second trip, each with whether it makes one, per row."""
    found: list[tuple[jec.JaxprEqn, list[Value]]] = []
    for k, eqn in enumerate(parts.inner, len(parts.row)):
        flags = np.stack([np.asarray(row[k]) for row in rows])
        if not flags[:, 1].any():
            found.append((eqn, list(flags[:, 0])))
    return found


def _cut(values: Sequence[Value], counts: Sequence[int]) -> list[list[Value]]:
    rest = iter(values)
    return [list(islice(rest, count)) for count in counts]
