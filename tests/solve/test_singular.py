"""What is said of a singular Jacobian."""

from typing import Any

import numpy as np
import pytest

from couplax.solve._singular import singular_parts

NAMES = ("y_1", "y_2", "w[0]")
FULL = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 4.0], [5.0, 6.0, 0.0]])


def changed(*parts: tuple[Any, float]) -> np.ndarray:
    matrix = FULL.copy()
    for index, value in parts:
        matrix[index] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (changed(((slice(None), 1), 0.0)), "no residual depends on unknown `y_2`"),
        (changed(((2, slice(None)), 0.0)), "residual `r_3` depends on no unknown"),
        (
            changed(((slice(None), 0), 0.0), ((1, slice(None)), 0.0)),
            "no residual depends on unknown `y_1` and residual `r_2` depends on no unknown",
        ),
        (
            changed(((0, 2), np.inf), ((1, 2), np.nan)),
            "the derivative of residuals `r_1`, `r_2` with respect to unknown `w[0]` is infinite or NaN",
        ),
    ],
)
def test_a_row_or_column_without_a_number_is_named(matrix: np.ndarray, sentence: str) -> None:
    assert singular_parts(matrix, NAMES, ("r_1", "r_2", "r_3")) == sentence


def test_rows_and_columns_that_depend_on_each_other_are_named_and_no_others() -> None:
    # The first two rows say the same of `a` and `b`; the third is sound.
    matrix = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]])
    said = singular_parts(matrix, ("a", "b", "c"), ("r_1", "r_2", "r_3"))
    assert "combination of unknowns `a`, `b`:" in said
    assert "residuals `r_1`, `r_2` are dependent" in said


def test_units_do_not_hide_what_is_dependent() -> None:
    rows, columns = np.array([1e8, 1e-6, 1.0]), np.array([1e-3, 1e5, 1.0])
    matrix = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]]) * rows[:, None] * columns[None, :]
    said = singular_parts(matrix, ("a", "b", "c"), ("r_1", "r_2", "r_3"))
    assert "`a`, `b`" in said
    assert "`r_1`, `r_2`" in said
    assert "`c`" not in said


def test_of_many_names_five_are_shown_and_the_others_counted() -> None:
    said = singular_parts(np.zeros((8, 8)), [f"u[{i}]" for i in range(8)], [f"r[{i}]" for i in range(8)])
    assert "`u[4]` and 3 more" in said
    assert "`u[5]`" not in said
