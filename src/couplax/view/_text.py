"""The words of a drawing: names with their subscripts, in lines, and how wide they are."""

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

SIZE = 15.0
SMALL = 12.0
# Sub- and superscripts, of the size of their line.
SCRIPT = 0.74

_MOST_WIDTH = 190.0
_MOST_LINES = 3
_LONGEST_NAME = 36

# `y_1`, `C_L` and `wing.C_L`, but not `fuel_mass`: there the underscore stands for a space.
_INDEXED = re.compile(r"(?P<base>(?:.*\.)?[^\W\d_][^\W_]{0,2})_(?P<index>[^\W_]{1,4})")


class Shift(enum.Enum):
    """Where a piece of text stands against its line, in sizes of the line; down is positive."""

    LINE = 0.0
    SUB = 0.24
    SUPER = -0.36


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text in one style."""

    text: str
    shift: Shift = Shift.LINE

    @property
    def scale(self) -> float:
        """The size of the piece, of the size of its line."""
        return 1.0 if self.shift is Shift.LINE else SCRIPT


@dataclass(frozen=True, slots=True)
class Line:
    """Pieces of text beside each other."""

    pieces: tuple[Piece, ...]
    size: float = SIZE

    @property
    def text(self) -> str:
        """The line without its styles."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def width(self) -> float:
        """What the line is wide at most, in the common sans serif fonts."""
        return self.size * sum(piece.scale * _width(piece.text) for piece in self.pieces)


def plain(text: str, size: float = SIZE) -> Line:
    """Returns `text` as a line."""
    return Line((Piece(text),), size)


def named(name: str, superscript: str = "") -> tuple[Piece, ...]:
    """Returns `name` with its index as a subscript: `y_1` as y with a 1 below."""
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:20]}…{name[20 - _LONGEST_NAME + 1 :]}"
    above = (Piece(superscript, Shift.SUPER),) if superscript else ()
    found = _INDEXED.fullmatch(shown)
    if found is None:
        return (Piece(shown), *above)
    return (Piece(found["base"]), Piece(found["index"], Shift.SUB), *above)


def wrapped(names: Sequence[str], superscript: str = "") -> tuple[Line, ...]:
    """Returns `names`, separated by commas, as a few lines; of a long list the first, and how many more."""
    lines = _filled([named(name, superscript) for name in names])
    if len(lines) <= _MOST_LINES:
        return tuple(_joined(line) for line in lines)
    shown = lines[: _MOST_LINES - 1]
    more = len(names) - sum(len(line) for line in shown)
    return (*(_joined(line) for line in shown), plain(f"… {more} more"))


def _filled(names: Iterable[tuple[Piece, ...]]) -> list[list[tuple[Piece, ...]]]:
    """Returns `names` spread over lines, each as full as the width allows."""
    lines: list[list[tuple[Piece, ...]]] = [[]]
    for name in names:
        if lines[-1] and _joined([*lines[-1], name]).width > _MOST_WIDTH:
            lines.append([])
        lines[-1].append(name)
    return lines


def _joined(names: Sequence[tuple[Piece, ...]]) -> Line:
    """Returns `names` as one line with commas between them."""
    return Line(tuple(_with_commas(names)))


def _with_commas(names: Sequence[tuple[Piece, ...]]) -> Iterator[Piece]:
    """Yields the pieces of `names` and the commas between them."""
    for number, name in enumerate(names):
        if number:
            yield Piece(", ")
        yield from name


# Widths of characters in sizes of the font: the widest of the common sans serif fonts, nearly.
_WIDTHS = {
    **dict.fromkeys("ijl.,:;'|!", 0.31),
    **dict.fromkeys('frtI ()[]{}-/\\"', 0.40),
    **dict.fromkeys("mwMW@%…→+=", 0.95),
}


def _width(text: str) -> float:
    """Returns what `text` is wide at most, in sizes of its font."""
    return sum(_WIDTHS.get(character, 0.72 if character.isupper() else 0.61) for character in text)
