"""The boxes of an XDSM: which cell of the grid each stands in, what is written in it, and its tooltip."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from couplax.graph import Component, Output
from couplax.solve import Closure

from ._diagram import Diagram, Flow, Kind, Station
from ._text import SMALL, Line, Piece, named, plain, wrapped

_PADDING_X, _PADDING_Y = 13.0, 9.0
_LEADING = 1.32


class Shape(enum.Enum):
    """The outlines that boxes have."""

    RECTANGLE = "rectangle"
    ROUNDED = "rounded"
    PARALLELOGRAM = "parallelogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box in a cell of the grid; row 0 is for what comes from outside, column 0 for what goes outside.

    Attributes:
        kind: what a parallelogram carries; None for a station.
        tooltip: all that the box stands for, in words.
    """

    row: int
    column: int
    lines: tuple[Line, ...]
    shape: Shape
    kind: Kind | None
    tooltip: str

    @property
    def width(self) -> float:
        """The width that the lines need, slanted sides included."""
        slant = lean(self.height) if self.shape is Shape.PARALLELOGRAM else 0.0
        return max(line.width for line in self.lines) + 2 * _PADDING_X + slant

    @property
    def height(self) -> float:
        """The height that the lines need."""
        return text_height(self.lines) + 2 * _PADDING_Y


def lean(height: float) -> float:
    """Returns how far the upper edge of a parallelogram of this height is shifted against the lower one."""
    return min(0.45 * height, 20.0)


def text_height(lines: tuple[Line, ...]) -> float:
    """Returns the height of `lines` below each other."""
    return _LEADING * sum(line.size for line in lines)


def boxes(drawn: Diagram) -> Iterator[Box]:
    """Yields the boxes of the stations, then those of what flows between them."""
    for position, station in enumerate(drawn.stations):
        own = next((flow for flow in drawn.flows if flow.source == flow.target == position), None)
        yield _station(position, station, own)
    for flow in drawn.flows:
        if flow.source != flow.target:
            yield _flow(drawn, flow)


def _station(position: int, station: Station, own: Flow | None) -> Box:
    """Returns the box of a station; `own` is what it reads of its own, with no solver between."""
    cell = position + 1
    head = Line((Piece(f"{station.number}: "), *named(station.name)))
    if isinstance(station.runs, Closure):
        lines, tooltip = (head, *_solver_lines(station.runs)), _solver_tooltip(station.runs)
        return Box(row=cell, column=cell, lines=lines, shape=Shape.ROUNDED, kind=None, tooltip=tooltip)
    lines = (head, *_small("reads its own ", own.names)) if own else (head,)
    tooltip = _component_tooltip(station.runs)
    return Box(row=cell, column=cell, lines=lines, shape=Shape.RECTANGLE, kind=None, tooltip=tooltip)


def _flow(drawn: Diagram, flow: Flow) -> Box:
    """Returns the box of what flows from one station to another."""
    return Box(
        row=0 if flow.source is None else flow.source + 1,
        column=0 if flow.target is None else flow.target + 1,
        lines=wrapped(flow.names, _SUPERSCRIPTS.get(flow.kind, "")),
        shape=Shape.PARALLELOGRAM,
        kind=flow.kind,
        tooltip=_flow_tooltip(drawn, flow),
    )


# A guess starts a solve, and a target is what the solver asks for.
_SUPERSCRIPTS = {Kind.GUESS: "(0)", Kind.TARGET: "t"}


def _solver_lines(closure: Closure) -> Iterator[Line]:
    """Yields what a solver's box says below its name: where it cuts, and how exactly it solves."""
    yield from _small("cut at ", closure.cut)
    tolerances = _tolerances(closure)
    if tolerances:
        yield plain(tolerances, SMALL)


def _tolerances(closure: Closure) -> str:
    """Returns the solver's tolerances, where it has them."""
    found = {name: getattr(closure.solver, name, None) for name in ("rtol", "atol")}
    return ", ".join(f"{name} {float(value):g}" for name, value in found.items() if value is not None)


def _small(before: str, names: tuple[str, ...]) -> Iterator[Line]:
    """Yields small lines with `before` and then `names`."""
    for number, line in enumerate(wrapped(names)):
        yield Line(line.pieces if number else (Piece(before), *line.pieces), SMALL)


def _solver_tooltip(closure: Closure) -> str:
    """Returns what a solver does, in words."""
    solver = type(closure.solver).__name__
    said = f"{solver} solves the cycle {closure.name} for {', '.join(closure.cut)}"
    tolerances = _tolerances(closure)
    return f"{said}\n{tolerances}" if tolerances else said


def _component_tooltip(component: Component) -> str:
    """Returns where a component was written, what it reads and what it writes."""
    reads = ", ".join(dict.fromkeys(read.name for read in component.inputs)) or "nothing"
    writes = "\n".join(f"writes {_described(output)}" for output in component.outputs)
    return f"{component.name} ({component.place})\nreads {reads}\n{writes}"


def _described(output: Output) -> str:
    """Returns an output's name with its units and description."""
    units = f" [{output.units}]" if output.units else ""
    return f"{output.name}{units}" + (f": {output.description}" if output.description else "")


_FROM_TO = {
    Kind.DATA: "from {source} to {target}",
    Kind.INPUT: "inputs of the model, read by {target}",
    Kind.OUTPUT: "outputs of the model, written by {source}",
    Kind.GUESS: "guesses where {target} starts",
    Kind.TARGET: "values that {source} tries, read by {target}",
    Kind.VALUE: "values that {source} gives, compared by {target} with those it tried",
}


def _flow_tooltip(drawn: Diagram, flow: Flow) -> str:
    """Returns all the names of a flow, and where it comes from and goes to."""
    source = "" if flow.source is None else drawn.stations[flow.source].name
    target = "" if flow.target is None else drawn.stations[flow.target].name
    return f"{', '.join(flow.names)}\n{_FROM_TO[flow.kind].format(source=source, target=target)}"
