"""What a design structure matrix shows: who reads what of whom, and which blocks form loops."""

import enum
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ._scheme import Block, Control, Loop, Role, Step, blocks, loops


class Way(enum.Enum):
    """How a value comes from its writer to its reader."""

    FORWARD = "forward"
    FEEDBACK = "feedback"
    """It is read before it is written, in a cycle that nothing closes."""
    CUT = "cut"
    """A solver finds it."""
    INTEGRATED = "integrated"
    """An integration finds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """That the block at position `reader` reads `names` of the one at `writer`."""

    writer: int
    reader: int
    way: Way
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A loop: the blocks from position `first` to `last`.

    Attributes:
        depth: how many loops are around it.
    """

    first: int
    last: int
    depth: int
    name: str
    control: Control | None


def marks(steps: Sequence[Step]) -> tuple[Mark, ...]:
    """Returns a mark for each pair of blocks of which one reads the other, row by row."""
    every = list(blocks(steps))
    writers = {name: position for position, block in enumerate(every) for name in block.gives}
    around = list(_around(steps, ()))
    found: dict[tuple[int, int], list[tuple[str, Way]]] = {}
    for reader, name in (*_read(every), *_read_by_controls(steps, every)):
        if name in writers:
            way = _way(name, writers[name], reader, around[reader])
            found.setdefault((writers[name], reader), []).append((name, way))
    return tuple(_mark(pair, found[pair]) for pair in sorted(found))


def _read(every: Sequence[Block]) -> Iterator[tuple[int, str]]:
    """Yields the position of each block with the names that it reads."""
    for reader, block in enumerate(every):
        yield from ((reader, name) for name in block.reads)


def _read_by_controls(steps: Sequence[Step], every: Sequence[Block]) -> Iterator[tuple[int, str]]:
    """Yields what an integration reads, such as initial states, as read by the blocks that give the rates."""
    positions = {block.components: position for position, block in enumerate(every)}
    for loop in loops(steps):
        readers = [positions[block.components] for block in blocks([loop]) if block.rates]
        yield from ((at, name) for at in readers for name in (loop.control.reads if loop.control else ()))


def _around(steps: Sequence[Step], controls: tuple[Control, ...]) -> Iterator[tuple[Control, ...]]:
    """Yields for each block what drives the loops around it, the outermost first."""
    for step in steps:
        if isinstance(step, Block):
            yield controls
        else:
            yield from _around(step.body, (*controls, step.control) if step.control else controls)


def _way(name: str, writer: int, reader: int, controls: Sequence[Control]) -> Way:
    """Returns how `name` comes from a writer to a reader that has `controls` around it."""
    finder = next((control for control in controls if name in control.finds), None)
    if finder:
        return Way.INTEGRATED if finder.role is Role.INTEGRATION else Way.CUT
    return Way.FORWARD if writer < reader else Way.FEEDBACK


# Of several ways in one cell, the first is shown.
_SHOWN = (Way.FEEDBACK, Way.CUT, Way.INTEGRATED, Way.FORWARD)


def _mark(pair: tuple[int, int], passed: Sequence[tuple[str, Way]]) -> Mark:
    """Returns the mark of all that passes from one block to another."""
    way = min((way for _, way in passed), key=_SHOWN.index)
    return Mark(writer=pair[0], reader=pair[1], way=way, names=tuple(name for name, _ in passed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Marks next to each other in a row, of one way: the readers from position `first` to `last`."""

    writer: int
    first: int
    last: int
    way: Way
    names: tuple[str, ...]


def runs(found: Sequence[Mark], *, joined: bool) -> Iterator[Run]:
    """Yields the marks one by one, or `joined` where they stand next to each other."""
    keys = ((mark.writer, mark.way, mark.reader - at if joined else at) for at, mark in enumerate(found))
    for _, group in itertools.groupby(zip(keys, found, strict=True), key=lambda pair: pair[0]):
        run = [mark for _, mark in group]
        yield Run(
            writer=run[0].writer,
            first=run[0].reader,
            last=run[-1].reader,
            way=run[0].way,
            names=tuple(dict.fromkeys(name for mark in run for name in mark.names)),
        )


def frames(steps: Sequence[Step], position: int = 0, depth: int = 0) -> Iterator[Frame]:
    """Yields the loops, each before those inside it.

    Args:
        position: that of the first block of `steps`.
    """
    for step in steps:
        count = sum(1 for _ in blocks([step]))
        if isinstance(step, Loop):
            last = position + count - 1
            yield Frame(first=position, last=last, depth=depth, name=step.name, control=step.control)
            yield from frames(step.body, position, depth + 1)
        position += count
