"""What is drawn as one: by name, by neighbourhood, as asked for and by itself."""

import xml.etree.ElementTree as ET

import pytest

from couplax import Model
from couplax._errors import ModelError
from couplax.view import Drawing, Driver, matrix, xdsm
from view.drawn import (
    NEWTON,
    SVG,
    cells,
    chain,
    circuit,
    closed,
    crowd,
    diagonal,
    drawn_as,
    groups,
    made,
    nested_cycles,
    ring,
    sellar,
    two_cycles,
)


def tooltip(drawing: Drawing, name: str) -> str:
    """Returns the tooltip of the station with this name."""
    (found,) = [cell.tooltip for cell in cells(drawing) if cell.row == cell.column and name in cell.lines[0]]
    return found


def test_few_components_stand_one_by_one_whatever_their_names() -> None:
    assert diagonal(xdsm(groups(2, 4).graph)) == [
        f"{number}: g{number // 5}.part_{(number - 1) % 4}" for number in range(1, 9)
    ]


def test_many_components_of_groups_are_drawn_as_their_groups() -> None:
    drawing = xdsm(closed(groups(5, 8)))
    assert diagonal(drawing) == ["1, 7→2: Newton", *(f"{number + 2}: g{number}" for number in range(5))]
    assert len(drawn_as(drawing, "group")) == 5


def test_a_group_says_how_many_it_is_and_its_tooltip_which() -> None:
    drawing = xdsm(closed(groups(5, 8)))
    (group, *_) = [cell for cell in cells(drawing) if cell.kind == "group"]
    assert group.lines[1] == "8 components"
    assert all(f"g0.part_{part}" in group.tooltip for part in range(8))


def test_between_groups_flows_only_what_others_read() -> None:
    drawing = xdsm(closed(groups(5, 8)))
    data = {(group + 2, group + 3): f"g{group}.v7" for group in range(4)}
    assert drawn_as(drawing, "data") == data
    assert drawn_as(drawing, "value") == {(6, 1): "g4.v7"}


def test_names_are_collapsed_no_further_than_needed() -> None:
    inner = [f"plane.{part}.{i}" for part in ("wing", "tail") for i in range(12)]
    model = Model(*(made(name, f"y_{i}", f"y_{i + 1}") for i, name in enumerate([*inner, "cost"])))
    assert diagonal(xdsm(model.graph)) == ["1: plane.wing", "2: plane.tail", "3: cost"]


def test_a_model_is_never_one_group() -> None:
    model = Model(*(made(f"plane.{i}", f"y_{i}", f"y_{i + 1}") for i in range(25)))
    assert len(diagonal(xdsm(model.graph))) == 25


def test_an_optimiser_stays_where_all_that_it_drives_is_one_group() -> None:
    model = Model(*(made(f"plane.{i}", f"y_{i}", f"y_{i + 1}") for i in range(5)))
    driver = Driver(name="BFGS", design=("y_0",), objective="y_5")
    drawing = xdsm(model.graph, driver=driver, collapse=["plane"])
    assert diagonal(drawing) == ["1, 3→2: BFGS", "2: plane"]


def test_a_group_can_be_kept_open() -> None:
    names = [text.split(": ")[1] for text in diagonal(xdsm(closed(groups(5, 8)), expand=["g1"]))]
    assert names == ["Newton", "g0", *(f"g1.part_{part}" for part in range(8)), "g2", "g3", "g4"]


def test_a_part_of_a_group_can_be_kept_open_without_the_rest() -> None:
    parts = [
        f"{group}.{part}.{i}" for group in ("wing", "tail") for part in ("box", "skin") for i in range(6)
    ]
    model = Model(*(made(name, f"y_{i}", f"y_{i + 1}") for i, name in enumerate(parts)))
    names = [text.split(": ")[1] for text in diagonal(xdsm(model.graph, expand=["wing.box"], most=8))]
    assert names == [*(f"wing.box.{i}" for i in range(6)), "wing.skin", "tail"]


def test_what_is_named_is_collapsed_and_nothing_else() -> None:
    drawing = xdsm(groups(5, 8).graph, collapse=["g1", "g3"])
    names = [cell.lines[1] for cell in cells(drawing) if cell.kind == "group"]
    assert names == ["g1", "g3"]
    assert len(drawn_as(drawing, "component")) == 24


def test_nothing_is_collapsed_where_nothing_is_named() -> None:
    assert len(diagonal(xdsm(chain(70).graph, collapse=()))) == 70


def test_a_closed_cycle_is_collapsed_by_its_name() -> None:
    drawing = xdsm(closed(sellar()), collapse=["d1 + d2"])
    assert diagonal(drawing) == ["1: d1 + d2", "2: objective", "3: constraints"]
    assert drawn_as(drawing, "data") == {(1, 2): "y1, y2", (1, 3): "y1, y2"}
    assert not drawn_as(drawing, "guess", "target", "value")
    assert "Newton solves the cycle d1 + d2 for y_2" in tooltip(drawing, "d1 + d2")


def test_an_inner_cycle_is_collapsed_inside_the_outer_one() -> None:
    drawing = xdsm(nested_cycles().graph, collapse=["b + c"])
    assert diagonal(drawing) == ["1, 4→2: Newton", "2: a", "3: b + c", "5: end"]
    assert drawn_as(drawing, "value") == {(3, 1): "c"}
    assert drawn_as(drawing, "target") == {(1, 2): "ct"}


def test_residuals_solved_inside_a_group_are_values_outside() -> None:
    model = circuit().close(NEWTON)
    drawing = xdsm(model.graph, collapse=[model.closures[0].name])
    assert drawn_as(drawing, "data") == {(1, 2): "V1, V2"}
    assert not drawn_as(drawing, "unknown", "residual")


def test_a_group_in_a_cycle_with_others_stays_inside_the_cycle() -> None:
    model = Model(made("w.a", "z", "x"), made("w.b", "x", "y"), made("tail", "y p", "z")).close(
        NEWTON, cut="z"
    )
    drawing = xdsm(model.graph, collapse=["w"])
    assert diagonal(drawing) == ["1, 4→2: Newton", "2: w", "3: tail"]
    assert drawn_as(drawing, "target") == {(1, 2): "zt"}


def test_members_apart_come_together_where_the_order_is_free() -> None:
    model = Model(made("w.a", "x", "a"), made("between", "x", "b"), made("w.b", "a b", "c"))
    drawing = xdsm(model.graph, collapse=["w"])
    assert diagonal(drawing) == ["1: between", "2: w"]
    assert drawn_as(drawing, "data") == {(1, 2): "b"}


def test_members_stay_apart_where_what_is_between_needs_one_and_feeds_another() -> None:
    model = Model(
        made("w.a", "x", "a"), made("w.b", "a", "b"), made("between", "b", "c"), made("w.c", "c", "d")
    )
    assert diagonal(xdsm(model.graph, collapse=["w"])) == ["1: w", "2: between", "3: w.c"]


def test_a_long_chain_is_drawn_in_a_few_pieces_of_like_size() -> None:
    drawing = xdsm(chain(400).graph)
    sizes = [int(cell.lines[1].split()[0]) for cell in cells(drawing) if cell.kind == "group"]
    assert sum(sizes) == 400
    assert len(sizes) == 20
    assert max(sizes) == 20


def test_a_piece_of_a_chain_is_named_by_its_ends() -> None:
    assert diagonal(xdsm(chain(100).graph))[:2] == ["1: c0 … c4", "2: c5 … c9"]


def test_what_the_names_of_both_ends_share_is_said_once() -> None:
    model = Model(*(made(f"wing.cell_{i}", f"y_{i}", f"y_{i + 1}") for i in range(100)))
    assert diagonal(xdsm(model.graph))[0] == "1: wing.cell_0 … 4"


def test_a_large_ring_keeps_its_solver() -> None:
    drawing = xdsm(closed(ring(200), cut="y_199"))
    assert len(drawn_as(drawing, "solver")) == 1
    assert len(diagonal(drawing)) <= 20


def test_where_there_are_no_chains_neighbours_are_drawn_as_one() -> None:
    drawing = xdsm(closed(crowd(200)))
    assert len(diagonal(drawing)) <= 20
    said = " ".join(cell.tooltip for cell in cells(drawing))
    assert all(f"discipline_{i}" in said for i in range(1, 201))


def test_a_limit_of_ones_own_is_kept() -> None:
    assert len(diagonal(xdsm(chain(40).graph, most=5))) == 5


def test_a_matrix_collapses_by_the_same_rules() -> None:
    model = groups(5, 8).close(NEWTON)
    drawn = ET.fromstring(matrix(model.graph, most=20).svg).iter(f"{SVG}g")
    assert sum(group.get("data-kind") == "component" for group in drawn) == 5


@pytest.mark.parametrize("draw", [xdsm, matrix])
@pytest.mark.parametrize("argument", ["collapse", "expand"])
def test_a_name_that_nothing_has_is_refused_with_close_matches(draw: object, argument: str) -> None:
    with pytest.raises(ModelError, match=r"`g2.part` is no component, .* Close: `g1.part_2`"):
        draw(groups(2, 3).graph, **{argument: ["g2.part"]})  # pyright: ignore[reportCallIssue]  both take them


@pytest.mark.parametrize("name", ["a + b", "a", "c + d"])
def test_names_of_cycles_and_components_are_known(name: str) -> None:
    assert xdsm(closed(two_cycles()), collapse=[name]).svg.startswith("<svg")
