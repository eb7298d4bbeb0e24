"""The legend of an XDSM: a sample of each thing that the drawing uses, and what it means."""

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ._boxes import Box, Shape
from ._diagram import Kind
from ._scheme import Role
from ._style import ROOMY
from ._svg import COMPONENT, DATA_LINE, INK, PLAIN, Paint, arrow, data_line, element, outline, paint_of
from ._svg import lines as write_lines
from ._text import Line, Piece, Shift

_SAMPLE, _HEIGHT, _GAP, _SPACE = 30.0, 15.0, 8.0, 14.0
_ROW = 24.0
_ABOVE = 14.0

Draw = Callable[[ET.Element, float, float], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A sample, drawn around a point, and what it means."""

    draw: Draw
    meaning: Line

    @property
    def width(self) -> float:
        """What the entry is wide."""
        return _SAMPLE + _GAP + self.meaning.width + _SPACE


def entries(boxes: Sequence[Box], *, process: bool) -> Iterator[Entry]:
    """Yields the entries for what `boxes` use; `process` says whether the order of the steps is drawn."""
    shapes = {box.shape for box in boxes}
    kinds = {box.means for box in boxes}
    for shape, meaning in _BLOCKS.items():
        if shape in shapes:
            yield Entry(_sample(shape, COMPONENT), meaning)
    for role, meaning in _ROLES.items():
        if role in kinds:
            yield Entry(_sample(Shape.ROUNDED, paint_of(role)), meaning)
    if kinds & {Kind.DATA, Kind.INPUT, Kind.OUTPUT}:
        yield Entry(_data, _said("data"))
    if process:
        yield Entry(_process, _said("what runs next"))
    for several, meaning in _FLOWS.items():
        if kinds & {*several}:
            yield Entry(_sample(Shape.PARALLELOGRAM, paint_of(several[0])), meaning)


def _said(*pieces: str) -> Line:
    """Returns a small line, every second piece of which is a superscript."""
    shifts = itertools.cycle((Shift.LINE, Shift.SUPER))
    return Line(tuple(map(Piece, pieces, shifts)), ROOMY.small)


_BLOCKS = {
    Shape.RECTANGLE: _said("component"),
    Shape.DOUBLE_SIDED: _said("several components (names: point at it)"),
}
_ROLES = {
    Role.SOLVER: _said("solver of a cycle"),
    Role.INTEGRATION: _said("integration in time"),
    Role.OPTIMISER: _said("optimiser"),
}
_FLOWS = {
    (Kind.FEEDBACK,): _said("fed back: a cycle that nothing closes"),
    (Kind.TARGET, Kind.VALUE): _said("cut here: guess y", "(0)", ", target y", "t", ", until y = y", "t"),
    (Kind.UNKNOWN, Kind.RESIDUAL): _said("unknown u, until its residual R(u) = 0"),
    (Kind.STATE, Kind.RATE): _said("state x, and its rate dx/dt"),
    (Kind.DESIGN, Kind.RESPONSE): _said(
        "design variables from x", "(0)", " to x", "*", ", objective, constraints"
    ),
}


def arranged(found: Iterable[Entry], width: float) -> list[list[Entry]]:
    """Returns the entries in rows no wider than `width`."""
    rows: list[list[Entry]] = [[]]
    for entry in found:
        if rows[-1] and sum(item.width for item in [*rows[-1], entry]) > width:
            rows.append([])
        rows[-1].append(entry)
    return rows


def legend_width(rows: Sequence[Sequence[Entry]]) -> float:
    """Returns what the widest row is wide."""
    return max(sum(entry.width for entry in row) for row in rows)


def legend_height(rows: Sequence[Sequence[Entry]]) -> float:
    """Returns what the legend adds to the height of the drawing."""
    return _ABOVE + _ROW * len(rows)


def draw_legend(picture: ET.Element, rows: Sequence[Sequence[Entry]], left: float, top: float) -> None:
    """Draws the rows of the legend below each other."""
    group = element(picture, "g", data_kind="legend")
    for number, row in enumerate(rows):
        x, y = left, top + _ABOVE + _ROW * (number + 0.5)
        for entry in row:
            entry.draw(group, x + _SAMPLE / 2, y)
            write_lines(group, x + _SAMPLE + _GAP, y, (entry.meaning,), anchor="start")
            x += entry.width


def _sample(shape: Shape, paint: Paint) -> Draw:
    """Returns what draws a small outline."""
    return partial(_draw_sample, shape=shape, paint=paint)


def _draw_sample(parent: ET.Element, x: float, y: float, *, shape: Shape, paint: Paint) -> None:
    """Draws a small outline."""
    outline(parent, x, y, _SAMPLE, _HEIGHT, shape, paint)


def _data(parent: ET.Element, x: float, y: float) -> None:
    """Draws data on its line."""
    group = element(parent, "g", stroke=DATA_LINE, stroke_width=6)
    data_line(group, (x - _SAMPLE / 2 - 2, y), (x + _SAMPLE / 2 + 2, y))
    outline(parent, x, y, _SAMPLE - 6, _HEIGHT - 2, Shape.PARALLELOGRAM, PLAIN)


def _process(parent: ET.Element, x: float, y: float) -> None:
    """Draws an arrow."""
    group = element(parent, "g", stroke=INK, stroke_width=1.1, fill="none")
    arrow(group, ((x - _SAMPLE / 2, y), (x + _SAMPLE / 2, y)))
