"""A design structure matrix as SVG."""

import xml.etree.ElementTree as ET

from ._grid import GAP, Grid, notes
from ._marks import Frame, Run, Way, runs
from ._scheme import Control, Role
from ._svg import (
    COMPONENT,
    FEEDBACK,
    INK,
    INTEGRATION,
    PAPER,
    SOLVER,
    Paint,
    circle,
    element,
    lines,
    polygon,
    polyline,
    rectangle,
)
from ._text import plain

_SMALL = Paint(COMPONENT.stroke, "none")
# From this size of a cell on a number has room in it.
_WRITTEN = 18.0
# The least size of a mark that can be seen, of one that is fed forward and of the rare others.
_VISIBLE = {True: 2.2, False: 5.0}

_RULE = Paint("none", "#dfe3e8", width=0.7)
_EDGE = Paint("none", "#8a929d", width=1.0)

WAYS = {
    Way.FORWARD: Paint("#4a5665", "#4a5665"),
    Way.FEEDBACK: Paint("#b3261e", "#b3261e"),
    Way.CUT: Paint("#f0953a", "#c2560c"),
    Way.INTEGRATED: Paint("#7fcac5", "#19706c"),
}
_WORDS = {
    Way.FORWARD: "from {source} to {target}",
    Way.FEEDBACK: "fed back from {source} to {target}, with no solver between",
    Way.CUT: "from {source} to {target}, found by a solver",
    Way.INTEGRATED: "from {source} to {target}, integrated in time",
}
# What is written on a mark.
_ON = {Way.FORWARD: PAPER, Way.FEEDBACK: PAPER, Way.CUT: INK, Way.INTEGRATED: INK}


def draw_matrix(picture: ET.Element, grid: Grid) -> None:
    """Draws the frames, the rules over them, then the marks and the names."""
    for frame in grid.frames:
        _frame(picture, grid, frame)
    _rules(picture, grid)
    for frame in grid.frames:
        paint = frame_paint(frame.control)
        _around(picture, grid, frame, Paint("none", paint.stroke, paint.dashed))
    for position in range(len(grid.blocks)):
        _diagonal(picture, grid, position)
    found = runs(grid.marks, joined=grid.scale.is_small)
    for run in sorted(found, key=lambda run: run.way is not Way.FORWARD):
        _mark(picture, grid, run)
    for position in range(0, len(grid.blocks), grid.scale.step):
        _row_name(picture, grid, position)
        _column_name(picture, grid, position)
    for height, frame, note in notes(grid):
        lines(picture, grid.noted, height, (note,), anchor="start")
        polyline(picture, ((grid.bracket(frame), height), (grid.noted - 3, height)), _line(frame))


def frame_paint(control: Control | None) -> Paint:
    """Returns how the frame of a loop is painted."""
    if control is None:
        return Paint("#fdf1f0", FEEDBACK.stroke, dashed=True)
    if control.role is Role.INTEGRATION:
        return Paint("#e6f5f4", INTEGRATION.stroke)
    return Paint("#eaf2fc", SOLVER.stroke)


def _line(frame: Frame) -> Paint:
    """Returns how the lines beside a frame are painted."""
    return Paint("none", frame_paint(frame.control).stroke)


def _frame(picture: ET.Element, grid: Grid, frame: Frame) -> None:
    """Draws a frame around the blocks of a loop, and its bracket at the right of the matrix."""
    kind = frame.control.role.value if frame.control else "open"
    group = element(picture, "g", data_kind=kind, data_first=frame.first, data_last=frame.last)
    element(group, "title", frame.control.tooltip if frame.control else f"{frame.name}: nothing closes it")
    paint = frame_paint(frame.control)
    _around(group, grid, frame, Paint(paint.fill, "none"))
    top, bottom = grid.y(frame.first), grid.y(frame.last + 1)
    at = grid.bracket(frame)
    polyline(group, ((at - 5, top + 1), (at, top + 1), (at, bottom - 1), (at - 5, bottom - 1)), _line(frame))


def _around(parent: ET.Element, grid: Grid, frame: Frame, paint: Paint) -> None:
    """Draws a rectangle around the cells of a loop."""
    (left, right), (top, bottom) = ((of(frame.first), of(frame.last + 1)) for of in (grid.x, grid.y))
    rectangle(parent, (left + right) / 2, (top + bottom) / 2, right - left, bottom - top, paint)


def _rules(picture: ET.Element, grid: Grid) -> None:
    """Draws the lines between the cells, or where these are too small one from each name, and the edge."""
    count, scale = len(grid.blocks), grid.scale
    group = element(picture, "g", data_kind="rules")
    shift = 0.5 if scale.step > 1 else 0.0
    for position in range(0, count, scale.step):
        x, y = grid.x(position + shift), grid.y(position + shift)
        polyline(group, ((grid.left, y), (grid.right, y)), _RULE)
        polyline(group, ((x, grid.top), (x, grid.bottom)), _RULE)
    width, height = grid.right - grid.left, grid.bottom - grid.top
    rectangle(group, grid.left + width / 2, grid.top + height / 2, width, height, _EDGE)


def _diagonal(picture: ET.Element, grid: Grid, position: int) -> None:
    """Draws the cell of a block, with its place in the order where there is room."""
    block, scale = grid.blocks[position], grid.scale
    group = element(picture, "g", data_kind="component", data_row=position, data_column=position)
    element(group, "title", block.tooltip)
    x, y = grid.x(position + 0.5), grid.y(position + 0.5)
    paint = _SMALL if scale.is_small else COMPONENT
    rectangle(group, x, y, max(scale.across, 1.5), max(scale.down, 1.5), paint)
    if scale.down >= _WRITTEN:
        lines(group, x, y, (plain(str(position + 1), 0.38 * scale.down),))


def _mark(picture: ET.Element, grid: Grid, run: Run) -> None:
    """Draws a mark, or several next to each other as one; its tooltip says what is read by whom."""
    scale, paint = grid.scale, WAYS[run.way]
    group = element(
        picture, "g", data_kind=run.way.value, data_row=run.writer, data_column=run.first, data_last=run.last
    )
    element(group, "title", _said(grid, run))
    x, y = (grid.x(run.first) + grid.x(run.last + 1)) / 2, grid.y(run.writer + 0.5)
    if scale.is_small:
        width, least = grid.x(run.last + 1) - grid.x(run.first), _VISIBLE[run.way is Way.FORWARD]
        rectangle(group, x, y, max(width, least), max(scale.down, least), Paint(paint.stroke, "none"))
        return
    shape(group, x, y, scale.down, run.way)
    if len(run.names) > 1 and scale.down >= _WRITTEN:
        lines(group, x, y, (plain(str(len(run.names)), 0.36 * scale.down, _ON[run.way]),))


def shape(parent: ET.Element, x: float, y: float, size: float, way: Way) -> None:
    """Draws the sign of a way: a square forward, a diamond back, a disc for what a solver finds."""
    paint = WAYS[way]
    if way is Way.FORWARD:
        rectangle(parent, x, y, 0.62 * size, 0.62 * size, paint, 0.08 * size)
    elif way is Way.FEEDBACK:
        reach = 0.44 * size
        polygon(parent, ((x - reach, y), (x, y - reach), (x + reach, y), (x, y + reach)), paint)
    else:
        circle(parent, x, y, 0.36 * size, paint)


def _said(grid: Grid, run: Run) -> str:
    """Returns what a mark says in words."""
    readers = [block.name for block in grid.blocks[run.first : run.last + 1]]
    few = ", ".join(readers)
    target = few if len(readers) < 3 else f"{len(readers)} components, {readers[0]} to {readers[-1]}"
    source = grid.blocks[run.writer].name
    return f"{', '.join(run.names)}\n{_WORDS[run.way].format(source=source, target=target)}"


def _row_name(picture: ET.Element, grid: Grid, position: int) -> None:
    """Writes the name of a block at the left of its row."""
    group = _named(picture, grid, position, "row-name")
    lines(group, grid.left - GAP, grid.y(position + 0.5), (grid.scale.labels[position],), anchor="end")


def _column_name(picture: ET.Element, grid: Grid, position: int) -> None:
    """Writes the name of a block above its column, turned where it has no room."""
    group = _named(picture, grid, position, "column-name")
    x, y, label = grid.x(position + 0.5), grid.top - GAP, grid.scale.labels[position]
    if grid.scale.turned:
        group.set("transform", f"translate({x:.2f} {y:.2f}) rotate(-90)")
        lines(group, 0, 0, (label,), anchor="start")
    else:
        lines(group, x, y - 0.5 * grid.scale.head, (label,))


def _named(picture: ET.Element, grid: Grid, position: int, kind: str) -> ET.Element:
    """Returns a group for a name, with the tooltip of its block."""
    group = element(picture, "g", data_kind=kind, data_at=position)
    element(group, "title", grid.blocks[position].tooltip)
    return group
