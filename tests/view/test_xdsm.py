"""The XDSM as SVG: what stands in which cell, and that it can be read by program."""

import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import optimistix as optx
import pytest

from couplax import Model
from couplax.graph import Graph, Kind
from couplax.solve import Closure
from couplax.view import xdsm
from view.drawn import (
    NEWTON,
    SVG,
    Cell,
    cells,
    circuit,
    closed,
    diagonal,
    drawn_as,
    kinds_at,
    long_names,
    made,
    nested_cycles,
    sellar,
    text_at,
    two_cycles,
)


def test_solver_and_components_stand_on_the_diagonal_in_the_order_in_which_they_run() -> None:
    assert diagonal(xdsm(closed(sellar()))) == [
        "1, 4→2: Newton",
        "2: d1",
        "3: d2",
        "5: objective",
        "6: constraints",
    ]


def test_the_solver_says_where_it_cuts_and_how_exactly_it_solves() -> None:
    (solver,) = [cell for cell in cells(xdsm(closed(sellar()))) if cell.kind == "solver"]
    assert solver.lines[1:] == ("cut at y2", "rtol 1e-10, atol 1e-10")


def test_a_solver_of_many_unknowns_names_the_first_and_counts_the_rest() -> None:
    names = [f"coupling_variable_{i}" for i in range(9)]
    drawing = xdsm(closed(Model(made("a", " ".join(names), *names))))
    (solver,) = [cell for cell in cells(drawing) if cell.kind == "solver"]
    assert solver.lines[1:4] == ("cut at coupling_variable_0", "coupling_variable_1", "… 7 more")
    assert all(name in solver.tooltip for name in names)


def test_a_solver_with_tolerances_as_arrays_is_drawn() -> None:
    tolerance: Any = jnp.asarray(1e-6)
    drawing = xdsm(closed(sellar(), optx.Newton(rtol=tolerance, atol=1e-8)))
    (solver,) = [cell for cell in cells(drawing) if cell.kind == "solver"]
    assert solver.lines[2] == "rtol 1e-06, atol 1e-08"


def test_a_solver_without_tolerances_is_drawn_without() -> None:
    cycle, others = sellar().cycles[0], sellar().components[2:]
    graph = Graph((Closure(cycle=cycle, cut=("y_2",), solver=object()), *others))
    (solver,) = [cell for cell in cells(xdsm(graph)) if cell.kind == "solver"]
    assert solver.lines == ("1, 4→2: object", "cut at y2")


def test_the_cut_variable_goes_from_the_solver_to_its_readers_and_back_from_its_writer() -> None:
    drawing = xdsm(closed(sellar()))
    text, kinds = text_at(drawing), kinds_at(drawing)
    assert (text[0, 1], kinds[0, 1]) == ("y2(0)", "guess")
    assert (text[1, 2], kinds[1, 2]) == ("y2t", "target")
    assert (text[3, 1], kinds[3, 1]) == ("y2", "value")
    assert (3, 2) not in text


def test_other_data_stands_in_its_writers_row_and_its_readers_column() -> None:
    data = {(2, 3): "y1", (2, 4): "y1", (2, 5): "y1", (3, 4): "y2", (3, 5): "y2"}
    assert drawn_as(xdsm(closed(sellar())), "data") == data


def test_inputs_stand_in_the_top_row_and_outputs_in_the_left_column() -> None:
    drawing = xdsm(closed(sellar()))
    inputs = {(0, 2): "x1, z1, z2", (0, 3): "z1, z2", (0, 4): "x1, z2"}
    outputs = {(2, 0): "y1", (3, 0): "y2", (4, 0): "f", (5, 0): "g1, g2"}
    assert drawn_as(drawing, "input") == inputs
    assert drawn_as(drawing, "output") == outputs


def test_an_open_cycle_is_drawn_with_feedback_below_the_diagonal() -> None:
    drawing = xdsm(sellar().graph)
    assert diagonal(drawing) == ["1: d1", "2: d2", "3: objective", "4: constraints"]
    assert drawn_as(drawing, "feedback") == {(2, 1): "y2"}
    assert not drawn_as(drawing, "solver", "guess", "target", "value")


def test_an_open_component_that_reads_its_own_output_says_so() -> None:
    (component,) = [
        cell for cell in cells(xdsm(Model(made("a", "u_1 p", "u_1")).graph)) if cell.kind == "component"
    ]
    assert component.lines == ("1: a", "reads its own u1")


def test_each_cycle_has_its_solver_before_it() -> None:
    stations = ["1, 4→2: Newton", "2: a", "3: b", "5, 8→6: Newton", "6: c", "7: d", "9: end"]
    assert diagonal(xdsm(closed(two_cycles()))) == stations


def test_a_solver_inside_a_solver_has_its_numbers_inside_the_others() -> None:
    stations = ["1, 7→2: Newton", "2: a", "3, 6→4: Newton", "4: b", "5: c", "8: end"]
    assert diagonal(xdsm(nested_cycles().graph)) == stations


def test_what_two_solvers_find_is_tried_by_each_for_those_it_drives_alone() -> None:
    drawing = xdsm(nested_cycles().graph)
    assert drawn_as(drawing, "target") == {(1, 2): "ct", (3, 4): "ct"}
    assert drawn_as(drawing, "value") == {(5, 1): "c", (5, 3): "c"}
    assert drawn_as(drawing, "guess") == {(0, 1): "c(0)", (0, 3): "c(0)"}
    assert drawn_as(drawing, "data")[5, 6] == "c"


def test_after_an_inner_solver_the_outer_one_runs_next() -> None:
    assert _process(nested_cycles(), 6) == {(0, 1), (1, 2), (2, 3), (3, 4), (4, 2), (2, 0), (0, 5)}


def test_unknowns_of_residuals_come_from_their_solver_and_their_residuals_go_back() -> None:
    drawing = xdsm(closed(circuit()))
    assert drawn_as(drawing, "unknown") == {(1, 2): "V1, V2", (1, 3): "V1, V2"}
    assert drawn_as(drawing, "residual") == {(2, 1): "R(V1)", (3, 1): "R(V2)"}
    assert drawn_as(drawing, "data") == {(1, 4): "V1, V2"}
    assert drawn_as(drawing, "output") == {(1, 0): "V1, V2", (4, 0): "P"}


def test_an_open_rate_is_drawn_with_its_state() -> None:
    drawing = xdsm(Model(made("spring", "x k", "v", kind=Kind.RATE), made("energy", "v", "e")).graph)
    assert drawn_as(drawing, "data") == {(1, 2): "v"}
    (spring, _) = [cell for cell in cells(drawing) if cell.kind == "component"]
    assert "gives the rate of v" in spring.tooltip


def test_what_a_cycle_gives_to_others_comes_from_its_components() -> None:
    text = text_at(xdsm(closed(two_cycles())))
    assert text[3, 5] == "b"
    assert text[6, 7] == "d"


def test_a_long_list_is_shortened_and_whole_in_its_tooltip() -> None:
    (last,) = [cell for cell in cells(xdsm(closed(long_names()))) if (cell.row, cell.column) == (0, 11)]
    assert last.lines[-1] == "… 26 more"
    assert all(f"parameter_9_{k}" in last.tooltip for k in range(27))


def test_a_components_tooltip_tells_its_place_units_and_description() -> None:
    graph = Model(made("a", "x", "y", units="kg", description="mass of the wing")).graph
    (component,) = [cell for cell in cells(xdsm(graph)) if cell.kind == "component"]
    assert component.tooltip.startswith("a (drawn.py:")
    assert "reads x" in component.tooltip
    assert "writes y [kg]: mass of the wing" in component.tooltip


def test_a_name_too_long_for_a_line_is_broken_in_two() -> None:
    model = Model(made("aerodynamics_of_the_main_wing_with_its_flaps", "x", "y"))
    (component,) = [cell for cell in cells(xdsm(model.graph)) if cell.kind == "component"]
    assert component.lines == ("1: aerodynamics_of_the_", "main_wing_with_its_flaps")


def test_names_are_escaped() -> None:
    text = text_at(xdsm(Model(made('<b> & "c"', "x<1", "y&amp;")).graph))
    assert text == {(1, 1): '1: <b> & "c"', (0, 1): "x<1", (1, 0): "y&amp;"}


def test_control_characters_do_not_break_the_file() -> None:
    assert text_at(xdsm(Model(made("a\x00b", "x", "y")).graph))[1, 1] == "1: a\N{REPLACEMENT CHARACTER}b"


def test_the_process_lines_lead_from_each_step_to_the_next_and_back_to_the_solver() -> None:
    steps = {(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 5), (5, 3), (3, 6)}
    assert _process(two_cycles().close(NEWTON), 7) == steps


def _process(model: Model, count: int) -> set[tuple[int | None, int | None]]:
    """Returns from which of the `count` stations to which process lines lead."""
    drawing = xdsm(model.graph)
    found = {(cell.row, cell.column): cell for cell in cells(drawing)}
    stations = [found[at, at] for at in range(1, count + 1)]
    lines = [_ends(line) for line in ET.fromstring(drawing.svg).iter(f"{SVG}polyline")]
    return {(_at(stations, start), _at(stations, end)) for start, end in lines} - {(None, None)}


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
    drawing = xdsm(closed(two_cycles()))
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


SAYINGS = {
    "component": "component",
    "solver": "solver of a cycle",
    "target": "cut here",
    "residual": "until its residual",
    "feedback": "fed back",
}


@pytest.mark.parametrize(
    ("model", "explained"),
    [
        (sellar(), {"component", "feedback"}),
        (sellar().close(NEWTON), {"component", "solver", "target"}),
        (circuit().close(NEWTON), {"component", "solver", "residual"}),
    ],
)
def test_the_legend_explains_what_is_drawn_and_no_more(model: Model, explained: set[str]) -> None:
    root = ET.fromstring(xdsm(model.graph).svg)
    (legend,) = [group for group in root.iter(f"{SVG}g") if group.get("data-kind") == "legend"]
    said = "".join(legend.itertext())
    assert {kind for kind, words in SAYINGS.items() if words in said} == explained


def test_the_drawing_is_described_for_those_who_cannot_see_it() -> None:
    root = ET.fromstring(xdsm(closed(sellar())).svg)
    assert root.attrib["role"] == "img"
    assert root.findtext(f"{SVG}title") == "XDSM of d1, d2, objective, constraints"
    described = root.findtext(f"{SVG}desc", "")
    assert "1, 4→2: Newton solves the cycle d1 + d2 for y_2" in described
    assert "y_1 from d1 to d2" in described


def test_the_drawing_acts_on_nothing_around_it() -> None:
    for element in ET.fromstring(xdsm(closed(sellar())).svg).iter():
        assert element.tag not in (f"{SVG}style", f"{SVG}script")
        assert not {"id", "class"} & set(element.attrib)


def test_the_paper_is_white_so_that_dark_pages_can_show_it() -> None:
    root = ET.fromstring(xdsm(sellar().graph).svg)
    paper = root.find(f"{SVG}rect")
    assert paper is not None
    assert paper.attrib["fill"] == "#ffffff"
    assert (paper.attrib["width"], paper.attrib["height"]) == (root.attrib["width"], root.attrib["height"])


def test_a_notebook_shows_the_svg_and_a_file_holds_it(tmp_path: Path) -> None:
    drawing = xdsm(closed(sellar()))
    drawing.save(tmp_path / "sellar.svg")
    assert drawing._repr_svg_() == drawing.svg
    assert ET.tostring(ET.parse(tmp_path / "sellar.svg").getroot()) == ET.tostring(ET.fromstring(drawing.svg))


def test_equal_models_give_equal_drawings() -> None:
    assert xdsm(closed(two_cycles())) == xdsm(closed(two_cycles()))


def test_a_model_without_inputs_is_drawn() -> None:
    assert text_at(xdsm(Graph([made("a", "", "y")]))) == {(1, 1): "1: a", (1, 0): "y"}


def test_a_drawing_prints_as_its_title_and_size() -> None:
    assert repr(xdsm(closed(sellar()))).startswith("<XDSM of d1, d2, objective, constraints: SVG, ")
