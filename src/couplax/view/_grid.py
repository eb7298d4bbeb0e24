"""Where everything in a design structure matrix stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ._marks import Frame, Mark
from ._scale import Scale
from ._scheme import Block, Control
from ._svg import MARGIN
from ._text import Line, Piece, named, plain

GAP = 8.0
_BRACKET = 10.0
_NOTE = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What is drawn, and how large."""

    blocks: Sequence[Block]
    marks: Sequence[Mark]
    frames: Sequence[Frame]
    scale: Scale

    @property
    def left(self) -> float:
        """Where the cells begin."""
        return MARGIN + self.scale.widest + GAP

    @property
    def top(self) -> float:
        """Where the cells begin."""
        return MARGIN + self.scale.head + GAP

    @property
    def right(self) -> float:
        """Where the cells end."""
        return self.left + self.scale.across * len(self.blocks)

    @property
    def bottom(self) -> float:
        """Where the cells end."""
        return self.top + self.scale.down * len(self.blocks)

    @property
    def noted(self) -> float:
        """Where the notes begin that stand beside the frames."""
        deepest = max((frame.depth for frame in self.frames), default=-1)
        return self.right + GAP + _BRACKET * (deepest + 1)

    @property
    def width(self) -> float:
        """The width of the picture."""
        widest = max((note.width for _, _, note in notes(self)), default=0.0)
        return self.noted + widest + MARGIN

    @property
    def height(self) -> float:
        """The height of the picture, without the legend."""
        return self.bottom + MARGIN

    def bracket(self, frame: Frame) -> float:
        """Returns where the bracket of a frame stands, the innermost next to the cells."""
        return self.noted - GAP - _BRACKET * frame.depth

    def x(self, column: float) -> float:
        """Returns where a column begins; half a column on is its middle."""
        return self.left + self.scale.across * column

    def y(self, row: float) -> float:
        """Returns where a row begins; half a row on is its middle."""
        return self.top + self.scale.down * row


def notes(grid: Grid) -> Iterator[tuple[float, Frame, Line]]:
    """Yields what stands beside the frames, and at which height: what closes each, where there is room."""
    lowest = grid.top - _NOTE
    for frame in grid.frames:
        first, last = grid.y(frame.first + 0.5), grid.y(frame.last + 0.5)
        height = max(first, lowest + 1.3 * _NOTE)
        if height <= last:
            yield height, frame, _note(frame.control)
            lowest = height


def _note(control: Control | None) -> Line:
    """Returns what is said beside a frame."""
    if control is None:
        return plain("open", _NOTE)
    first, more = control.finds[:3], len(control.finds) - 3
    names = [piece for name in first for piece in (Piece(", "), *named(name, longest=20))][1:]
    rest = (Piece(f" and {more} more"),) if more > 0 else ()
    return Line((Piece(f"{control.name}: "), *names, *rest), _NOTE)
