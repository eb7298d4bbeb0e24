"""Steps collapsed by name: all of a group become one block, if they can stand next to each other."""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import networkx as nx

from ._merge import merged, written
from ._scheme import Block, Loop, Role, Step, blocks, loops

# The group of a component, by its name; None for one that stays as it is.
Label = Callable[[str], str | None]


def grouped(
    steps: Sequence[Step], label: Label, *, cycles: Collection[str] = (), found: Collection[str] = ()
) -> tuple[Step, ...]:
    """Returns `steps` with those of a group as one block, in an order in which they can run.

    A loop wholly in a group becomes part of its block; one that is not stays, with blocks inside it. A group
    whose members cannot stand next to each other, since something between them reads one and is read by
    another, becomes several blocks.

    Args:
        cycles: names of cycles that become one block each.
        found: the names whose values the loops around `steps` find.
    """
    labels = [_label_of(step, label, cycles) for step in steps]
    opened = [
        step if isinstance(step, Block) or named else _inside(step, label, cycles, found)
        for step, named in zip(steps, labels, strict=True)
    ]
    parts = _parts(labels, _forward(opened, found))
    return tuple(_one(labels[part[0]], [opened[position] for position in part], found) for part in parts)


def _label_of(step: Step, label: Label, cycles: Collection[str]) -> str | None:
    """Returns the group that the whole of `step` belongs to; an optimiser belongs to none."""
    if isinstance(step, Loop) and step.control and step.control.role is Role.OPTIMISER:
        return None
    if isinstance(step, Loop) and step.name in cycles:
        return step.name
    found = {label(name) for block in blocks([step]) for name in block.components}
    return found.pop() if len(found) == 1 else None


def _inside(loop: Loop, label: Label, cycles: Collection[str], found: Collection[str]) -> Loop:
    """Returns `loop` with what is in it collapsed."""
    finds = loop.control.finds if loop.control else ()
    body = grouped(loop.body, label, cycles=cycles, found={*found, *finds})
    return Loop(name=loop.name, control=loop.control, body=body)


def _one(label: str | None, steps: Sequence[Step], found: Collection[str]) -> Step:
    """Returns `steps` as one: a block of several components, or the one step as it is."""
    alone = len(steps) == 1 and isinstance(steps[0], Block)
    return steps[0] if label is None or alone else merged(label, steps, found)


def _forward(steps: Sequence[Step], found: Collection[str]) -> "nx.DiGraph[int]":
    """Returns the graph of the positions of `steps`, with an edge i -> j where j, after i, reads of i."""
    writer = {
        name: position for position, step in enumerate(steps) for name in written([step]) if name not in found
    }
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(steps)))
    for position, step in enumerate(steps):
        givers = (writer[name] for name in _reads(step) if name in writer)
        graph.add_edges_from((giver, position) for giver in givers if giver < position)
    return graph


def _reads(step: Step) -> Iterator[str]:
    """Yields what is read in `step`."""
    yield from (name for block in blocks([step]) for name in block.reads)
    yield from (name for loop in loops([step]) if loop.control for name in loop.control.reads)


def _parts(labels: Sequence[str | None], graph: "nx.DiGraph[int]") -> list[list[int]]:
    """Returns the positions in parts, each to become one step, in an order in which they can run."""
    part_of = _runs(labels)
    for label in dict.fromkeys(name for name in labels if name is not None):
        members = [position for position, own in enumerate(labels) if own == label]
        whole = part_of | dict.fromkeys(members, part_of[members[0]])
        if whole != part_of and nx.is_directed_acyclic_graph(_quotient(graph, whole)):
            part_of = whole
    ordered = nx.lexicographical_topological_sort(_quotient(graph, part_of))
    return [[position for position in graph if part_of[position] == part] for part in ordered]


def _runs(labels: Sequence[str | None]) -> dict[int, int]:
    """Returns for each position the first of those next to each other that have the same label."""
    first: dict[int, int] = {}
    for label, run in itertools.groupby(range(len(labels)), key=labels.__getitem__):
        members = list(run)
        first |= dict.fromkeys(members, members[0]) if label is not None else {at: at for at in members}
    return first


def _quotient(graph: "nx.DiGraph[int]", part_of: Mapping[int, int]) -> "nx.DiGraph[int]":
    """Returns the graph of the parts, with an edge between two where there is one between their members."""
    parts: nx.DiGraph[int] = nx.DiGraph()
    parts.add_nodes_from(part_of.values())
    edges = ((part_of[one], part_of[other]) for one, other in graph.edges)
    parts.add_edges_from((one, other) for one, other in edges if one != other)
    return parts
