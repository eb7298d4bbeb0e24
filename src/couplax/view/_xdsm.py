"""The extended design structure matrix of a model, as a drawing."""

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from couplax.graph import Graph
from couplax.solve import Closure

from ._boxes import Box, boxes
from ._diagram import Diagram, diagram
from ._layout import MARGIN, Layout, layout
from ._legend import arranged, draw_legend, entries, legend_height, legend_width
from ._svg import draw, root


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing that notebooks show.

    Attributes:
        svg: the drawing as one standalone SVG document.
    """

    svg: str

    def _repr_svg_(self) -> str:
        """Returns what a notebook shows."""
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SVG to `path`."""
        Path(path).write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{self.svg}\n', encoding="utf-8")


def xdsm(graph: Graph, closures: Sequence[Closure] = ()) -> Drawing:
    """Returns the extended design structure matrix of `graph`.

    Components stand on the diagonal in the order in which they run, each solver before the cycle that it
    drives. What a component writes is in its row and what it reads is in its column: above the diagonal what
    is fed forward, below it what is fed back. Where a cycle is cut, the data is dashed. Every box has a
    tooltip.

    Args:
        closures: what closes the cycles; a cycle without one is drawn with its feedback.
    """
    drawn = diagram(graph, closures)
    found = list(boxes(drawn))
    return Drawing(ET.tostring(_picture(drawn, found, layout(drawn, found)), encoding="unicode"))


def _picture(drawn: Diagram, found: Sequence[Box], placed: Layout) -> ET.Element:
    """Returns the whole picture: the matrix and below it the legend."""
    rows = arranged(entries(found, process=bool(drawn.process)), max(placed.width - 2 * MARGIN, 420.0))
    width = max(placed.width, legend_width(rows) + 2 * MARGIN)
    picture = root(width, placed.height + legend_height(rows), _title(drawn), "\n".join(_description(drawn)))
    draw(picture, placed)
    draw_legend(picture, rows, MARGIN, placed.height - MARGIN)
    return picture


def _title(drawn: Diagram) -> str:
    """Returns the title: what kind of drawing it is, and of what."""
    components = [station.name for station in drawn.stations if station.component]
    more = f" and {len(components) - 4} more" if len(components) > 4 else ""
    return f"XDSM of {', '.join(components[:4])}{more}"


def _description(drawn: Diagram) -> Iterator[str]:
    """Yields the drawing in words: what runs when, and what flows from where to where."""
    for station in drawn.stations:
        solved = (
            f" solves {station.drives.name} for {', '.join(station.drives.cut)}" if station.drives else ""
        )
        yield f"{station.number}: {station.name}{solved}"
    for flow in drawn.flows:
        source = "outside" if flow.source is None else drawn.stations[flow.source].name
        target = "outside" if flow.target is None else drawn.stations[flow.target].name
        yield f"{', '.join(flow.names)} from {source} to {target}"
