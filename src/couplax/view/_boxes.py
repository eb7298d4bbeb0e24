"""The boxes of an XDSM: which cell of the grid each stands in, what is written in it, and its tooltip."""

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ._diagram import Diagram, Flow, Kind, Station
from ._scheme import Block, Control, Role
from ._style import Style, style_for
from ._text import Line, Notation, Piece, broken, named, plain, text_height, wrapped


class Shape(enum.Enum):
    """The outlines that boxes have."""

    RECTANGLE = "rectangle"
    DOUBLE_SIDED = "double-sided"
    ROUNDED = "rounded"
    PARALLELOGRAM = "parallelogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box in a cell of the grid; row 0 is for what comes from outside, column 0 for what goes outside.

    Attributes:
        means: what a parallelogram carries, what drives a loop in a rounded box; None for a block.
        tooltip: all that the box stands for, in words.
    """

    row: int
    column: int
    lines: tuple[Line, ...]
    shape: Shape
    means: Kind | Role | None
    tooltip: str
    style: Style

    @property
    def width(self) -> float:
        """The width that the lines need, slanted and double sides included."""
        sides = {Shape.PARALLELOGRAM: lean(self.height), Shape.DOUBLE_SIDED: 2 * SIDE}.get(self.shape, 0.0)
        text = max(line.width for line in self.lines)
        return max(text + 2 * self.style.padding[0] + sides, self.style.least[0])

    @property
    def height(self) -> float:
        """The height that the lines need."""
        least = 0.0 if isinstance(self.means, Kind) else self.style.least[1]
        return max(text_height(self.lines) + 2 * self.style.padding[1], least)


# How far inside the second line of a double side stands.
SIDE = 5.0


def lean(height: float) -> float:
    """Returns how far the upper edge of a parallelogram of this height is shifted against the lower one."""
    return min(0.45 * height, 20.0)


def boxes(drawn: Diagram) -> Iterator[Box]:
    """Yields the boxes of the stations, then those of what flows between them."""
    style = style_for(len(drawn.stations))
    own = {flow.source: flow for flow in drawn.flows if flow.source == flow.target}
    for position, station in enumerate(drawn.stations):
        yield _station(position + 1, station, own.get(position), style)
    for flows in _by_cell(drawn.flows):
        yield _data(drawn, flows, style)


def _by_cell(flows: Iterable[Flow]) -> Iterable[list[Flow]]:
    """Returns the flows from one station to another, those of one cell together."""
    found: dict[tuple[int | None, int | None], list[Flow]] = {}
    for flow in flows:
        if flow.source != flow.target:
            found.setdefault((flow.source, flow.target), []).append(flow)
    return found.values()


def _station(cell: int, station: Station, own: Flow | None, style: Style) -> Box:
    """Returns the box of a station; `own` is what it reads of its own, with no solver between."""
    runs = station.runs
    below = _control_lines(runs, style) if isinstance(runs, Control) else _block_lines(runs, own, style)
    return Box(
        row=cell,
        column=cell,
        lines=(*_head(station, style), *below),
        shape=_shape(runs),
        means=runs.role if isinstance(runs, Control) else None,
        tooltip=runs.tooltip,
        style=style,
    )


def _shape(runs: Block | Control) -> Shape:
    """Returns the outline of a station."""
    if isinstance(runs, Control):
        return Shape.ROUNDED
    return Shape.DOUBLE_SIDED if len(runs.components) > 1 else Shape.RECTANGLE


def _head(station: Station, style: Style) -> Iterator[Line]:
    """Yields a station's number and name."""
    parts = [named(part, longest=style.longest_name) for part in broken(station.name, style.longest_name)]
    if style.apart:
        yield plain(station.number, style.small)
    else:
        parts[0] = (Piece(f"{station.number}: "), *parts[0])
    yield from (Line(part, style.size) for part in parts)


def _block_lines(block: Block, own: Flow | None, style: Style) -> Iterator[Line]:
    """Yields what a block's box says below its name."""
    if len(block.components) > 1:
        yield plain(f"{len(block.components)} components", style.small)
    elif own:
        yield from _small("reads its own ", own.names, style)


def _control_lines(control: Control, style: Style) -> Iterator[Line]:
    """Yields what a control's box says below its name, where there is room for it."""
    if style.apart:
        return
    if control.role is Role.SOLVER:
        yield from _small("cut at ", control.finds, style)
    if control.settings:
        yield plain(control.settings, style.small)


def _small(before: str, names: tuple[str, ...], style: Style) -> Iterator[Line]:
    """Yields small lines with `before` and then `names`."""
    written = [named(name, longest=style.longest_name) for name in names]
    for number, line in enumerate(wrapped(written, style, style.small)):
        yield Line(line.pieces if number else (Piece(before), *line.pieces), style.small)


def _data(drawn: Diagram, flows: Sequence[Flow], style: Style) -> Box:
    """Returns the box of all that flows from one station to another."""
    source, target = flows[0].source, flows[0].target
    names = [
        named(name, _NOTATIONS.get(flow.kind, Notation()), style.longest_name)
        for flow in flows
        for name in flow.names
    ]
    return Box(
        row=0 if source is None else source + 1,
        column=0 if target is None else target + 1,
        lines=wrapped(names, style),
        shape=Shape.PARALLELOGRAM,
        means=next((flow.kind for flow in flows if flow.kind.at_cut), flows[0].kind),
        tooltip="\n".join(_flow_tooltip(drawn, flow) for flow in flows),
        style=style,
    )


# A guess starts a solve, and a target is what the solver asks for.
_NOTATIONS = {
    Kind.GUESS: Notation(superscript="(0)"),
    Kind.START: Notation(superscript="(0)"),
    Kind.TARGET: Notation(superscript="t"),
    Kind.RESIDUAL: Notation(before="R(", after=")"),
    Kind.RATE: Notation(before="d", after="/dt"),
    Kind.OPTIMUM: Notation(superscript="*"),
}

_FROM_TO = {
    Kind.DATA: "from {source} to {target}",
    Kind.FEEDBACK: "fed back from {source} to {target}, with no solver between",
    Kind.INPUT: "inputs of the model, read by {target}",
    Kind.OUTPUT: "outputs of the model, written by {source}",
    Kind.GUESS: "guesses where {target} starts",
    Kind.TARGET: "values that {source} tries, read by {target}",
    Kind.VALUE: "values that {source} gives, compared by {target} with those it tried",
    Kind.UNKNOWN: "unknowns that {source} tries, read by {target}",
    Kind.RESIDUAL: "unknowns whose residuals {source} gives, held at zero by {target}",
    Kind.STATE: "states that {source} integrates, read by {target}",
    Kind.RATE: "states whose rates of change {source} gives, integrated by {target}",
    Kind.START: "design variables, where {target} starts",
    Kind.DESIGN: "design variables that {source} tries, read by {target}",
    Kind.RESPONSE: "objective and constraints that {source} gives to {target}",
    Kind.OPTIMUM: "design variables that {source} found",
}


def _flow_tooltip(drawn: Diagram, flow: Flow) -> str:
    """Returns all the names of a flow, and where it comes from and goes to."""
    source = "" if flow.source is None else drawn.stations[flow.source].name
    target = "" if flow.target is None else drawn.stations[flow.target].name
    return f"{', '.join(flow.names)}\n{_FROM_TO[flow.kind].format(source=source, target=target)}"
