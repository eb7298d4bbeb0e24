"""Names as they are drawn: subscripts, wrapping, shortening."""

import pytest

from couplax.view._style import DENSE
from couplax.view._text import Line, Notation, Piece, Shift, broken, named, plain, wrapped


def pieces(name: str) -> list[str]:
    return [piece.text for piece in named(name)]


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("y_1", ["y", "1"]),
        ("C_L", ["C", "L"]),
        ("wing.y_10", ["wing.y", "10"]),
        ("rho_inf", ["rho", "inf"]),
        ("η_c", ["η", "c"]),
    ],
)
def test_an_index_is_drawn_below(name: str, drawn: list[str]) -> None:
    assert pieces(name) == drawn
    assert named(name)[1].shift is Shift.SUB


@pytest.mark.parametrize("name", ["fuel_mass", "x", "y_", "_1", "a_b_c", "y_total", "x1", "1_2"])
def test_other_names_are_drawn_as_they_are(name: str) -> None:
    assert pieces(name) == [name]


def test_a_superscript_stands_after_the_index() -> None:
    assert named("y_2", Notation(superscript="t")) == (
        Piece("y"),
        Piece("2", Shift.SUB),
        Piece("t", Shift.SUPER),
    )


@pytest.mark.parametrize(
    ("notation", "drawn"),
    [(Notation(before="R(", after=")"), "R(y1)"), (Notation(before="d", after="/dt"), "dy1/dt")],
)
def test_residuals_and_rates_have_a_notation_of_their_own(notation: Notation, drawn: str) -> None:
    assert Line(named("y_1", notation)).text == drawn


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    name = f"propulsion_system_{'x' * 40}_result_7"
    (piece,) = named(name)
    assert len(piece.text) == 36
    assert piece.text.startswith("propulsion_system_")
    assert piece.text.endswith("_result_7")


def test_a_few_names_stand_on_one_line_with_commas() -> None:
    assert [line.text for line in wrapped([named("x_1"), named("z")])] == ["x1, z"]


def test_more_names_are_wrapped() -> None:
    lines = wrapped([named(f"temperature_of_part_{i}") for i in range(3)])
    assert [line.text for line in lines] == [f"temperature_of_part_{i}" for i in range(3)]


def test_many_names_are_shortened_with_their_number() -> None:
    names = [f"y_{i}" for i in range(60)]
    lines = wrapped([named(name) for name in names])
    shown = ", ".join(line.text for line in lines[:-1]).split(", ")
    assert len(lines) == 3
    assert lines[-1].text == f"… {60 - len(shown)} more"
    assert shown == [name.replace("_", "") for name in names[: len(shown)]]


def test_every_line_is_as_narrow_as_asked_unless_one_name_is_wider() -> None:
    lines = wrapped([named(f"name{'n' * (i % 7)}") for i in range(30)])
    assert all(line.width <= 190.0 for line in lines)


def test_where_there_is_little_room_the_number_of_names_is_said() -> None:
    assert [line.text for line in wrapped([named(f"temperature_{i}") for i in range(9)], DENSE)] == [
        "9 variables"
    ]
    assert [line.text for line in wrapped([named("x"), named("z_1")], DENSE)] == ["x, z1"]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("drag", ("drag",)),
        ("wing.aerodynamics", ("wing.", "aerodynamics")),
        ("landing_gear_front", ("landing_", "gear_front")),
        ("aerodynamicsofthewing", ("aerodynamicsofthewing",)),
    ],
)
def test_a_long_name_is_broken_near_its_middle_where_a_part_ends(name: str, parts: tuple[str, ...]) -> None:
    assert broken(name, 14) == parts


# Advance widths of Helvetica, in thousandths of the size, from Adobe's font metrics.
HELVETICA = {
    "a": 556,
    "i": 222,
    "m": 833,
    "w": 722,
    "W": 944,
    "M": 833,
    "A": 667,
    "O": 778,
    "1": 556,
    "_": 556,
}


@pytest.mark.parametrize("character", HELVETICA)
def test_the_width_is_no_less_than_the_fonts(character: str) -> None:
    width = plain(character * 10, size=1.0).width
    # A single wide capital may be narrower than the font's, since names mix them: a tenth is the margin.
    assert width >= 0.9 * HELVETICA[character] / 100


def test_scripts_are_narrower() -> None:
    assert Line((Piece("111", Shift.SUB),)).width < plain("111").width
