"""Pictures as SVG: outlines, lines and text.

Everything is said in attributes of the elements: a style sheet or an id would act on the page that the
drawing is pasted into.
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ._text import SCRIPT, Line, Shift, text_height

_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK, PAPER = "#1b1f24", "#ffffff"
MARGIN = 24.0
# A page may narrow a wider drawing than this, but not so far that it cannot be read.
_WIDE, _NARROWED = 1600.0, 0.6

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Paint:
    """How an outline is painted."""

    fill: str
    stroke: str
    dashed: bool = False
    width: float = 1.3

    @property
    def said(self) -> dict[str, str | float]:
        """The paint as attributes."""
        dashes = {"stroke_dasharray": "5 3"} if self.dashed else {}
        return {"fill": self.fill, "stroke": self.stroke, "stroke_width": self.width, **dashes}


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
            "style": _fitting(width),
        },
    )
    element(picture, "title", title)
    element(picture, "desc", description)
    element(picture, "rect", width=width, height=height, rx=6, fill=PAPER)
    return picture


def _fitting(width: float) -> str:
    """Returns how a page that is narrower than the drawing shows it: smaller, in proportion."""
    least = f"; min-width: {_number(_NARROWED * width)}px" if width > _WIDE else ""
    return f"max-width: 100%{least}; height: auto"


def rectangle(
    parent: ET.Element, x: float, y: float, width: float, height: float, paint: Paint, rounding: float = 0.0
) -> None:
    """Draws a rectangle around a centre."""
    corner = {"x": x - width / 2, "y": y - height / 2, "width": width, "height": height}
    _painted(parent, "rect", paint, **corner, **({"rx": rounding} if rounding else {}))


def circle(parent: ET.Element, x: float, y: float, radius: float, paint: Paint) -> None:
    """Draws a circle around a centre."""
    _painted(parent, "circle", paint, cx=x, cy=y, r=radius)


def polygon(parent: ET.Element, corners: Iterable[Point], paint: Paint) -> None:
    """Draws a closed outline through `corners`."""
    _painted(parent, "polygon", paint, points=_points(corners))


def polyline(parent: ET.Element, corners: Iterable[Point], paint: Paint) -> None:
    """Draws a line through `corners`."""
    _painted(parent, "polyline", paint, points=_points(corners))


def _painted(parent: ET.Element, tag: str, paint: Paint, **attributes: str | float) -> None:
    """Draws an element that is painted."""
    element(parent, tag, None, **attributes, **paint.said)


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


def lines(parent: ET.Element, x: float, y: float, written: tuple[Line, ...], anchor: str = "middle") -> None:
    """Writes lines below each other, their middle at `y`."""
    top = y - text_height(written) / 2
    for number, line in enumerate(written):
        middle = top + text_height(written[:number]) + text_height((line,)) / 2
        # Digits and capitals are about 0.7 sizes high.
        _line(parent, x, middle + 0.35 * line.size, line, anchor)


def _line(parent: ET.Element, x: float, baseline: float, line: Line, anchor: str) -> None:
    """Writes one line, each piece shifted against the one before it."""
    text = element(
        parent, "text", x=x, y=baseline, text_anchor=anchor, font_size=line.size, fill=line.colour or INK
    )
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
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
