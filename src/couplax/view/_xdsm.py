"""The extended design structure matrix of a model, as a drawing."""

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Sequence

from couplax.graph import Graph

from ._boxes import Box, boxes
from ._collapse import collapsed
from ._diagram import Diagram
from ._drawing import Drawing
from ._driver import Driver, driven
from ._flows import diagram
from ._layout import Layout, layout
from ._legend import arranged, draw_legend, legend_height, legend_width
from ._outline import outline
from ._scheme import Block, Control
from ._svg import MARGIN, root
from ._xdsm_legend import meanings
from ._xdsm_svg import draw


def xdsm(
    graph: Graph,
    *,
    driver: Driver | None = None,
    collapse: Collection[str] | None = None,
    expand: Collection[str] = (),
    most: int = 20,
) -> Drawing:
    """Returns the extended design structure matrix of `graph`.

    Components stand on the diagonal in the order in which they run, each solver before the cycle that it
    drives, and an optimiser before all. What a component writes is in its row and what it reads is in its
    column: above the diagonal what is fed forward, below it what is fed back. Where a cycle is cut, the data
    is dashed; a cycle that nothing closes is drawn with its feedback. Every box has a tooltip, with all for
    which it has no room.

    Args:
        driver: what evaluates the model again and again, such as an optimiser.
        collapse: beginnings of names, such as `wing` for `wing.spar` and `wing.skin`, or names of cycles,
            each drawn as one block; nothing else is collapsed then, and `()` collapses nothing. By default
            what `most` asks for.
        expand: beginnings of names that `most` leaves open.
        most: how many components and solvers are drawn one by one. Of more, those whose names begin alike are
            drawn as one, as deep in the nesting as that is enough; if more than three times as many are left
            then, so are neighbours in the order in which they run.

    Raises:
        ModelError: `collapse`, `expand` or `driver` has a name that the model has not.
    """
    every = (driven(graph, driver),) if driver else outline(graph)
    steps = collapsed(every, collapse=collapse, expand=expand, most=most)
    drawn = diagram(steps)
    found = list(boxes(drawn))
    return Drawing(ET.tostring(_picture(drawn, found, layout(drawn, found)), encoding="unicode"))


def _picture(drawn: Diagram, found: Sequence[Box], placed: Layout) -> ET.Element:
    """Returns the whole picture: the matrix and below it the legend."""
    rows = arranged(meanings(found, process=bool(drawn.process)), max(placed.width - 2 * MARGIN, 420.0))
    width = max(placed.width, legend_width(rows) + 2 * MARGIN)
    picture = root(width, placed.height + legend_height(rows), _title(drawn), "\n".join(_description(drawn)))
    draw(picture, placed)
    draw_legend(picture, rows, MARGIN, placed.height - MARGIN)
    return picture


def _title(drawn: Diagram) -> str:
    """Returns the title: what kind of drawing it is, and of what."""
    blocks = [station.name for station in drawn.stations if isinstance(station.runs, Block)]
    more = f" and {len(blocks) - 4} more" if len(blocks) > 4 else ""
    return f"XDSM of {', '.join(blocks[:4])}{more}"


def _description(drawn: Diagram) -> Iterator[str]:
    """Yields the drawing in words: what runs when, and what flows from where to where."""
    for station in drawn.stations:
        said = station.runs.tooltip.split("\n")[0] if isinstance(station.runs, Control) else station.name
        yield f"{station.number}: {said}"
    for flow in drawn.flows:
        source = "outside" if flow.source is None else drawn.stations[flow.source].name
        target = "outside" if flow.target is None else drawn.stations[flow.target].name
        yield f"{', '.join(flow.names)} from {source} to {target}"
