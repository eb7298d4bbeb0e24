"""The design structure matrix of a model, as a drawing."""

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Sequence

from couplax.graph import Graph

from ._collapse import collapsed
from ._drawing import Drawing
from ._grid import Grid
from ._legend import arranged, draw_legend, legend_height, legend_width
from ._marks import Frame, Mark, frames, marks
from ._matrix_legend import meanings
from ._matrix_svg import draw_matrix
from ._outline import outline
from ._scale import scale_of
from ._scheme import Block, blocks
from ._svg import MARGIN, root

# Of so many marks the description tells.
_DESCRIBED = 1000


def matrix(
    graph: Graph, *, collapse: Collection[str] | None = None, expand: Collection[str] = (), most: int = 500
) -> Drawing:
    """Returns the design structure matrix of `graph`.

    Components stand on both axes in the order in which they run. A mark says that the component of its column
    reads what that of its row writes: above the diagonal what is fed forward, below it what is fed back.
    Cycles are framed, and beside them stands what closes them. Marks and names have tooltips. Of more than
    some hundred components only some are named at the edges.

    Args:
        collapse: as for `xdsm`.
        expand: as for `xdsm`.
        most: as for `xdsm`.

    Raises:
        ModelError: `collapse` or `expand` has a name that the model has not.
    """
    steps = collapsed(outline(graph), collapse=collapse, expand=expand, most=most)
    every = tuple(blocks(steps))
    grid = Grid(blocks=every, marks=marks(steps), frames=tuple(frames(steps)), scale=scale_of(every))
    return Drawing(ET.tostring(_picture(grid), encoding="unicode"))


def _picture(grid: Grid) -> ET.Element:
    """Returns the whole picture: the matrix and below it the legend."""
    rows = arranged(meanings(grid), max(grid.width - 2 * MARGIN, 420.0))
    width = max(grid.width, legend_width(rows) + 2 * MARGIN)
    description = "\n".join(_description(grid.blocks, grid.marks, grid.frames))
    picture = root(width, grid.height + legend_height(rows), _title(grid.blocks), description)
    draw_matrix(picture, grid)
    draw_legend(picture, rows, MARGIN, grid.height - MARGIN)
    return picture


def _title(every: Sequence[Block]) -> str:
    """Returns the title: what kind of drawing it is, and of what."""
    more = f" and {len(every) - 4} more" if len(every) > 4 else ""
    return f"Design structure matrix of {', '.join(block.name for block in every[:4])}{more}"


def _description(every: Sequence[Block], found: Sequence[Mark], loops: Sequence[Frame]) -> Iterator[str]:
    """Yields the drawing in words: which cycles there are, and who reads what of whom."""
    for frame in loops:
        closed = f", closed by {frame.control.name}" if frame.control else ", open"
        yield f"cycle {frame.name}{closed}"
    for mark in found[:_DESCRIBED]:
        writer, reader = every[mark.writer].name, every[mark.reader].name
        yield f"{reader} reads {', '.join(mark.names)} of {writer}"
    if len(found) > _DESCRIBED:
        yield f"and {len(found) - _DESCRIBED} more"
