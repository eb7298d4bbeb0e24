"""How large a design structure matrix is drawn, and which of its blocks are named at its edges."""

from collections.abc import Sequence
from dataclasses import dataclass

from ._scheme import Block
from ._text import Line, named, shortened

# The side of the matrix, as far as the cells allow.
_SIDE = 1080.0
_CELL = (1.6, 30.0)
# Names are turned in the heads of columns, unless they are no wider than this, and so far apart.
_UPRIGHT, _APART = 60.0, 12.0
_FONT = (8.5, 13.0)
_LONGEST_NAME = 30
# Of many blocks only each of so many is named.
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes of a design structure matrix, in pixels.

    Attributes:
        across: the width of a cell; `down` its height.
        step: of so many blocks one is named.
        labels: the names of all blocks, as they are written.
        widest: the width of the widest name that is written.
        turned: whether names are turned in the heads of their columns.
    """

    across: float
    down: float
    step: int
    labels: tuple[Line, ...]
    widest: float
    turned: bool

    @property
    def font(self) -> float:
        """The size of the names."""
        return self.labels[0].size

    @property
    def head(self) -> float:
        """The height of the names above the columns."""
        return self.widest if self.turned else 1.4 * self.font

    @property
    def is_small(self) -> bool:
        """Whether cells are too small to be told from each other."""
        return self.down < 6


def scale_of(blocks: Sequence[Block]) -> Scale:
    """Returns the scale at which the matrix of `blocks` can be read."""
    down = min(max(_SIDE / len(blocks), _CELL[0]), _CELL[1])
    font = min(max(0.8 * down, _FONT[0]), _FONT[1])
    step = next(step for step in (*_STEPS, len(blocks)) if step * down >= 1.12 * font)
    labels = tuple(Line(named(_label(block), longest=_LONGEST_NAME), font) for block in blocks)
    widest = max(label.width for label in labels[::step])
    turned = widest > _UPRIGHT or down < _CELL[1]
    across = down if turned else max(down, widest + _APART)
    return Scale(across=across, down=down, step=step, labels=labels, widest=widest, turned=turned)


def _label(block: Block) -> str:
    """Returns a block's name, with how many components it stands for if it is several."""
    count = f" ({len(block.components)})" if len(block.components) > 1 else ""
    return f"{shortened(block.name, _LONGEST_NAME - len(count))}{count}"
