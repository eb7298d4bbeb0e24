"""Neighbours in the order in which they run, collapsed until few enough are left."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence

from ._merge import merged, written
from ._scheme import Block, Loop, Step, blocks, loops, stations

# Whether two neighbours may become one block.
Joint = Callable[[Step, Step], bool]


def packed(steps: tuple[Step, ...], most: int) -> tuple[Step, ...]:
    """Returns `steps` with neighbours as one block, so that at most `most` stations are left.

    No block stands for more components than needed. Where it is enough to collapse chains, in which each
    step's values are read by the next alone, nothing else is collapsed.
    """
    chains = _collected(steps, _size(steps), _chain_joint(steps))
    joint = _chain_joint(steps) if stations(chains) <= most else _any_joint
    sizes = range(1, _size(steps) + 1)
    enough = bisect_left(sizes, True, key=lambda size: stations(_collected(steps, size, joint)) <= most)
    return _collected(steps, sizes[min(enough, len(sizes) - 1)], joint)


def _size(steps: Sequence[Step]) -> int:
    """Returns how many components `steps` stand for."""
    return sum(len(block.components) for block in blocks(steps))


def _any_joint(_one: Step, _other: Step) -> bool:
    """Returns that the two may become one block."""
    return True


def _chain_joint(steps: Sequence[Step]) -> Joint:
    """Returns whether a step's values are read by the next step, and by nothing else."""
    # By components, since two blocks may have one name: parts of a group that could not stand together.
    readers: dict[str, set[tuple[str, ...]]] = {}
    for block in blocks(steps):
        for name in block.reads:
            readers.setdefault(name, set()).add(block.components)
    for loop in loops(steps):
        for name in (*loop.control.reads, *loop.control.wants) if loop.control else ():
            readers.setdefault(name, set()).add(())

    def joint(one: Step, other: Step) -> bool:
        inside = {block.components for block in blocks([one, other])}
        read = [readers[name] for name in written([one]) if name in readers]
        return bool(read) and all(found <= inside for found in read)

    return joint


def _collected(
    steps: Sequence[Step], size: int, joint: Joint, found: Collection[str] = frozenset()
) -> tuple[Step, ...]:
    """Returns `steps` with neighbours as one block, none of which stands for more than `size` components."""
    return tuple(_one(run, size, joint, found) for run in _runs(steps, size, joint))


def _runs(steps: Sequence[Step], size: int, joint: Joint) -> Iterator[list[Step]]:
    """Yields `steps` in runs, each as long as `size` and `joint` allow."""
    run = [steps[0]]
    for step in steps[1:]:
        if _size([*run, step]) <= size and joint(run[-1], step):
            run.append(step)
        else:
            yield run
            run = [step]
    yield run


def _one(run: Sequence[Step], size: int, joint: Joint, found: Collection[str]) -> Step:
    """Returns a run as one step."""
    alone = run[0]
    if len(run) > 1:
        return merged(_span(run), run, found)
    if isinstance(alone, Block):
        return alone
    finds = alone.control.finds if alone.control else ()
    body = _collected(alone.body, size, joint, {*found, *finds})
    return Loop(name=alone.name, control=alone.control, body=body)


def _span(run: Sequence[Step]) -> str:
    """Returns a name for a run: its first and its last, such as `cell_1 … 50` for `cell_1` to `cell_50`."""
    names = [block.name for block in blocks(run)]
    first, last = names[0], names[-1]
    shared = [part.end() for part in re.finditer(r"[._]", last) if first.startswith(last[: part.end()])]
    return f"{first} {'+' if len(names) == 2 else '…'} {last[max(shared, default=0) :]}"
