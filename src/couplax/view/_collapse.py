"""Which steps of a scheme are drawn as one, so that the drawing can be read.

Two rules, each used only as far as the drawing needs it:

1. Components that share the beginning of their names, as those of a nested model do, become one block:
   `wing.spar` and `wing.skin` become `wing`.
2. Where far too many are left, neighbours in the order in which they run become one block, none of many more
   components than another: first those of a chain, whose values nobody else reads, then any.
"""

from collections.abc import Collection, Iterator, Sequence

from couplax._errors import ModelError
from couplax.graph import unknown_names

from ._group import grouped
from ._neighbours import packed
from ._scheme import Step, blocks, loops, stations

# Beyond so many times the wanted number of stations, names are not all that is collapsed.
_FAR_TOO_MANY = 3


def collapsed(
    steps: tuple[Step, ...], *, collapse: Collection[str] | None, expand: Collection[str], most: int
) -> tuple[Step, ...]:
    """Returns `steps` with some of them as one block.

    Args:
        collapse: beginnings of components' names, or the names of cycles, each to become one block; nothing
            else is collapsed then. By default what `most` asks for.
        expand: beginnings of names that `most` leaves open.
        most: how many stations may stand on the diagonal before names are collapsed.

    Raises:
        ModelError: a name is the beginning of no component's name, and no cycle's.
    """
    _check_names((*(collapse or ()), *expand), steps)
    if collapse is not None:
        return grouped(steps, lambda name: _outermost(name, collapse), cycles=collapse)
    by_name = _by_name(steps, expand, most)
    return by_name if stations(by_name) <= _FAR_TOO_MANY * most else packed(by_name, most)


def _check_names(given: Sequence[str], steps: Sequence[Step]) -> None:
    """Raises where a name begins no component's name, and is no cycle's."""
    beginnings = (start for name in _component_names(steps) for start in _beginnings(name))
    known = dict.fromkeys((*beginnings, *(loop.name for loop in loops(steps))))
    faults = unknown_names(given, known, "component, cycle or beginning of a component's name")
    if faults:
        raise ModelError(faults)


def _component_names(steps: Sequence[Step]) -> Iterator[str]:
    """Yields the name of every component."""
    return (name for block in blocks(steps) for name in block.components)


def _beginnings(name: str) -> Iterator[str]:
    """Yields `wing`, `wing.box` and `wing.box.spar` for the last of them."""
    parts = name.split(".")
    return (".".join(parts[: depth + 1]) for depth in range(len(parts)))


def _outermost(name: str, beginnings: Collection[str]) -> str | None:
    """Returns the shortest of `beginnings` that `name` has, if it has one."""
    return next((start for start in _beginnings(name) if start in beginnings), None)


def _by_name(steps: tuple[Step, ...], expand: Collection[str], most: int) -> tuple[Step, ...]:
    """Returns `steps` collapsed by name no further than `most` asks for, if names can do that at all."""
    is_open = {start for name in expand for start in _beginnings(name)}
    deepest = max(name.count(".") for name in _component_names(steps))
    shown = steps
    for depth in range(deepest, 0, -1):
        if stations(shown) <= most:
            break
        coarser = grouped(steps, lambda name, depth=depth: _at_depth(name, depth, is_open))
        shown = coarser if sum(1 for _ in blocks(coarser)) > 1 else shown
    return shown


def _at_depth(name: str, depth: int, is_open: Collection[str]) -> str | None:
    """Returns the first parts of a longer name, `depth` of them or as many more as are to stay open."""
    parts = name.split(".")
    starts = (".".join(parts[:count]) for count in range(depth, len(parts)))
    return next((start for start in starts if start not in is_open), None)
