"""Integrals in time as they are drawn: states forward, rates back, trajectories to all others."""

import xml.etree.ElementTree as ET

import pytest

from couplax import Integrate, Model
from couplax.graph import Kind
from couplax.view import Drawing, Driver, matrix, xdsm
from view.drawn import NEWTON, SVG, cells, diagonal, drawn_as, made

SPRING = (
    made("launch", "height", "v_0"),
    made("spring", "x k t", "force"),
    made("motion", "v force mass", "x", "v", kind=Kind.RATE),
    made("energy", "x v mass", "e"),
)


def oscillator(**said: object) -> Model:
    """Returns a spring whose motion is integrated."""
    return Model(*SPRING).close(Integrate(span=(0, 10), **said))  # pyright: ignore[reportArgumentType]  of any kind


def drawn() -> Drawing:
    return xdsm(oscillator().graph)


def test_the_integration_stands_before_what_it_evaluates() -> None:
    assert diagonal(drawn()) == ["1: launch", "2, 5→3: Tsit5", "3: spring", "4: motion", "6: energy"]


def test_states_and_time_go_forward_and_rates_go_back() -> None:
    assert drawn_as(drawn(), "state") == {(2, 3): "x, t", (2, 4): "v"}
    assert drawn_as(drawn(), "rate") == {(4, 2): "dx/dt, dv/dt"}


def test_initial_states_go_into_the_integration_from_where_they_are_written() -> None:
    assert drawn_as(drawn(), "input")[0, 2] == "x0"
    assert drawn_as(drawn(), "data")[1, 2] == "v0"


def test_others_read_the_trajectory_of_the_integration() -> None:
    assert drawn_as(drawn(), "data") == {(1, 2): "v0", (2, 5): "x, v", (3, 4): "force"}
    assert drawn_as(drawn(), "output") == {(1, 0): "v0", (2, 0): "x, v, force, t", (5, 0): "e"}


def test_the_integration_says_its_span() -> None:
    (integration,) = [cell for cell in cells(drawn()) if cell.kind == "integration"]
    assert integration.lines[1] == "t from 0 to 10"
    assert integration.tooltip == "Tsit5 integrates x, v, t from 0 to 10"


def test_the_end_of_a_span_that_has_a_name_is_read() -> None:
    model = Model(*SPRING).close(Integrate(span=(0, "duration")))
    assert drawn_as(xdsm(model.graph), "input")[0, 2] == "x0, duration"


def test_what_ends_an_integral_goes_back_to_it() -> None:
    drawing = xdsm(oscillator(event="force").graph)
    assert drawn_as(drawing, "data")[3, 2] == "force"


def test_a_cycle_solved_inside_has_its_numbers_inside() -> None:
    parts = (made("a", "x b", "a"), made("b", "a", "b"), made("motion", "a", "x", kind=Kind.RATE))
    model = Model(*parts).close(NEWTON, cut="b").close(Integrate(span=(0, 1)))
    drawing = xdsm(model.graph)
    assert diagonal(drawing) == ["1, 7→2: Tsit5", "2, 5→3: Newton", "3: a", "4: b", "6: motion"]
    assert drawn_as(drawing, "value") == {(4, 2): "b"}
    assert drawn_as(drawing, "output") == {(1, 0): "x, a, b, t"}


def test_an_optimiser_drives_an_integration() -> None:
    driver = Driver(name="SLSQP", design=("k",), objective="e")
    drawing = xdsm(oscillator().graph, driver=driver)
    assert diagonal(drawing)[:3] == ["1, 8→2: SLSQP", "2: launch", "3, 6→4: Tsit5"]
    assert drawn_as(drawing, "design") == {(1, 4): "k"}
    assert drawn_as(drawing, "response") == {(6, 1): "e"}


def test_a_trajectory_itself_may_be_the_objective() -> None:
    driver = Driver(name="SLSQP", design=("k",), objective="x")
    assert drawn_as(xdsm(oscillator().graph, driver=driver), "response") == {(3, 1): "x"}


def test_an_integration_is_collapsed_by_the_name_of_its_rates() -> None:
    drawing = xdsm(oscillator().graph, collapse=["motion"])
    assert diagonal(drawing) == ["1: launch", "2: motion", "3: energy"]
    assert drawn_as(drawing, "data") == {(1, 2): "v0", (2, 3): "x, v"}
    assert drawn_as(drawing, "input") == {(0, 1): "height", (0, 2): "x0, k, mass", (0, 3): "mass"}


def marked(way: str) -> set[tuple[str | None, str | None]]:
    """Returns the cells of the oscillator's matrix that are marked in a way."""
    groups = ET.fromstring(matrix(oscillator().graph).svg).iter(f"{SVG}g")
    return {(g.get("data-row"), g.get("data-column")) for g in groups if g.get("data-kind") == way}


def test_a_matrix_marks_states_apart_and_frames_what_is_integrated() -> None:
    assert marked("integrated") == {("2", "1"), ("2", "2")}
    assert len(marked("integration")) == 1


def test_a_matrix_marks_who_writes_an_initial_state() -> None:
    assert marked("forward") == {("0", "2"), ("1", "2"), ("2", "3")}


@pytest.mark.parametrize("draw", [xdsm, matrix])
def test_the_legend_explains_states(draw: object) -> None:
    root = ET.fromstring(draw(oscillator().graph).svg)  # pyright: ignore[reportCallIssue]  both draw a graph
    (legend,) = [group for group in root.iter(f"{SVG}g") if group.get("data-kind") == "legend"]
    said = "".join(legend.itertext())
    assert "integration in time" in said
    assert "state" in said
