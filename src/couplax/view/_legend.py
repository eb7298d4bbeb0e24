"""A legend: a sample of each thing that a drawing uses, and what it means."""

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ._style import ROOMY
from ._svg import element
from ._svg import lines as write_lines
from ._text import Line, Piece, Shift

SAMPLE = 30.0
_GAP, _SPACE = 8.0, 14.0
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
        return SAMPLE + _GAP + self.meaning.width + _SPACE


def said(*pieces: str) -> Line:
    """Returns a small line, every second piece of which is a superscript."""
    shifts = itertools.cycle((Shift.LINE, Shift.SUPER))
    return Line(tuple(map(Piece, pieces, shifts)), ROOMY.small)


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
            entry.draw(group, x + SAMPLE / 2, y)
            write_lines(group, x + SAMPLE + _GAP, y, (entry.meaning,), anchor="start")
            x += entry.width
