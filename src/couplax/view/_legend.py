"""The legend of an XDSM: a sample of each thing that the drawing uses, and what it means."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ._boxes import Box, Shape
from ._svg import COMPONENT, CUT, DATA_LINE, INK, PLAIN, SOLVER, Paint, arrow, data_line, element, outline
from ._svg import lines as write_lines
from ._text import SMALL, Line, Piece, Shift, plain

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
    kinds = {box.kind for box in boxes if box.kind}
    yield Entry(_sample(Shape.RECTANGLE, COMPONENT), plain("component", SMALL))
    if any(box.shape is Shape.ROUNDED for box in boxes):
        yield Entry(_sample(Shape.ROUNDED, SOLVER), plain("solver of a cycle", SMALL))
    if any(not kind.at_cut for kind in kinds):
        yield Entry(_data, plain("data", SMALL))
    if process:
        yield Entry(_process, plain("what runs next", SMALL))
    if any(kind.at_cut for kind in kinds):
        yield Entry(_sample(Shape.PARALLELOGRAM, CUT), _CUT_MEANING)


_CUT_MEANING = Line(
    (
        Piece("cut here: guess y"),
        Piece("(0)", Shift.SUPER),
        Piece(", target y"),
        Piece("t", Shift.SUPER),
        Piece(", until y = y"),
        Piece("t", Shift.SUPER),
    ),
    SMALL,
)


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
