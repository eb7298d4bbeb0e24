"""An XDSM's layout as SVG."""

import xml.etree.ElementTree as ET

from ._boxes import SIDE, Box, Shape, lean
from ._diagram import Kind
from ._layout import Layout, Placed
from ._scheme import Role
from ._svg import (
    COMPONENT,
    CUT,
    FEEDBACK,
    INK,
    INTEGRATED,
    INTEGRATION,
    OPTIMISED,
    OPTIMISER,
    OUTER,
    PLAIN,
    SOLVER,
    Paint,
    Point,
    arrow,
    element,
    lines,
    polygon,
    polyline,
    rectangle,
)

DATA_LINE = "#c9ced6"

_PAINTS = {
    None: COMPONENT,
    Role.SOLVER: SOLVER,
    Role.INTEGRATION: INTEGRATION,
    Role.OPTIMISER: OPTIMISER,
    Kind.DATA: PLAIN,
    Kind.FEEDBACK: FEEDBACK,
    Kind.INPUT: OUTER,
    Kind.OUTPUT: OUTER,
    **dict.fromkeys((kind for kind in Kind if kind.at_cut), CUT),
    **dict.fromkeys((Kind.STATE, Kind.RATE), INTEGRATED),
    **dict.fromkeys((Kind.START, Kind.DESIGN, Kind.RESPONSE, Kind.OPTIMUM), OPTIMISED),
}


def paint_of(means: Kind | Role | None) -> Paint:
    """Returns how a box is painted that stands for a block, a control or a flow."""
    return _PAINTS[means]


def draw(picture: ET.Element, arranged: Layout) -> None:
    """Draws the lines, then the boxes over them."""
    thick = arranged.placed[0].box.style.line
    data = element(picture, "g", stroke=DATA_LINE, stroke_width=thick, stroke_linecap="round")
    for start, end in arranged.data:
        data_line(data, start, end)
    process = element(picture, "g", stroke=INK, stroke_width=1.1, fill="none")
    for corners in arranged.process:
        arrow(process, corners)
    for placed in arranged.placed:
        _box(picture, placed)


def data_line(parent: ET.Element, start: Point, end: Point) -> None:
    """Draws a line along which data flows."""
    element(parent, "line", x1=start[0], y1=start[1], x2=end[0], y2=end[1])


def _box(picture: ET.Element, placed: Placed) -> None:
    """Draws a box with its text, in a group that bears its tooltip."""
    box = placed.box
    group = element(picture, "g", data_row=box.row, data_column=box.column, data_kind=_kind(box))
    element(group, "title", box.tooltip)
    outline(group, placed.x, placed.y, placed.width, placed.height, box.shape, paint_of(box.means))
    lines(group, placed.x, placed.y, box.lines)


def _kind(box: Box) -> str:
    """Returns what a box is, for those who read the file by program."""
    if box.means:
        return box.means.value
    return "group" if box.shape is Shape.DOUBLE_SIDED else "component"


def outline(
    parent: ET.Element, x: float, y: float, width: float, height: float, shape: Shape, paint: Paint
) -> None:
    """Draws an outline around a centre."""
    left, top, right, bottom = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    if shape is Shape.PARALLELOGRAM:
        shift = lean(height)
        polygon(parent, ((left + shift, top), (right, top), (right - shift, bottom), (left, bottom)), paint)
        return
    rounding = min(18.0, height / 2) if shape is Shape.ROUNDED else 2.0
    rectangle(parent, x, y, width, height, paint, rounding)
    if shape is Shape.DOUBLE_SIDED:
        for side in (left + SIDE, right - SIDE):
            polyline(parent, ((side, top), (side, bottom)), paint)
