"""How large things are drawn: the more stations there are, the less room each has."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Sizes of an XDSM, in pixels.

    Attributes:
        size: of the text; `small` of what is said below it.
        most_width: of a line with several names.
        most_lines: of names; with one line, of several names that do not fit only their number is said.
        longest_name: in characters; longer ones are shortened.
        apart: whether a station's number stands on a line of its own.
        padding: between text and edge, across and down; `gap` between two boxes.
        least: width and height of a box.
        line: the width of the lines along which data flows.
    """

    size: float
    small: float
    most_width: float
    most_lines: int
    longest_name: int
    apart: bool
    padding: tuple[float, float]
    gap: float
    least: tuple[float, float]
    line: float


ROOMY = Style(
    size=15,
    small=12,
    most_width=190,
    most_lines=3,
    longest_name=36,
    apart=False,
    padding=(13, 9),
    gap=24,
    least=(74, 42),
    line=6,
)
CLOSE = Style(
    size=14,
    small=11,
    most_width=120,
    most_lines=2,
    longest_name=24,
    apart=False,
    padding=(10, 7),
    gap=16,
    least=(60, 36),
    line=5,
)
DENSE = Style(
    size=13,
    small=10.5,
    most_width=80,
    most_lines=1,
    longest_name=14,
    apart=True,
    padding=(7, 5),
    gap=9,
    least=(44, 30),
    line=4,
)


def style_for(stations: int) -> Style:
    """Returns the style in which so many stations can be read."""
    if stations <= 10:
        return ROOMY
    return CLOSE if stations <= 20 else DENSE
