"""Where everything in an XDSM stands: the grid of boxes, the lines of data and the lines of the process."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ._boxes import Box
from ._diagram import Diagram, Kind
from ._svg import MARGIN, Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A box at its place: `x` and `y` are those of its centre."""

    box: Box
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What is drawn, and where.

    Attributes:
        data: the ends of the lines that connect each station with what flows into and out of it.
        process: the corners of the lines that say what runs next.
    """

    placed: tuple[Placed, ...]
    data: tuple[tuple[Point, Point], ...]
    process: tuple[tuple[Point, Point, Point], ...]
    width: float
    height: float


def layout(drawn: Diagram, boxes: Sequence[Box]) -> Layout:
    """Returns where `boxes`, those of `drawn`, and their lines stand."""
    gap = boxes[0].style.gap
    widths = {column: box.width for column, box in _widest(boxes)}
    heights = {row: box.height for row, box in _tallest(boxes)}
    across, down = _centres(widths, gap), _centres(heights, gap)
    placed = tuple(
        _place(box, x=across[box.column], y=down[box.row], column_width=widths[box.column]) for box in boxes
    )
    stations = placed[: len(drawn.stations)]
    return Layout(
        placed=placed,
        data=tuple(_data_lines(placed, len(stations))),
        process=tuple(_process_line(stations[source], stations[target]) for source, target in drawn.process),
        width=sum(widths.values()) + gap * (len(widths) - 1) + 2 * MARGIN,
        height=sum(heights.values()) + gap * (len(heights) - 1) + 2 * MARGIN,
    )


def _place(box: Box, *, x: float, y: float, column_width: float) -> Placed:
    """Returns a box at its place: a station widens with its column, data is as large as its text."""
    widest = box.width if isinstance(box.means, Kind) else min(column_width, 1.6 * box.width)
    return Placed(box=box, x=x, y=y, width=max(box.width, widest), height=box.height)


def _widest(boxes: Iterable[Box]) -> Iterator[tuple[int, Box]]:
    """Yields each column in order, with its widest box."""
    by_column = sorted(boxes, key=lambda box: box.column)
    for column, inside in itertools.groupby(by_column, key=lambda box: box.column):
        yield column, max(inside, key=lambda box: box.width)


def _tallest(boxes: Iterable[Box]) -> Iterator[tuple[int, Box]]:
    """Yields each row in order, with its tallest box."""
    by_row = sorted(boxes, key=lambda box: box.row)
    for row, inside in itertools.groupby(by_row, key=lambda box: box.row):
        yield row, max(inside, key=lambda box: box.height)


def _centres(sizes: Mapping[int, float], gap: float) -> dict[int, float]:
    """Returns the middle of each row or column."""
    centres: dict[int, float] = {}
    edge = MARGIN
    for position, size in sizes.items():
        centres[position] = edge + size / 2
        edge += size + gap
    return centres


def _data_lines(placed: Sequence[Placed], count: int) -> Iterator[tuple[Point, Point]]:
    """Yields the lines along each station's row and column, over all that flows out of it and into it."""
    rows: dict[int, list[float]] = {}
    columns: dict[int, list[float]] = {}
    for item in placed:
        rows.setdefault(item.box.row, []).append(item.x)
        columns.setdefault(item.box.column, []).append(item.y)
    for station in placed[:count]:
        row, column = rows[station.box.row], columns[station.box.column]
        if len(row) > 1:
            yield (min(row), station.y), (max(row), station.y)
        if len(column) > 1:
            yield (station.x, min(column)), (station.x, max(column))


def _process_line(source: Placed, target: Placed) -> tuple[Point, Point, Point]:
    """Returns the line from one station to the next: out at its side, into the other from above or below."""
    way = 1 if target.box.column > source.box.column else -1
    return (
        (source.x + way * source.width / 2, source.y),
        (target.x, source.y),
        (target.x, target.y - way * target.height / 2),
    )
