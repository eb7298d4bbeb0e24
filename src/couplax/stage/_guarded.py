"""Guarded loops: loops whose trips are known in each of a few cases, which a choice made before decides.

Diffrax's loop over the stages of a step starts at the first or the second, as the step before left its last
slope or not. In each case the trips are known. Those that the cases have in common stand at the end; those
that one has alone come first, under the choice.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import jax

from couplax.stage._cases import Cases, is_flag
from couplax.stage._condition import Condition
from couplax.stage._context import SpecialiseContext
from couplax.stage._counted import CountedLoop, Row, Split, interleave, picked, run_known, split
from couplax.stage._interpret import Value
from couplax.stage._known import identical
from couplax.stage._loops import starting
from couplax.stage._write_out import size_of, write_out

Run = tuple[Sequence[Value], list[Row]]
"""The known carries at the end, and what each trip's known part gives."""


def guarded_while(context: SpecialiseContext, loop: CountedLoop, condition: Condition) -> list[Value] | None:
    """Returns the carries at the end where some choice makes all trips known, else None."""
    for which in _choices(context, loop):
        loops = [starting(loop, init) for init in _per_case(context, loop, which)]
        ends = _written_out(context, loops, condition, which) if condition.is_known_in(loops[0]) else None
        if ends is not None:
            return ends
    return None


def _choices(context: SpecialiseContext, loop: CountedLoop) -> list[Cases]:
    """Returns the choices that decide first values of carries, each one once."""
    found = [context.cases.of(value) for value in loop.init]
    choices = {id(cases.which): cases for cases in found if cases is not None}
    return list(choices.values())


def _per_case(context: SpecialiseContext, loop: CountedLoop, choice: Cases) -> list[list[Value]]:
    """Returns the first values of the carries in each case."""
    found = [context.cases.of(value) for value in loop.init]
    return [
        [
            cases.values[k] if cases is not None and cases.which is choice.which else value
            for value, cases in zip(loop.init, found, strict=True)
        ]
        for k in range(len(choice.values))
    ]


def _written_out(
    context: SpecialiseContext, loops: Sequence[CountedLoop], condition: Condition, choice: Cases
) -> list[Value] | None:
    """Returns the carries at the end, with every trip written out; None where that is over the budget."""
    budget = context.budget
    few = replace(budget, trips=min(budget.trips, budget.equations))
    parts = [split(loop) for loop in loops]
    runs: list[Run] = []
    for part in parts:
        ran = run_known(part, condition.trips(part.loop), few)
        if ran is None:
            return None
        runs.append(ran)
    common = _common([rows for _, rows in runs])
    alone = [rows[: len(rows) - common] for _, rows in runs]
    tail = runs[0][1][len(alone[0]) :]
    if (common + sum(map(len, alone))) * size_of(parts[0]) > budget.equations:
        return None
    carries = _guarded(context, parts, alone, choice)
    unknown, _ = write_out(context, _from(parts[0], carries), tail)
    known = [_merged(context, choice, values) for values in zip(*(ends for ends, _ in runs), strict=True)]
    return interleave(loops[0].unknown_carries, unknown, known)


def _common(runs: Sequence[Sequence[Row]]) -> int:
    """Returns how many of the last trips are the same in all cases."""
    count = 0
    for rows in zip(*(reversed(rows) for rows in runs), strict=False):
        if not all(_same_row(rows[0], row) for row in rows[1:]):
            break
        count += 1
    return count


def _same_row(left: Row, right: Row) -> bool:
    return all(map(identical, left, right))


def _guarded(
    context: SpecialiseContext, parts: Sequence[Split], rows: Sequence[Sequence[Row]], choice: Cases
) -> list[Value]:
    """Returns the unknown carries after the trips that only some of the cases have."""
    init = picked(parts[0].loop.init, parts[0].loop.unknown_carries, True)
    if not any(rows):
        return init

    def trips(part: Split, own: Sequence[Row], *carries: Value) -> list[Value]:
        return write_out(context, _from(part, carries), own)[0] if own else list(carries)

    branches = [partial(trips, part, own) for part, own in zip(parts, rows, strict=True)]
    if is_flag(choice.which):
        return jax.lax.cond(choice.which, branches[1], branches[0], *init)
    return jax.lax.switch(choice.which, branches, *init)


def _from(part: Split, carries: Sequence[Value]) -> Split:
    """Returns `part` of a loop that starts from `carries`, its unknown ones."""
    loop = part.loop
    known = picked(loop.init, loop.unknown_carries, False)
    return replace(part, loop=replace(loop, init=interleave(loop.unknown_carries, carries, known)))


def _merged(context: SpecialiseContext, choice: Cases, values: Sequence[Value]) -> Value:
    """Returns a known carry's value at the end: the same in all cases, or what the choice picks."""
    cases = Cases(choice.which, tuple(values))
    if cases.settled:
        return values[0]
    picked = jax.lax.select_n(choice.which, *values)
    context.cases.note(picked, cases)
    return picked
