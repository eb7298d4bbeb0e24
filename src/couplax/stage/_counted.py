"""Counted loops: loops whose number of trips is known.

The body is split by binding time. Its known part runs here, trip by trip; what it hands to the unknown part
is a row of values per trip.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import jax
import jax.extend.core as jec
import numpy as np

from couplax.stage._binding_times import Times, binding_times, unknown_atom
from couplax.stage._fold import fold_known
from couplax.stage._inner import decided_loops, goes_on
from couplax.stage._interpret import UNKNOWN, Value, interpret
from couplax.stage._known import Budget, waits_for_run
from couplax.stage._liveness import liveness

Row = list[Value]

TRIPS_BEFORE_COMPILING = 16
"""So many trips are run operation by operation, which takes less than compiling a trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedLoop:
    """A loop body with what it starts from.

    Attributes:
        closed: the body, from (constants, carries, slices) to (carries, stacked outputs).
        constants: the unknown values that every trip reads.
        init: the carries' first values.
        carries: positions of the carries among the body's outputs; `stacked`: those of the stacked outputs.
        stacks: the arrays that are sliced, one slice per trip.
        unknown_carries: per carry whether it is unknown; `unknown_stacks`: per array.
        reverse: whether the slices are taken from the last to the first.
    """

    closed: jec.ClosedJaxpr
    constants: Sequence[Value]
    init: Sequence[Value]
    carries: Sequence[int]
    unknown_carries: Sequence[bool]
    stacks: Sequence[Value] = ()
    stacked: Sequence[int] = ()
    unknown_stacks: Sequence[bool] = ()
    reverse: bool = False

    @property
    def unknown_inputs(self) -> list[bool]:
        """Per input of the body whether it is unknown."""
        return [*[True] * len(self.constants), *self.unknown_carries, *self.unknown_stacks]

    @property
    def times(self) -> Times:
        """Per variable of the body whether it is unknown."""
        return binding_times(self.closed.jaxpr, self.unknown_inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A loop body split into what is run now and what is left.

    Attributes:
        times: per variable whether it is unknown; `left`: whether the part that is left computes it.
        carries, stacked: the body's outputs as variables or literals.
        equations: those of the part that is left.
        boundary: the known variables that it reads from the part that is run now.
        inner: loops among the equations whose trips are known at each trip.
    """

    loop: CountedLoop
    times: Times
    left: Times
    carries: Sequence[Any]
    stacked: Sequence[Any]
    equations: Sequence[jec.JaxprEqn]
    boundary: Sequence[jec.Var]
    inner: Sequence[jec.JaxprEqn]

    @property
    def row(self) -> list[Any]:
        """What a trip's known part gives: the boundary, then the known stacked outputs.

        After it stands, per loop in `inner`, whether that makes a first trip and a second one.
        """
        return [*self.boundary, *(atom for atom in self.stacked if not unknown_atom(atom, self.left))]

    @property
    def left_results(self) -> list[Any]:
        """The unknown carries, then the stacked outputs that are left."""
        carries = [a for a, flag in zip(self.carries, self.loop.unknown_carries, strict=True) if flag]
        return [*carries, *(atom for atom in self.stacked if unknown_atom(atom, self.left))]


def split(loop: CountedLoop) -> Split:
    """Returns `loop`'s body split into what is known before the program runs and what is left.

    Left is what is unknown, and what depends on nothing at all and yet was not folded: it is too large to be
    kept as numbers.
    """
    times, jaxpr = loop.times, loop.closed.jaxpr
    moving = binding_times(jaxpr, [not flag for flag in loop.unknown_inputs])
    still = {var for var, flag in moving.items() if not flag}.difference(jaxpr.constvars)
    left = {var: flag or var in still for var, flag in times.items()}
    carries = [jaxpr.outvars[k] for k in loop.carries]
    stacked = [jaxpr.outvars[k] for k in loop.stacked]
    live = liveness(jaxpr, [True] * len(jaxpr.outvars)).equations
    equations = [eqn for eqn in live if eqn.effects or any(left[var] for var in eqn.outvars)]
    unknown = [atom for atom, flag in zip(carries, loop.unknown_carries, strict=True) if flag]
    read: dict[Any, None] = dict.fromkeys(
        [*(atom for eqn in equations for atom in eqn.invars if _is_var(atom)), *filter(_is_var, unknown)]
    )
    boundary = [var for var in read if not left[var] and var not in jaxpr.constvars]
    return Split(
        loop=loop,
        times=times,
        left=left,
        carries=carries,
        stacked=stacked,
        equations=equations,
        boundary=boundary,
        inner=decided_loops(equations, times),
    )


def _is_var(atom: Any) -> bool:
    return not isinstance(atom, jec.Literal)


def run_known(
    parts: Split, more: Callable[[int, Sequence[Value]], Sequence[Value] | None], budget: Budget
) -> tuple[Sequence[Value], list[Row]] | None:
    """Returns the known carries at the end and a row per trip, or None where the budget is spent.

    Args:
        more: from a trip's number and the known carries to the known slices, or None where the loop ends.
    """
    carries: Sequence[Value] = picked(parts.loop.init, parts.loop.unknown_carries, False)
    rows: list[Row] = []
    size = 0
    with jax.ensure_compile_time_eval():
        step = compiled_later(_known_trip(parts))
        while (slices := more(len(rows), carries)) is not None:
            carries, row = step(len(rows))(carries, slices)
            rows.append(row)
            size += sum(value.nbytes for value in row)
            if len(rows) > budget.trips or size > budget.table:
                return None
    return carries, rows


def compiled_later(fn: Callable[..., Any]) -> Callable[[int], Callable[..., Any]]:
    """Returns from a trip's number to `fn`, which is compiled once a loop is long enough to pay for it."""
    compiled = jax.jit(fn)
    return lambda trip: fn if trip < TRIPS_BEFORE_COMPILING else compiled


def _known_trip(parts: Split) -> Callable[..., tuple[list[Value], Row]]:
    """Returns the known part of a trip, from the known carries and slices to the carries and the row."""
    loop, times = parts.loop, parts.times
    known = [
        eqn
        for eqn in loop.closed.jaxpr.eqns
        if not all(times[v] for v in eqn.outvars) and not waits_for_run(eqn)
    ]
    # Where only some outputs of an equation are known (a loop inside), they do not depend on its unknown
    # inputs: any will do.
    stand_ins = {
        atom: _any_value(atom.aval) for eqn in known for atom in eqn.invars if unknown_atom(atom, times)
    }
    wanted = [a for a, flag in zip(parts.carries, loop.unknown_carries, strict=True) if not flag]
    results = [*wanted, *parts.row]
    asked = [atom for eqn in parts.inner for atom in eqn.invars]

    def trip(carries: Sequence[Value], slices: Sequence[Value]) -> tuple[list[Value], Row]:
        inputs = [
            *[UNKNOWN] * len(loop.constants),
            *interleave(loop.unknown_carries, None, carries),
            *interleave(loop.unknown_stacks, None, slices),
        ]
        values = interpret(
            loop.closed, inputs, fold_known, equations=known, results=[*results, *asked], seeds=stand_ins
        )
        rest = iter(values[len(results) :])
        trips = [goes_on(eqn, list(islice(rest, len(eqn.invars)))) for eqn in parts.inner]
        arrays = [_as_array(value, atom) for value, atom in zip(values, results, strict=False)]
        return arrays[: len(wanted)], [*arrays[len(wanted) :], *trips]

    return trip


def _as_array(value: Value, atom: Any) -> Value:
    """Returns `value`, which a literal may hold as a Python number, as an array of its type."""
    return value if isinstance(value, jax.Array | np.ndarray) else np.asarray(value, atom.aval.dtype)


def _any_value(aval: Any) -> Value:
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return jax.random.split(jax.random.key(0), aval.shape)
    return np.zeros(aval.shape, aval.dtype)


def interleave(
    flags: Sequence[bool], unknown: Sequence[Value] | None, known: Sequence[Value] | None
) -> list[Value]:
    """Returns the values in order, `unknown` ones where the flag is set; None stands for all `UNKNOWN`."""
    blank = [UNKNOWN] * len(flags)
    left, right = iter(blank if unknown is None else unknown), iter(blank if known is None else known)
    return [next(left) if flag else next(right) for flag in flags]


def picked(values: Sequence[Value], flags: Sequence[bool], wanted: bool) -> list[Value]:
    """Returns the values whose flag is the `wanted` one."""
    return [value for value, flag in zip(values, flags, strict=True) if flag == wanted]
