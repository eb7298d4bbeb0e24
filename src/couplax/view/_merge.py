"""Several steps drawn as one block."""

from collections.abc import Collection, Iterator, Sequence

from ._scheme import Block, Step, blocks, loops


def merged(name: str, steps: Sequence[Step], found: Collection[str]) -> Block:
    """Returns one block that stands for all of `steps`.

    Args:
        found: the names whose values the loops around them find: these come from there, whoever writes them.
    """
    inside = list(blocks(steps))
    controls = [loop.control for loop in loops(steps) if loop.control]
    solved = {name for control in controls for name in control.finds}
    own = {*written(steps), *solved} - set(found)
    components = tuple(part for block in inside for part in block.components)
    reads = _unique(name for name in _read(steps) if name not in own)
    gives = _unique(written(steps))
    return Block(
        name=name,
        components=components,
        reads=reads,
        writes=gives,
        residuals=tuple(name for block in inside for name in block.residuals if name not in solved),
        rates=tuple(name for block in inside for name in block.rates if name not in solved),
        tooltip="\n".join((*_said(name, components, reads, gives), *(c.tooltip for c in controls))),
    )


def written(steps: Sequence[Step]) -> Iterator[str]:
    """Yields the names whose values others have from `steps`."""
    for step in steps:
        if isinstance(step, Block):
            yield from step.writes
            continue
        if step.control:
            yield from step.control.writes
        if not (step.control and step.control.hides):
            yield from written(step.body)


def _read(steps: Sequence[Step]) -> Iterator[str]:
    """Yields what is read in `steps`, but for what the loops inside find for themselves."""
    for step in steps:
        if isinstance(step, Block):
            yield from step.reads
        else:
            finds = step.control.finds if step.control else ()
            yield from step.control.reads if step.control else ()
            yield from (name for name in _read(step.body) if name not in finds)


def _unique(names: Iterator[str]) -> tuple[str, ...]:
    """Returns `names`, each once."""
    return tuple(dict.fromkeys(names))


def _said(name: str, components: Sequence[str], reads: Sequence[str], writes: Sequence[str]) -> Iterator[str]:
    """Yields what a block stands for, reads and writes, in words."""
    yield f"{name}: {len(components)} components"
    yield ", ".join(components)
    yield f"reads {', '.join(reads) or 'nothing'}"
    yield f"writes {', '.join(writes) or 'nothing'}"
