"""The design structure matrix as SVG: what is marked and framed, and that it can be read at any size."""

import itertools
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

from couplax import Model
from couplax.view import Drawing, matrix
from view.drawn import NEWTON, SVG, chain, circuit, closed, crowd, groups, made, nested_cycles, ring, sellar

WAYS = ("forward", "feedback", "cut", "integrated")


def kind(drawing: Drawing, *kinds: str) -> list[ET.Element]:
    """Returns the groups of these kinds."""
    return [g for g in ET.fromstring(drawing.svg).iter(f"{SVG}g") if g.get("data-kind") in kinds]


def marked(drawing: Drawing, *ways: str) -> set[tuple[int, int]]:
    """Returns the cells that are marked, each by row and column."""
    return {
        (int(mark.attrib["data-row"]), column)
        for mark in kind(drawing, *ways)
        for column in range(int(mark.attrib["data-column"]), int(mark.attrib["data-last"]) + 1)
    }


def framed(drawing: Drawing, *kinds: str) -> list[tuple[int, int]]:
    """Returns from where to where the frames reach."""
    return [(int(f.attrib["data-first"]), int(f.attrib["data-last"])) for f in kind(drawing, *kinds)]


def names(drawing: Drawing, which: str = "row-name") -> list[str]:
    return ["".join(name.find(f"{SVG}text").itertext()) for name in kind(drawing, which)]  # pyright: ignore[reportOptionalMemberAccess]  each has one


def tooltips(drawing: Drawing, *kinds: str) -> list[str]:
    return [group.findtext(f"{SVG}title", "") for group in kind(drawing, *kinds)]


def test_components_stand_on_both_axes_in_the_order_in_which_they_run() -> None:
    model = Model(made("last", "y", "z"), made("first", "x", "y"))
    drawing = matrix(model.graph)
    assert names(drawing) == names(drawing, "column-name") == ["first", "last"]


def test_a_mark_stands_in_its_writers_row_and_its_readers_column() -> None:
    drawing = matrix(closed(sellar()))
    assert marked(drawing, "forward") == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)}
    assert marked(drawing, "cut") == {(1, 0)}


def test_what_an_open_cycle_feeds_back_is_marked() -> None:
    drawing = matrix(sellar().graph)
    assert marked(drawing, "feedback") == {(1, 0)}
    assert not marked(drawing, "cut")


def test_what_a_solver_finds_is_marked_before_its_writer_too() -> None:
    drawing = matrix(closed(sellar(), cut="y_1"))
    assert names(drawing)[:2] == ["d2", "d1"]
    assert marked(drawing, "cut") == {(1, 0)}
    assert {(0, 2), (1, 2)} <= marked(drawing, "forward")


def test_a_residual_is_marked_on_the_diagonal() -> None:
    drawing = matrix(closed(circuit()))
    assert marked(drawing, "cut") == set(itertools.product((0, 1), (0, 1)))
    assert marked(drawing, "forward") == {(0, 2), (1, 2)}


def test_cycles_are_framed_open_ones_otherwise_than_closed_ones() -> None:
    assert framed(matrix(sellar().graph), "open") == [(0, 1)]
    assert framed(matrix(closed(sellar())), "solver") == [(0, 1)]


def test_a_cycle_inside_a_cycle_has_a_frame_inside_the_frame() -> None:
    assert framed(matrix(nested_cycles().graph), "solver") == [(0, 2), (1, 2)]


def test_tooltips_tell_the_variables_and_who_passes_them_to_whom() -> None:
    drawing = matrix(Model(made("a", "x", "u_1", "u_2"), made("b", "u_2 u_1", "y")).graph)
    assert tooltips(drawing, *WAYS) == ["u_2, u_1\nfrom a to b"]
    assert tooltips(matrix(sellar().graph), "feedback") == [
        "y_2\nfed back from d2 to d1, with no solver between"
    ]
    assert tooltips(matrix(closed(sellar())), "cut") == ["y_2\nfrom d2 to d1, found by a solver"]


def test_a_mark_of_several_variables_says_their_number() -> None:
    drawing = matrix(Model(made("a", "x", "u_1", "u_2"), made("b", "u_2 u_1", "y")).graph)
    (mark,) = kind(drawing, "forward")
    assert [text for text in mark.itertext() if text.strip().isdigit()] == ["2"]


def test_beside_a_frame_stands_what_closes_the_cycle() -> None:
    assert "Newton: y2" in "".join(ET.fromstring(matrix(closed(sellar())).svg).itertext())


def test_names_and_diagonal_have_the_tooltip_of_their_component() -> None:
    drawing = matrix(sellar().graph)
    for found in (tooltips(drawing, kind) for kind in ("row-name", "column-name", "component")):
        assert [text.split()[0] for text in found] == ["d1", "d2", "objective", "constraints"]


MODELS = {
    "two": Model(made("a", "x", "y"), made("b", "y", "z")),
    "sellar": sellar().close(NEWTON),
    "40": crowd().close(NEWTON),
    "120 with long names": groups(15, 8).close(NEWTON),
    "500 in a ring": ring(500).close(NEWTON, cut="y_499"),
}


@dataclass(frozen=True, slots=True)
class Written:
    """A text of a drawing, with the least room that it takes, turned texts turned back."""

    text: str
    size: float
    x: float
    y: float
    width: float
    anchor: str


def written(drawing: Drawing, which: str) -> list[Written]:
    found: list[Written] = []
    for group in kind(drawing, which):
        text = group.find(f"{SVG}text")
        assert text is not None
        x, y = (float(text.attrib[name]) for name in ("x", "y"))
        turned = group.get("transform", "")
        if turned:
            across, down = turned[len("translate(") : turned.index(")")].split()
            x, y = x - float(down), y + float(across)
        size, said = float(text.attrib["font-size"]), "".join(text.itertext())
        found.append(Written(said, size, x, y, 0.5 * size * len(said), text.attrib["text-anchor"]))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_names_can_be_read_and_do_not_overlap(name: str) -> None:
    drawing = matrix(MODELS[name].graph)
    for which in ("row-name", "column-name"):
        found = written(drawing, which)
        assert min(text.size for text in found) >= 8.5
        for one, other in itertools.pairwise(found):
            beside = other.anchor == "middle" and other.x - one.x > (one.width + other.width) / 2
            assert beside or other.y - one.y >= one.size


@pytest.mark.parametrize("name", MODELS)
def test_names_lie_on_the_paper_and_outside_the_cells(name: str) -> None:
    drawing = matrix(MODELS[name].graph)
    cells = kind(drawing, "component")[0].find(f"{SVG}rect")
    assert cells is not None
    for text in written(drawing, "row-name"):
        assert text.anchor == "end"
        assert 0 <= text.x - text.width
        assert text.x < float(cells.attrib["x"])


@pytest.mark.parametrize(("name", "count"), [("40", 40), ("500 in a ring", 100)])
def test_of_very_many_components_every_so_many_is_named(name: str, count: int) -> None:
    drawing = matrix(MODELS[name].graph)
    assert len(names(drawing)) == len(names(drawing, "column-name")) == count


@pytest.mark.parametrize("name", MODELS)
def test_the_matrix_fits_a_page(name: str) -> None:
    root = ET.fromstring(matrix(MODELS[name].graph).svg)
    assert float(root.attrib["width"]) < 1500
    assert float(root.attrib["height"]) < 1500


@pytest.mark.parametrize("name", MODELS)
def test_every_coupling_stands_in_a_tooltip_and_every_component(name: str) -> None:
    graph = MODELS[name].graph
    drawing = matrix(graph)
    said = {word for text in tooltips(drawing, *WAYS) for word in text.replace(",", " ").split()}
    assert {*graph.couplings} <= said
    assert {text.split()[0] for text in tooltips(drawing, "component")} == {
        component.name for component in graph.components
    }


def test_a_mark_that_a_solver_finds_is_seen_among_five_hundred() -> None:
    (mark,) = kind(matrix(MODELS["500 in a ring"].graph), "cut")
    shape = mark.find(f"{SVG}rect")
    assert shape is not None
    assert float(shape.attrib["width"]) >= 5
    assert float(shape.attrib["height"]) >= 5


def test_where_cells_are_tiny_marks_beside_each_other_are_one() -> None:
    readers = [made(f"c{i}", "y", f"z_{i}") for i in range(300)]
    model = Model(made("source", "x", "y"), *readers, made("end", "z_299", "f"))
    drawing = matrix(model.graph)
    (mark, last) = kind(drawing, "forward")
    assert mark.findtext(f"{SVG}title") == "y\nfrom source to 300 components, c0 to c299"
    assert last.findtext(f"{SVG}title") == "z_299\nfrom c299 to end"
    assert marked(drawing, "forward") == {*((0, column) for column in range(1, 301)), (300, 301)}


SAYINGS = {
    "forward": "the row writes what the column reads",
    "feedback": "fed back",
    "cut": "cut here",
    "open": "open cycle",
    "solver": "closed cycle",
}


@pytest.mark.parametrize(
    ("model", "explained"),
    [
        (chain(3), {"forward"}),
        (sellar(), {"forward", "feedback", "open"}),
        (sellar().close(NEWTON), {"forward", "cut", "solver"}),
    ],
)
def test_the_legend_explains_what_is_drawn_and_no_more(model: Model, explained: set[str]) -> None:
    (legend,) = kind(matrix(model.graph), "legend")
    said = "".join(legend.itertext())
    assert {what for what, words in SAYINGS.items() if words in said} == explained


def test_the_drawing_is_described_for_those_who_cannot_see_it() -> None:
    root = ET.fromstring(matrix(closed(sellar())).svg)
    assert root.attrib["role"] == "img"
    assert root.findtext(f"{SVG}title") == "Design structure matrix of d1, d2, objective, constraints"
    described = root.findtext(f"{SVG}desc", "")
    assert "cycle d1 + d2, closed by Newton" in described
    assert "d1 reads y_2 of d2" in described


def test_a_model_of_one_component_is_drawn(tmp_path: Path) -> None:
    drawing = matrix(Model(made("a", "x", "y")).graph)
    drawing.save(tmp_path / "matrix.svg")
    assert names(drawing) == ["a"]
    assert not marked(drawing, *WAYS)


def test_names_are_escaped() -> None:
    assert names(matrix(Model(made('<b> & "c"', "x<1", "y&amp;")).graph)) == ['<b> & "c"']
