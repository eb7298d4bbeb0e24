"""What an XDSM shows: stations on the diagonal, and what flows from one to another.

Source: A. B. Lambe and J. R. R. A. Martins, "Extensions to the design structure matrix for the description of
multidisciplinary design, analysis, and optimization processes", Structural and Multidisciplinary Optimization
46 (2012), 273-284.
"""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ._scheme import Block, Control, Loop, Step, stations


class Kind(enum.Enum):
    """What a flow carries.

    `FEEDBACK` is data that a component reads before it is written, in a cycle that nothing closes.
    A solver starts at a `GUESS`; it gives a `TARGET` and gets the `VALUE` to compare with, or it gives an
    `UNKNOWN` and gets its `RESIDUAL`. An integration gives a `STATE` and gets its `RATE`. An optimiser starts
    at a `START`, gives a `DESIGN` variable, gets a `RESPONSE`, and ends at an `OPTIMUM`.
    """

    DATA = "data"
    FEEDBACK = "feedback"
    INPUT = "input"
    OUTPUT = "output"
    GUESS = "guess"
    TARGET = "target"
    VALUE = "value"
    UNKNOWN = "unknown"
    RESIDUAL = "residual"
    STATE = "state"
    RATE = "rate"
    START = "start"
    DESIGN = "design"
    RESPONSE = "response"
    OPTIMUM = "optimum"

    @property
    def at_cut(self) -> bool:
        """Whether the variables are those that a solver finds, or an optimiser in its place."""
        return self in (Kind.GUESS, Kind.TARGET, Kind.VALUE, Kind.UNKNOWN, Kind.RESIDUAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A block or what drives a loop, at its place on the diagonal.

    Attributes:
        runs: the block; what drives the loop.
        drives: the loop, if one is driven.
        inside: the positions of what drives the loops around the station, the outermost first.
        number: when it runs; what drives a loop runs again after it: `1, 4→2`.
    """

    runs: Block | Control
    drives: Loop | None
    inside: tuple[int, ...]
    number: str

    @property
    def name(self) -> str:
        """The block's name, or that of what drives the loop."""
        return self.runs.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Variables that pass from one station to another.

    Attributes:
        source: the station's position on the diagonal; None for what comes from outside.
        target: the station's position on the diagonal; None for what goes outside.
    """

    source: int | None
    target: int | None
    kind: Kind
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """Stations with what flows between them.

    Attributes:
        process: pairs of positions, the second of which runs next after the first.
    """

    stations: tuple[Station, ...]
    flows: tuple[Flow, ...]
    process: tuple[tuple[int, int], ...]


def numbered(steps: Sequence[Step]) -> tuple[Station, ...]:
    """Returns the stations of `steps` in the order in which they run."""
    return tuple(_numbered(steps, number=1, position=0, inside=()))


def _numbered(
    steps: Sequence[Step], *, number: int, position: int, inside: tuple[int, ...]
) -> Iterator[Station]:
    """Yields the stations of `steps`, the first of which runs as step `number` and stands at `position`."""
    for step in steps:
        if isinstance(step, Block):
            yield Station(runs=step, drives=None, inside=inside, number=str(number))
        elif step.control is None:
            yield from _numbered(step.body, number=number, position=position, inside=inside)
        else:
            first, after = number + 1, number + 1 + _length(step.body)
            yield Station(runs=step.control, drives=step, inside=inside, number=f"{number}, {after}→{first}")
            yield from _numbered(step.body, number=first, position=position + 1, inside=(*inside, position))
        number += _length([step])
        position += stations([step])


def _length(steps: Sequence[Step]) -> int:
    """Returns how many numbers `steps` have: what drives a loop has one before it and one after it."""
    return sum(
        1 if isinstance(step, Block) else _length(step.body) + 2 * (step.control is not None)
        for step in steps
    )


def process(steps: Sequence[Step], position: int = 0) -> Iterator[tuple[int, int]]:
    """Yields each position with one that runs next after it: after the last of a loop, what drives it.

    Args:
        position: that of the first of `steps`.
    """
    before: int | None = None
    for step in steps:
        if before is not None:
            yield before, position
        if isinstance(step, Loop):
            first = position + (step.control is not None)
            yield from process(step.body, first)
            if step.control:
                yield position, first
                yield _last(step.body, first), position
        before = _last([step], position)
        position += stations([step])


def _last(steps: Sequence[Step], position: int) -> int:
    """Returns the position of the station at which `steps`, the first at `position`, end."""
    last = steps[-1]
    start = position + stations(steps[:-1])
    return start if isinstance(last, Block) or last.control else _last(last.body, start)
