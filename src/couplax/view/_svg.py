"""An XDSM's layout as SVG.

Everything is said in attributes of the elements: a style sheet or an id would act on the page that the
drawing is pasted into.
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ._boxes import SIDE, Box, Shape, lean, text_height
from ._diagram import Kind
from ._layout import Layout, Placed, Point
from ._scheme import Role
from ._text import SCRIPT, Line, Shift

_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK, PAPER = "#1b1f24", "#ffffff"
DATA_LINE = "#c9ced6"


@dataclass(frozen=True, slots=True)
class Paint:
    """How a box is painted."""

    fill: str
    stroke: str
    dashed: bool = False


COMPONENT = Paint("#d8eeda", "#3f7f4a")
SOLVER = Paint("#d5e4f7", "#2f62a3")
INTEGRATION = Paint("#d2eeec", "#19706c")
OPTIMISER = Paint("#e9dff5", "#6f42a6")
PLAIN = Paint("#eceef1", "#8a929d")
OUTER = Paint("#ffffff", "#8a929d")
CUT = Paint("#fdeadb", "#c2560c", dashed=True)
FEEDBACK = Paint("#fbe0de", "#b3261e")
INTEGRATED = Paint("#edf8f7", INTEGRATION.stroke)
OPTIMISED = Paint("#f6f1fb", OPTIMISER.stroke)

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


def element(parent: ET.Element, tag: str, text: str | None = None, **attributes: str | float) -> ET.Element:
    """Returns a new child of `parent`; an underscore in an attribute's name stands for a hyphen."""
    said = {name.replace("_", "-"): _number(value) for name, value in attributes.items()}
    child = ET.SubElement(parent, tag, said)
    child.text = None if text is None else _printable(text)
    return child


def root(width: float, height: float, title: str, description: str) -> ET.Element:
    """Returns an empty picture on white paper, with its title and description for those who cannot see it."""
    picture = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": _number(width),
            "height": _number(height),
            "viewBox": f"0 0 {_number(width)} {_number(height)}",
            "role": "img",
            "aria-label": _printable(title),
            "font-family": _FONT,
            # Keeps its size's proportions where a page is narrower than the drawing.
            "style": "max-width: 100%; height: auto",
        },
    )
    element(picture, "title", title)
    element(picture, "desc", description)
    element(picture, "rect", width=width, height=height, rx=6, fill=PAPER)
    return picture


def draw(picture: ET.Element, arranged: Layout) -> None:
    """Draws the lines, then the boxes over them."""
    lines = element(picture, "g", stroke=DATA_LINE, stroke_width=6, stroke_linecap="round")
    for start, end in arranged.data:
        data_line(lines, start, end)
    process = element(picture, "g", stroke=INK, stroke_width=1.1, fill="none")
    for corners in arranged.process:
        arrow(process, corners)
    for placed in arranged.placed:
        _box(picture, placed)


def data_line(parent: ET.Element, start: Point, end: Point) -> None:
    """Draws a line along which data flows."""
    element(parent, "line", x1=start[0], y1=start[1], x2=end[0], y2=end[1])


def arrow(parent: ET.Element, corners: Sequence[Point]) -> None:
    """Draws a line through `corners` with a head at its end."""
    element(parent, "polyline", points=_points(corners))
    (x, y), (before_x, before_y) = corners[-1], corners[-2]
    length = math.hypot(x - before_x, y - before_y) or 1.0
    ahead_x, ahead_y = (x - before_x) / length, (y - before_y) / length
    base_x, base_y = x - 8 * ahead_x, y - 8 * ahead_y
    head = (
        (x, y),
        (base_x - 3.4 * ahead_y, base_y + 3.4 * ahead_x),
        (base_x + 3.4 * ahead_y, base_y - 3.4 * ahead_x),
    )
    element(parent, "polygon", points=_points(head), fill=INK, stroke="none")


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
    left, top = x - width / 2, y - height / 2
    style: dict[str, Any] = {"fill": paint.fill, "stroke": paint.stroke, "stroke_width": 1.3}
    dashes = {"stroke_dasharray": "5 3"} if paint.dashed else {}
    if shape is Shape.PARALLELOGRAM:
        right, bottom = left + width, top + height
        shift = lean(height)
        corners = ((left + shift, top), (right, top), (right - shift, bottom), (left, bottom))
        element(parent, "polygon", points=_points(corners), **style, **dashes)
    else:
        rounding = min(18.0, height / 2) if shape is Shape.ROUNDED else 2.0
        element(parent, "rect", x=left, y=top, width=width, height=height, rx=rounding, **style, **dashes)
    if shape is Shape.DOUBLE_SIDED:
        for side in (left + SIDE, left + width - SIDE):
            element(parent, "line", x1=side, y1=top, x2=side, y2=top + height, **style)


def lines(parent: ET.Element, x: float, y: float, written: tuple[Line, ...], anchor: str = "middle") -> None:
    """Writes lines below each other, their middle at `y`."""
    top = y - text_height(written) / 2
    for number, line in enumerate(written):
        middle = top + text_height(written[:number]) + text_height((line,)) / 2
        # Digits and capitals are about 0.7 sizes high.
        _line(parent, x, middle + 0.35 * line.size, line, anchor)


def _line(parent: ET.Element, x: float, baseline: float, line: Line, anchor: str) -> None:
    """Writes one line, each piece shifted against the one before it."""
    text = element(parent, "text", x=x, y=baseline, text_anchor=anchor, font_size=line.size, fill=INK)
    before = Shift.LINE
    for piece in line.pieces:
        moved = (piece.shift.value - before.value) * line.size
        span = element(text, "tspan", piece.text)
        if moved:
            span.set("dy", _number(moved))
        if piece.shift is not Shift.LINE:
            span.set("font-size", _number(line.size * SCRIPT))
        before = piece.shift


def _points(corners: Iterable[Point]) -> str:
    """Returns points as SVG writes them."""
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in corners)


def _number(value: str | float) -> str:
    """Returns a number in as few digits as a drawing needs; text as it is."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _printable(text: str) -> str:
    """Returns `text` without the control characters that XML forbids."""
    return "".join(
        char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
