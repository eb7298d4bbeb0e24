"""One `scan` over rows of known values; buffers that its trips only write to are stacked, not carried."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax.stage._interpret import UNKNOWN, Value, interpret
from couplax.stage._liveness import liveness
from couplax.stage._writes import Writes, find_writes


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedLoop:
    """A body with what it runs on.

    Attributes:
        closed: from (constants, carries, slices of the stacks, a row) to (carries, stacked outputs).
        columns: the known values of the rows, a column each, in the order of the trips.
        length: how many trips.
        reverse: whether the stacks are sliced from the last to the first.
    """

    closed: jec.ClosedJaxpr
    constants: Sequence[Value]
    init: Sequence[Value]
    stacks: Sequence[Value]
    columns: Sequence[Sequence[Value]]
    length: int
    reverse: bool

    def values_of(self, atom: Any) -> Sequence[Any] | None:
        """Returns the known values of an atom of the body, one per trip, or None."""
        jaxpr = self.closed.jaxpr
        if isinstance(atom, jec.Literal):
            return [atom.val] * self.length
        rows = jaxpr.invars[len(jaxpr.invars) - len(self.columns) :]
        known = dict(zip(rows, self.columns, strict=True))
        fixed = dict(zip(jaxpr.constvars, self.closed.consts, strict=True))
        return [fixed[atom]] * self.length if atom in fixed else known.get(atom)


def scan_rows(loop: ScannedLoop) -> tuple[list[Value], list[Value]]:
    """Returns the carries at the end and the stacked outputs."""
    live = liveness(loop.closed.jaxpr, [True] * len(loop.closed.jaxpr.outvars)).equations
    writes = _writes(loop, live)
    writing = [each.eqn for each in writes.values()]
    equations = [eqn for eqn in live if not any(eqn is write for write in writing)]
    count, places = len(loop.init), [k for k in range(len(loop.init)) if k not in writes]
    outputs = loop.closed.jaxpr.outvars
    results = [*(outputs[k] for k in places), *(each.update for each in writes.values()), *outputs[count:]]

    def turn(
        carries: list[Value], sliced: tuple[list[Value], list[Value]]
    ) -> tuple[list[Value], list[Value]]:
        given = dict(zip(places, carries, strict=True))
        inputs = [
            *loop.constants,
            *(given.get(k, UNKNOWN) for k in range(count)),
            *sliced[0],
            *sliced[1],
        ]
        values = interpret(loop.closed, inputs, equations=equations, results=results)
        rest = values[len(places) :]
        slots = [each.slot_of(value) for each, value in zip(writes.values(), rest, strict=False)]
        return values[: len(places)], [*slots, *rest[len(slots) :]]

    slices = (list(loop.stacks), _tables(loop))
    init = [loop.init[k] for k in places]
    ends, stacked = jax.lax.scan(turn, init, slices, length=loop.length, reverse=loop.reverse)
    last = dict(zip(places, ends, strict=True))
    order = range(loop.length)[::-1] if loop.reverse else range(loop.length)
    for (k, each), stack in zip(writes.items(), stacked, strict=False):
        last[k] = each.laid_out(loop.init[k], stack, order)
    return [last[k] for k in range(count)], list(stacked[len(writes) :])


def _writes(loop: ScannedLoop, live: Sequence[jec.JaxprEqn]) -> dict[int, Writes]:
    """Returns, by their place among the carries, how those that the trips only write to are written."""
    start, results = len(loop.constants), loop.closed.jaxpr.outvars
    found: dict[int, Writes] = {}
    for k in range(len(loop.init)):
        buffer, output = loop.closed.jaxpr.invars[start + k], results[k]
        once = sum(atom is output for atom in results) == 1 and not any(atom is buffer for atom in results)
        writes = find_writes(buffer, output, live, loop.values_of) if once else None
        if writes is not None:
            found[k] = writes
    return found


def _tables(loop: ScannedLoop) -> list[Value]:
    with jax.ensure_compile_time_eval():
        return [table(column[::-1] if loop.reverse else column) for column in loop.columns]


def table(column: Sequence[Value]) -> Value:
    """Returns the known values of `column`, one per trip, as one array."""
    if jax.dtypes.issubdtype(jax.typeof(column[0]).dtype, jax.dtypes.prng_key):
        return jnp.stack(column)
    # Not by JAX: a concatenation of 100,000 operands takes it minutes to compile.
    return jnp.asarray(np.stack([np.asarray(value) for value in column]))


def slice_type(stack: Value) -> Any:
    """Returns the type of one slice of `stack`."""
    aval = jax.typeof(stack)
    return aval.update(shape=aval.shape[1:])
