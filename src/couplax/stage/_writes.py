"""Buffers that a counted loop only writes, slot by slot: what is written is stacked, and laid out afterwards.

To carry a buffer through a loop may cost a copy of it at every trip, where a stacked output costs a slot.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jax
import jax.extend.core as jec
import numpy as np

from couplax._sizes import is_symbolic
from couplax.stage._interpret import Value, is_known

MOST_PIECES = 8
"""A buffer is put together from no more pieces than this; one that needs more stays in the loop."""

MOST_GROWTH = 2
"""What is stacked is at most so many times as large as the buffer, else the buffer stays in the loop."""

ValuesOf = Callable[[Any], Sequence[Any] | None]
"""From an atom of the body to its known values, one per trip, or None where it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """How a buffer is written.

    Attributes:
        eqn: the equation that writes; `update`: what it writes.
        axis: the axis along which the slots lie.
        slots: the slot that each trip writes, in the order of the trips; -1 where it writes none.
    """

    eqn: jec.JaxprEqn
    update: Any
    axis: int
    slots: Sequence[int]

    def slot_of(self, update: Value) -> Value:
        """Returns what is written, without the axis of the slots."""
        whole = jax.typeof(update).ndim == len(self.eqn.outvars[0].aval.shape)  # pyright: ignore[reportAttributeAccessIssue]  # an array
        return jax.lax.squeeze(update, (self.axis,)) if whole else update

    def laid_out(self, init: Value, stack: Value, places: Sequence[int]) -> Value:
        """Returns the buffer after the loop.

        Args:
            init: the buffer before.
            stack: what the trips wrote, stacked on the first axis.
            places: where in `stack` each trip stands.
        """
        sources = _sources(self.slots, places, jax.typeof(init).shape[self.axis])
        pieces = [self._piece(run, init, stack) for run in _runs(sources)]
        return pieces[0] if len(pieces) == 1 else jax.lax.concatenate(pieces, self.axis)

    def _piece(self, run: "_Run", init: Value, stack: Value) -> Value:
        if run.source < 0:
            with jax.ensure_compile_time_eval() if is_known(init) else nullcontext():
                return jax.lax.slice_in_dim(init, run.start, run.start + run.length, axis=self.axis)
        low = min(run.source, run.source + run.step * (run.length - 1))
        rows = jax.lax.slice_in_dim(stack, low, low + run.length, axis=0)
        ordered = jax.lax.rev(rows, (0,)) if run.step < 0 else rows
        rest = range(1, jax.typeof(stack).ndim)
        return jax.lax.transpose(ordered, (*rest[: self.axis], 0, *rest[self.axis :]))


@dataclass(frozen=True, slots=True)
class _Run:
    """Slots from `start` on that come from the rows from `source` on, up or down; or, at -1, stay."""

    start: int
    length: int
    source: int
    step: int


def _sources(slots: Sequence[int], places: Sequence[int], count: int) -> list[int]:
    """Returns per slot of a buffer the row that it comes from, the last one written; -1 where it stays."""
    sources = [-1] * count
    for slot, place in zip(slots, places, strict=True):
        if slot >= 0:
            sources[slot] = place
    return sources


def _runs(sources: Sequence[int]) -> Iterator[_Run]:
    """Yields the longest runs of slots that stay, or that come from rows in order."""
    start = 0
    while start < len(sources):
        step = _step(sources, start)
        stop = start + 1
        while stop < len(sources) and sources[stop] == sources[stop - 1] + step and _together(sources, stop):
            stop += 1
        yield _Run(start, stop - start, sources[start], step)
        start = stop


def _step(sources: Sequence[int], start: int) -> int:
    if sources[start] < 0:
        return 0
    follows = start + 1 < len(sources) and sources[start + 1] == sources[start] - 1 and sources[start] > 0
    return -1 if follows else 1


def _together(sources: Sequence[int], stop: int) -> bool:
    return (sources[stop] < 0) == (sources[stop - 1] < 0)


def find_writes(
    buffer: jec.Var, output: Any, equations: Sequence[jec.JaxprEqn], values_of: ValuesOf
) -> Writes | None:
    """Returns how a body's `equations` write `buffer` and give it on as `output`; None where they do more."""
    atoms = [(eqn, place) for eqn in equations for place, atom in enumerate(eqn.invars) if atom is buffer]
    if len(atoms) != 1 or any(atom is output for eqn in equations for atom in eqn.invars):
        return None
    ((eqn, place),) = atoms
    rule = _RULES.get(eqn.primitive.name)
    if rule is None or place != 0 or eqn.outvars[0] is not output:
        return None
    writes = rule(eqn, values_of)
    return writes if writes is not None and _pays(writes) else None


def _pays(writes: Writes) -> bool:
    shape: tuple[int, ...] = writes.eqn.outvars[0].aval.shape  # pyright: ignore[reportAttributeAccessIssue]  # an array
    count = shape[writes.axis]
    if len(writes.slots) > MOST_GROWTH * count:
        return False
    pieces = _runs(_sources(writes.slots, range(len(writes.slots)), count))
    return sum(1 for _ in pieces) <= min(MOST_PIECES, len(writes.slots))


def _updated_slice(eqn: jec.JaxprEqn, values_of: ValuesOf) -> Writes | None:
    operand, update, *starts = eqn.invars
    before, part = _shape(operand), _shape(update)
    axes = [axis for axis, (whole, some) in enumerate(zip(before, part, strict=True)) if whole != some]
    if len(axes) != 1 or part[axes[0]] != 1 or is_symbolic(before[axes[0]]):
        return None
    (axis,) = axes
    values = values_of(starts[axis])
    if values is None:
        return None
    slots = [int(np.clip(int(value), 0, before[axis] - 1)) for value in values]
    return Writes(eqn=eqn, update=update, axis=axis, slots=slots)


def _scattered(eqn: jec.JaxprEqn, values_of: ValuesOf) -> Writes | None:
    operand, indices, update = eqn.invars
    numbers = eqn.params["dimension_numbers"]
    axes = numbers.scatter_dims_to_operand_dims
    one_slot = (
        _shape(indices) == (1,)
        and len(axes) == 1
        and not is_symbolic(_shape(operand)[axes[0]])
        and tuple(numbers.inserted_window_dims) == tuple(axes)
        and tuple(numbers.update_window_dims) == tuple(range(len(_shape(operand)) - 1))
        and not numbers.operand_batching_dims
    )
    values = values_of(indices) if one_slot else None
    if values is None:
        return None
    count, mode = _shape(operand)[axes[0]], eqn.params["mode"]
    slots = [_slot(int(np.asarray(value)[0]), count, mode) for value in values]
    return Writes(eqn=eqn, update=update, axis=axes[0], slots=slots)


def _slot(index: int, count: int, mode: Any) -> int:
    if mode == jax.lax.GatherScatterMode.CLIP:
        return int(np.clip(index, 0, count - 1))
    return index if 0 <= index < count else -1


def _shape(atom: Any) -> tuple[int, ...]:
    return tuple(atom.aval.shape)


_RULES: Mapping[str, Callable[[jec.JaxprEqn, ValuesOf], Writes | None]] = MappingProxyType(
    {"dynamic_update_slice": _updated_slice, "scatter": _scattered}
)
"""Rules by the name of the primitive that writes; the buffer is its first input."""
