"""The XDSM as SVG: what stands in which cell, that it fits, and that it can be read by program."""

import itertools
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import optimistix as optx
import pytest

from couplax._errors import ModelError
from couplax.graph import Component, Graph, Input, Output, choose_cut
from couplax.solve import Closure, Newton
from couplax.view import Drawing, xdsm

SVG = "{http://www.w3.org/2000/svg}"
NEWTON = Newton(rtol=1e-10, atol=1e-10)


def made(name: str, reads: str, *writes: str, **said: Any) -> Component:
    """Returns a component that is never run."""
    return Component(
        name=name,
        fn=made,
        inputs=tuple(Input(name=read) for read in reads.split()),
        outputs=tuple(Output(name=write, **said) for write in writes),
        parameters=tuple(reads.split()),
        returned=writes,
    )


def sellar() -> Graph:
    return Graph(
        (
            made("d1", "x_1 z_1 z_2 y_2", "y_1"),
            made("d2", "y_1 z_1 z_2", "y_2"),
            made("objective", "x_1 z_2 y_1 y_2", "f"),
            made("constraints", "y_1 y_2", "g_1", "g_2"),
        )
    )


def two_cycles() -> Graph:
    return Graph(
        (
            made("a", "p b", "a"),
            made("b", "a", "b"),
            made("c", "b d", "c"),
            made("d", "c q", "d"),
            made("end", "a d", "e"),
        )
    )


def long_names() -> Graph:
    names = [f"discipline_with_a_rather_long_name_{i}" for i in range(10)]
    return Graph(
        [
            made(
                name,
                " ".join(
                    [f"parameter_{i}_{k}" for k in range(3 * i)] + [f"{other}.result" for other in names]
                ),
                f"{name}.result",
                *[f"{name}.byproduct_{k}" for k in range(8)],
            )
            for i, name in enumerate(names)
        ]
    )


def closed(graph: Graph, *, solver: Any = NEWTON) -> Drawing:
    closures = [Closure(cycle=cycle, cut=choose_cut(cycle), solver=solver) for cycle in graph.cycles]
    return xdsm(graph, closures)


@dataclass(frozen=True, slots=True)
class Cell:
    """A box of the drawing, read back from the SVG."""

    row: int
    column: int
    kind: str
    lines: tuple[str, ...]
    tooltip: str
    left: float
    right: float
    top: float
    bottom: float


def cells(drawing: Drawing) -> list[Cell]:
    """Returns the boxes of a drawing."""
    return [
        _cell(group) for group in ET.fromstring(drawing.svg).iter(f"{SVG}g") if "data-row" in group.attrib
    ]


def _cell(group: ET.Element) -> Cell:
    xs, ys = zip(*_corners(group), strict=True)
    return Cell(
        int(group.attrib["data-row"]),
        int(group.attrib["data-column"]),
        group.attrib["data-kind"],
        tuple("".join(text.itertext()) for text in group.iter(f"{SVG}text")),
        group.findtext(f"{SVG}title", ""),
        min(xs),
        max(xs),
        min(ys),
        max(ys),
    )


def _corners(group: ET.Element) -> Iterator[tuple[float, float]]:
    polygon = group.find(f"{SVG}polygon")
    if polygon is not None:
        for point in polygon.attrib["points"].split():
            x, y = point.split(",")
            yield float(x), float(y)
        return
    rectangle = group.find(f"{SVG}rect")
    assert rectangle is not None
    x, y, width, height = (float(rectangle.attrib[name]) for name in ("x", "y", "width", "height"))
    yield from ((x, y), (x + width, y + height))


def text_at(drawing: Drawing) -> dict[tuple[int, int], str]:
    """Returns the first line in each cell."""
    return {(cell.row, cell.column): cell.lines[0] for cell in cells(drawing)}


def kinds_at(drawing: Drawing) -> dict[tuple[int, int], str]:
    return {(cell.row, cell.column): cell.kind for cell in cells(drawing)}


def test_solver_and_components_stand_on_the_diagonal_in_the_order_in_which_they_run() -> None:
    text = text_at(closed(sellar()))
    diagonal = [text[i, i] for i in range(1, 6)]
    assert diagonal == ["1, 4→2: Newton", "2: d1", "3: d2", "5: objective", "6: constraints"]


def test_the_solver_says_where_it_cuts_and_how_exactly_it_solves() -> None:
    (solver,) = [cell for cell in cells(closed(sellar())) if cell.kind == "solver"]
    assert solver.lines[1:] == ("cut at y2", "rtol 1e-10, atol 1e-10")


def test_a_solver_of_many_unknowns_names_the_first_and_counts_the_rest() -> None:
    names = [f"coupling_variable_{i}" for i in range(9)]
    graph = Graph((made("a", " ".join(names), *names),))
    drawing = xdsm(graph, [Closure(cycle=graph.cycles[0], cut=tuple(names), solver=object())])
    (solver,) = [cell for cell in cells(drawing) if cell.kind == "solver"]
    assert solver.lines[1:] == ("cut at coupling_variable_0", "coupling_variable_1", "… 7 more")
    assert all(name in solver.tooltip for name in names)


def test_a_solver_with_tolerances_as_arrays_is_drawn() -> None:
    tolerance: Any = jnp.asarray(1e-6)
    drawing = closed(sellar(), solver=optx.Newton(rtol=tolerance, atol=1e-8))
    (solver,) = [cell for cell in cells(drawing) if cell.kind == "solver"]
    assert solver.lines[2] == "rtol 1e-06, atol 1e-08"


def test_a_solver_without_tolerances_is_drawn_without() -> None:
    (solver,) = [cell for cell in cells(closed(sellar(), solver=object())) if cell.kind == "solver"]
    assert solver.lines == ("1, 4→2: object", "cut at y2")


def test_the_cut_variable_goes_from_the_solver_to_its_readers_and_back_from_its_writer() -> None:
    drawing = closed(sellar())
    text, kinds = text_at(drawing), kinds_at(drawing)
    assert (text[0, 1], kinds[0, 1]) == ("y2(0)", "guess")
    assert (text[1, 2], kinds[1, 2]) == ("y2t", "target")
    assert (text[3, 1], kinds[3, 1]) == ("y2", "value")
    assert (3, 2) not in text


def test_other_data_stands_in_its_writers_row_and_its_readers_column() -> None:
    drawing = closed(sellar())
    data = {cell: said for cell, said in text_at(drawing).items() if kinds_at(drawing)[cell] == "data"}
    assert data == {(2, 3): "y1", (2, 4): "y1", (2, 5): "y1", (3, 4): "y2", (3, 5): "y2"}


def test_inputs_stand_in_the_top_row_and_outputs_in_the_left_column() -> None:
    drawing = closed(sellar())
    text, kinds = text_at(drawing), kinds_at(drawing)
    assert {c: text[c] for c in text if kinds[c] == "input"} == {
        (0, 2): "x1, z1, z2",
        (0, 3): "z1, z2",
        (0, 4): "x1, z2",
    }
    assert {c: text[c] for c in text if kinds[c] == "output"} == {
        (2, 0): "y1",
        (3, 0): "y2",
        (4, 0): "f",
        (5, 0): "g1, g2",
    }


def test_an_open_cycle_is_drawn_with_feedback_below_the_diagonal() -> None:
    drawing = xdsm(sellar())
    text, kinds = text_at(drawing), kinds_at(drawing)
    assert [text[i, i] for i in range(1, 5)] == ["1: d1", "2: d2", "3: objective", "4: constraints"]
    assert (text[2, 1], kinds[2, 1]) == ("y2", "data")
    assert not {"solver", "guess", "target", "value"} & set(kinds.values())


def test_an_open_component_that_reads_its_own_output_says_so() -> None:
    (component,) = [
        cell for cell in cells(xdsm(Graph((made("a", "u_1 p", "u_1"),)))) if cell.kind == "component"
    ]
    assert component.lines == ("1: a", "reads its own u1")


def test_each_cycle_has_its_solver_before_it() -> None:
    text = text_at(closed(two_cycles()))
    diagonal = [text[i, i] for i in range(1, 8)]
    assert diagonal == ["1, 4→2: Newton", "2: a", "3: b", "5, 8→6: Newton", "6: c", "7: d", "9: end"]


def test_what_a_cycle_gives_to_others_comes_from_its_components() -> None:
    text = text_at(closed(two_cycles()))
    assert text[3, 5] == "b"
    assert text[6, 7] == "d"


GRAPHS = {"sellar": sellar, "two cycles": two_cycles, "long names": long_names}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("drawn", [closed, xdsm])
def test_boxes_do_not_overlap_and_lie_on_the_paper(name: str, drawn: Any) -> None:
    drawing = drawn(GRAPHS[name]())
    root = ET.fromstring(drawing.svg)
    found = cells(drawing)
    for cell in found:
        assert cell.left >= 0
        assert cell.right <= float(root.attrib["width"])
        assert cell.top >= 0
        assert cell.bottom <= float(root.attrib["height"])
    for one, other in itertools.combinations(found, 2):
        beside = one.right < other.left or other.right < one.left
        assert beside or one.bottom < other.top or other.bottom < one.top


@pytest.mark.parametrize("name", GRAPHS)
def test_text_fits_its_box(name: str) -> None:
    for cell in cells(closed(GRAPHS[name]())):
        # 8.4 a character is 0.56 of the font's size, the width of a digit and of most small letters.
        widest = max(len(line) for line in cell.lines[:1]) * 8.4
        lean = 0 if cell.kind in ("component", "solver") else 16
        assert cell.right - cell.left - lean >= widest
        assert cell.bottom - cell.top >= 15 * len(cell.lines) * 0.9


def test_a_long_list_is_shortened_and_whole_in_its_tooltip() -> None:
    (last,) = [cell for cell in cells(closed(long_names())) if cell.lines[-1].endswith("25 more")]
    assert last.kind == "input"
    assert all(f"parameter_9_{k}" in last.tooltip for k in range(27))


def test_a_components_tooltip_tells_its_place_units_and_description() -> None:
    graph = Graph((made("a", "x", "y", units="kg", description="mass of the wing"),))
    (component,) = [cell for cell in cells(xdsm(graph)) if cell.kind == "component"]
    assert component.tooltip.startswith("a (test_xdsm.py:")
    assert "reads x" in component.tooltip
    assert "writes y [kg]: mass of the wing" in component.tooltip


def test_names_are_escaped() -> None:
    text = text_at(xdsm(Graph((made('<b> & "c"', "x<1", "y&amp;"),))))
    assert text == {(1, 1): '1: <b> & "c"', (0, 1): "x<1", (1, 0): "y&amp;"}


def test_control_characters_do_not_break_the_file() -> None:
    assert text_at(xdsm(Graph((made("a\x00b", "x", "y"),))))[1, 1] == "1: a\N{REPLACEMENT CHARACTER}b"


def test_the_process_lines_lead_from_each_step_to_the_next_and_back_to_the_solver() -> None:
    found = {(c.row, c.column): c for c in cells(closed(two_cycles()))}
    stations = [found[i, i] for i in range(1, 8)]
    lines = [_ends(line) for line in ET.fromstring(closed(two_cycles()).svg).iter(f"{SVG}polyline")]
    pairs = {(_at(stations, start), _at(stations, end)) for start, end in lines} - {(None, None)}
    assert pairs == {(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 5), (5, 3), (3, 6)}


def _ends(line: ET.Element) -> tuple[tuple[float, ...], tuple[float, ...]]:
    points = line.attrib["points"].split()
    start, end = (tuple(float(number) for number in point.split(",")) for point in (points[0], points[-1]))
    return start, end


def _at(stations: list[Cell], point: tuple[float, ...]) -> int | None:
    """Returns which station `point` lies on the edge of."""
    x, y = point
    for position, cell in enumerate(stations):
        if cell.left - 0.1 <= x <= cell.right + 0.1 and cell.top - 0.1 <= y <= cell.bottom + 0.1:
            return position
    return None


def test_every_box_off_the_diagonal_lies_on_lines_to_its_stations() -> None:
    drawing = closed(two_cycles())
    lines = [
        {k: float(v) for k, v in line.attrib.items()}
        for line in ET.fromstring(drawing.svg).iter(f"{SVG}line")
    ]
    for cell in cells(drawing):
        x, y = (cell.left + cell.right) / 2, (cell.top + cell.bottom) / 2
        along_row = any(_near(y, at["y1"]) and _near(y, at["y2"]) and at["x1"] <= x + 0.1 for at in lines)
        along_column = any(_near(x, at["x1"]) and _near(x, at["x2"]) and at["y1"] <= y + 0.1 for at in lines)
        assert along_row or cell.row == 0 or cell.kind == "solver"
        assert along_column or cell.column == 0 or cell.row == cell.column


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, abs_tol=0.05)


@pytest.mark.parametrize(("drawn", "explained"), [(closed, True), (xdsm, False)])
def test_the_legend_explains_the_cut_where_there_is_one(drawn: Any, explained: bool) -> None:
    root = ET.fromstring(drawn(sellar()).svg)
    (legend,) = [group for group in root.iter(f"{SVG}g") if group.get("data-kind") == "legend"]
    said = "".join(legend.itertext())
    assert "component" in said
    assert ("cut here" in said) is explained
    assert ("solver of a cycle" in said) is explained


def test_the_drawing_is_described_for_those_who_cannot_see_it() -> None:
    root = ET.fromstring(closed(sellar()).svg)
    assert root.attrib["role"] == "img"
    assert root.findtext(f"{SVG}title") == "XDSM of d1, d2, objective, constraints"
    described = root.findtext(f"{SVG}desc", "")
    assert "1, 4→2: Newton solves d1 + d2 for y_2" in described
    assert "y_1 from d1 to d2" in described


def test_the_drawing_acts_on_nothing_around_it() -> None:
    for element in ET.fromstring(closed(sellar()).svg).iter():
        assert element.tag not in (f"{SVG}style", f"{SVG}script")
        assert not {"id", "class"} & set(element.attrib)


def test_the_paper_is_white_so_that_dark_pages_can_show_it() -> None:
    root = ET.fromstring(xdsm(sellar()).svg)
    paper = root.find(f"{SVG}rect")
    assert paper is not None
    assert paper.attrib["fill"] == "#ffffff"
    assert (paper.attrib["width"], paper.attrib["height"]) == (root.attrib["width"], root.attrib["height"])


def test_a_notebook_shows_the_svg_and_a_file_holds_it(tmp_path: Path) -> None:
    drawing = closed(sellar())
    drawing.save(tmp_path / "sellar.svg")
    assert drawing._repr_svg_() == drawing.svg
    assert ET.tostring(ET.parse(tmp_path / "sellar.svg").getroot()) == ET.tostring(ET.fromstring(drawing.svg))


def test_equal_models_give_equal_drawings() -> None:
    assert closed(two_cycles()) == closed(two_cycles())


def test_a_model_without_inputs_is_drawn() -> None:
    assert text_at(xdsm(Graph((made("a", "", "y"),)))) == {(1, 1): "1: a", (1, 0): "y"}


def test_a_closure_of_another_models_cycle_is_refused() -> None:
    (cycle, _) = two_cycles().cycles
    with pytest.raises(
        ModelError, match=r"`a \+ b` is closed and is no cycle of the model. It has `d1 \+ d2`"
    ):
        xdsm(sellar(), [Closure(cycle=cycle, cut=("a",), solver=NEWTON)])
