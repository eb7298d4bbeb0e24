"""What the marks and frames of a design structure matrix mean: the entries of its legend."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import partial

from ._grid import Grid
from ._legend import SAMPLE, Draw, Entry, said
from ._marks import Way
from ._matrix_svg import frame_paint, shape
from ._scheme import Control, Role
from ._svg import COMPONENT, Paint, rectangle

_HEIGHT = 15.0
_WAYS = {
    Way.FORWARD: said("the row writes what the column reads"),
    Way.FEEDBACK: said("fed back: read before it is written"),
    Way.CUT: said("cut here: a solver finds it"),
    Way.INTEGRATED: said("state: an integration finds it"),
}
_FRAMES = {
    None: said("open cycle"),
    Role.SOLVER: said("closed cycle"),
    Role.INTEGRATION: said("integration in time"),
}


def meanings(grid: Grid) -> Iterator[Entry]:
    """Yields the entries for what is drawn."""
    yield Entry(partial(_rectangle, paint=COMPONENT), said("component, in running order"))
    ways = {mark.way for mark in grid.marks}
    for way, meaning in _WAYS.items():
        if way in ways:
            yield Entry(_sign(way), meaning)
    controls = {frame.control.role if frame.control else None: frame.control for frame in grid.frames}
    for role, meaning in _FRAMES.items():
        if role in controls:
            yield Entry(_frame(controls[role]), meaning)


def _sign(way: Way) -> Draw:
    """Returns what draws the sign of a way."""
    return partial(shape, size=1.3 * _HEIGHT, way=way)


def _frame(control: Control | None) -> Draw:
    """Returns what draws a small frame."""
    return partial(_rectangle, paint=frame_paint(control))


def _rectangle(parent: ET.Element, x: float, y: float, *, paint: Paint) -> None:
    """Draws a small rectangle."""
    rectangle(parent, x, y, SAMPLE - 8, _HEIGHT, paint)
