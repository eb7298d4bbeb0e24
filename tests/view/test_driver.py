"""What drives a whole model: an optimiser, as an XDSM draws it."""

import pytest

from couplax._errors import ModelError
from couplax.view import Drawing, Driver, xdsm
from view.drawn import NEWTON, cells, circuit, closed, diagonal, drawn_as, kinds_at, nested_cycles, sellar

DESIGN = ("x_1", "z_1", "z_2")
MDF = Driver(name="SLSQP", design=DESIGN, objective="f", constraints=("g_1", "g_2"))
IDF = Driver(name="SLSQP", design=DESIGN, objective="f", constraints=("g_1", "g_2"), targets=("y_1", "y_2"))


def mdf() -> Drawing:
    return xdsm(closed(sellar()), driver=MDF)


def idf() -> Drawing:
    return xdsm(sellar().graph, driver=IDF)


def test_the_optimiser_runs_first_and_after_all_others_again() -> None:
    stations = ["1, 8→2: SLSQP", "2, 5→3: Newton", "3: d1", "4: d2", "6: objective", "7: constraints"]
    assert diagonal(mdf()) == stations


def test_design_variables_go_from_the_optimiser_to_their_readers() -> None:
    assert drawn_as(mdf(), "design") == {(1, 3): "x1, z1, z2", (1, 4): "z1, z2", (1, 5): "x1, z2"}
    assert not drawn_as(mdf(), "input")


def test_design_variables_start_above_the_optimiser_and_end_left_of_it() -> None:
    assert drawn_as(mdf(), "start") == {(0, 1): "x1(0), z1(0), z2(0)"}
    assert drawn_as(mdf(), "optimum") == {(1, 0): "x1*, z1*, z2*"}


def test_objective_and_constraints_go_back_to_the_optimiser() -> None:
    assert drawn_as(mdf(), "response") == {(5, 1): "f", (6, 1): "g1, g2"}


def test_the_solver_inside_still_finds_its_own() -> None:
    assert drawn_as(mdf(), "target") == {(2, 3): "y2t"}
    assert drawn_as(mdf(), "value") == {(4, 2): "y2"}


def test_an_optimiser_in_place_of_a_solver_tries_the_couplings() -> None:
    assert diagonal(idf()) == ["1, 6→2: SLSQP", "2: d1", "3: d2", "4: objective", "5: constraints"]
    assert drawn_as(idf(), "value") == {(2, 1): "y1", (3, 1): "y2"}
    assert not drawn_as(idf(), "data", "feedback")


def test_couplings_and_design_variables_for_one_reader_stand_in_one_box() -> None:
    assert drawn_as(idf(), "target") == {
        (1, 2): "x1, z1, z2, y2t",
        (1, 3): "y1t, z1, z2",
        (1, 4): "x1, z2, y1t, y2t",
        (1, 5): "y1t, y2t",
    }
    assert len(cells(idf())) == len(kinds_at(idf()))


def test_an_optimiser_holds_residuals_at_zero_in_place_of_a_solver() -> None:
    sand = Driver(name="SLSQP", design=("R",), objective="P", targets=("V_1", "V_2"))
    drawing = xdsm(circuit().graph, driver=sand)
    assert drawn_as(drawing, "residual") == {(2, 1): "R(V1)", (3, 1): "R(V2)"}
    assert drawn_as(drawing, "unknown")[1, 4] == "V1, V2"
    assert drawn_as(drawing, "optimum") == {(1, 0): "R*, V1*, V2*"}


def test_the_optimiser_says_what_it_minimises_and_its_tooltip_how() -> None:
    (optimiser,) = [cell for cell in cells(mdf()) if cell.kind == "optimiser"]
    assert optimiser.lines[1] == "minimises f"
    assert "SLSQP minimises f by changing x_1, z_1, z_2\nwithin limits of g_1, g_2" in optimiser.tooltip


def test_numbers_nest_three_deep() -> None:
    driver = Driver(name="BFGS", design=("q",), objective="f")
    stations = ["1, 10→2: BFGS", "2, 8→3: Newton", "3: a", "4, 7→5: Newton", "5: b", "6: c", "9: end"]
    assert diagonal(xdsm(nested_cycles().graph, driver=driver)) == stations


def test_a_design_variable_may_be_a_constraint_itself() -> None:
    driver = Driver(name="BFGS", design=("z_1",), objective="f", constraints=("z_1",))
    assert drawn_as(xdsm(closed(sellar()), driver=driver), "response") == {(5, 1): "f"}


@pytest.mark.parametrize(
    ("driver", "fault"),
    [
        (Driver(name="S", design=("z_3",), objective="f"), "`z_3` is no input of the model. Close: `z_2`"),
        (Driver(name="S", design=("z_1",), objective="F"), "`F` is no variable of the model. Close: `f`"),
        (Driver(name="S", design=("z_1",), objective="f", constraints=("g_3",)), "`g_3` is no variable"),
        (Driver(name="S", design=("z_1",), objective="f", targets=("y_3",)), "`y_3` is no output"),
    ],
)
def test_a_name_that_the_model_lacks_is_refused_with_close_matches(driver: Driver, fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        xdsm(sellar().close(NEWTON).graph, driver=driver)
