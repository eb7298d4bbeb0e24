"""What an XDSM's boxes and lines mean: the entries of its legend."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from functools import partial

from ._boxes import Box, Shape
from ._diagram import Kind
from ._legend import SAMPLE, Draw, Entry, said
from ._scheme import Role
from ._svg import COMPONENT, INK, PLAIN, Paint, arrow, element
from ._xdsm_svg import DATA_LINE, data_line, outline, paint_of

_HEIGHT = 15.0


def meanings(boxes: Sequence[Box], *, process: bool) -> Iterator[Entry]:
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
        yield Entry(_data, said("data"))
    if process:
        yield Entry(_process, said("what runs next"))
    for several, meaning in _FLOWS.items():
        if kinds & {*several}:
            yield Entry(_sample(Shape.PARALLELOGRAM, paint_of(several[0])), meaning)


_BLOCKS = {
    Shape.RECTANGLE: said("component"),
    Shape.DOUBLE_SIDED: said("several components (names: point at it)"),
}
_ROLES = {
    Role.SOLVER: said("solver of a cycle"),
    Role.INTEGRATION: said("integration in time"),
    Role.OPTIMISER: said("optimiser"),
}
_FLOWS = {
    (Kind.FEEDBACK,): said("fed back: a cycle that nothing closes"),
    (Kind.TARGET, Kind.VALUE): said("cut here: guess y", "(0)", ", target y", "t", ", until y = y", "t"),
    (Kind.UNKNOWN, Kind.RESIDUAL): said("unknown u, until its residual R(u) = 0"),
    (Kind.STATE, Kind.RATE): said("state x, and its rate dx/dt"),
    (Kind.DESIGN, Kind.RESPONSE): said(
        "design variables from x", "(0)", " to x", "*", ", objective, constraints"
    ),
}


def _sample(shape: Shape, paint: Paint) -> Draw:
    """Returns what draws a small outline."""
    return partial(_draw_sample, shape=shape, paint=paint)


def _draw_sample(parent: ET.Element, x: float, y: float, *, shape: Shape, paint: Paint) -> None:
    """Draws a small outline."""
    outline(parent, x, y, SAMPLE, _HEIGHT, shape, paint)


def _data(parent: ET.Element, x: float, y: float) -> None:
    """Draws data on its line."""
    group = element(parent, "g", stroke=DATA_LINE, stroke_width=6)
    data_line(group, (x - SAMPLE / 2 - 2, y), (x + SAMPLE / 2 + 2, y))
    outline(parent, x, y, SAMPLE - 6, _HEIGHT - 2, Shape.PARALLELOGRAM, PLAIN)


def _process(parent: ET.Element, x: float, y: float) -> None:
    """Draws an arrow."""
    group = element(parent, "g", stroke=INK, stroke_width=1.1, fill="none")
    arrow(group, ((x - SAMPLE / 2, y), (x + SAMPLE / 2, y)))
