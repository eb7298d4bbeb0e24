"""The words of a drawing: names with their subscripts, in lines, and how wide they are."""

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ._style import ROOMY, Style

# Sub- and superscripts, of the size of their line.
SCRIPT = 0.74
_LEADING = 1.32

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
    """Pieces of text beside each other.

    Attributes:
        colour: None for that of all text.
    """

    pieces: tuple[Piece, ...]
    size: float = ROOMY.size
    colour: str | None = None

    @property
    def text(self) -> str:
        """The line without its styles."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def width(self) -> float:
        """What the line is wide at most, in the common sans serif fonts."""
        return self.size * sum(piece.scale * _width(piece.text) for piece in self.pieces)


def text_height(lines: tuple[Line, ...]) -> float:
    """Returns the height of `lines` below each other."""
    return _LEADING * sum(line.size for line in lines)


def plain(text: str, size: float = ROOMY.size, colour: str | None = None) -> Line:
    """Returns `text` as a line."""
    return Line((Piece(text),), size, colour)


@dataclass(frozen=True, slots=True)
class Notation:
    """What stands around a name: `R(u)`, `dx/dt`, y with a superscript."""

    before: str = ""
    after: str = ""
    superscript: str = ""


PLAIN = Notation()


def named(name: str, notation: Notation = PLAIN, longest: int = _LONGEST_NAME) -> tuple[Piece, ...]:
    """Returns `name` with its index as a subscript: `y_1` as y with a 1 below."""
    shown = shortened(name, longest)
    found = _INDEXED.fullmatch(shown)
    pieces = (Piece(found["base"]), Piece(found["index"], Shift.SUB)) if found else (Piece(shown),)
    return (
        *((Piece(notation.before),) if notation.before else ()),
        *pieces,
        *((Piece(notation.superscript, Shift.SUPER),) if notation.superscript else ()),
        *((Piece(notation.after),) if notation.after else ()),
    )


def shortened(name: str, longest: int) -> str:
    """Returns `name`, of a long one the beginning and the end."""
    before = round(0.55 * longest)
    return name if len(name) <= longest else f"{name[:before]}…{name[before - longest + 1 :]}"


def broken(name: str, longest: int) -> tuple[str, ...]:
    """Returns `name` in one part or two, broken after a dot or an underscore if it is too long for one."""
    ends = [found.end() for found in re.finditer(r"[._ ]", name[:-1])]
    if len(name) <= longest or not ends:
        return (name,)
    middle = min(ends, key=lambda end: max(end, len(name) - end))
    return name[:middle], name[middle:]


def wrapped(
    names: Sequence[tuple[Piece, ...]], style: Style = ROOMY, size: float | None = None
) -> tuple[Line, ...]:
    """Returns `names`, separated by commas, as a few lines; of a long list the first, or only how many.

    Args:
        size: of the text; by default the style's.
    """
    size = style.size if size is None else size
    lines = _filled(names, size, style.most_width)
    if len(lines) <= style.most_lines:
        return tuple(_joined(line, size) for line in lines)
    if style.most_lines == 1:
        return (plain(f"{len(names)} variables", style.small),)
    shown = lines[: style.most_lines - 1]
    more = len(names) - sum(len(line) for line in shown)
    return (*(_joined(line, size) for line in shown), plain(f"… {more} more", size))


def _filled(
    names: Iterable[tuple[Piece, ...]], size: float, most_width: float
) -> list[list[tuple[Piece, ...]]]:
    """Returns `names` spread over lines, each as full as the width allows."""
    lines: list[list[tuple[Piece, ...]]] = [[]]
    for name in names:
        if lines[-1] and _joined([*lines[-1], name], size).width > most_width:
            lines.append([])
        lines[-1].append(name)
    return lines


def _joined(names: Sequence[tuple[Piece, ...]], size: float) -> Line:
    """Returns `names` as one line with commas between them."""
    return Line(tuple(_with_commas(names)), size)


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
