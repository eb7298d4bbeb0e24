"""Every ONNX rule: exported, checked, run in ONNX Runtime, compared with JAX, on edge values too."""

from typing import Any

import jax
import numpy as np
import pytest

from onnx_runtime import faults
from primitives_page import ELSEWHERE, LATER, PAGE, page, primitives_of, shown, shown_on
from rule_cases import Case
from rule_cases.table import CASES, TABLE

# Each case in one dtype, in double precision where it has that, on one of two Pythons; others now and then.
PARAMS = [
    pytest.param(
        case,
        dtype,
        id=f"{case.name}-{np.dtype(dtype).name}",
        marks=pytest.mark.long_table(2 if dtype is main else 8),
    )
    for case in CASES.values()
    for main in [np.float64 if np.float64 in case.dtypes else case.dtypes[0]]
    for dtype in case.dtypes
]


@pytest.mark.parametrize(("case", "dtype"), PARAMS)
def test_a_rule_gives_what_jax_gives(case: Case, dtype: Any) -> None:
    assert not faults(case.fn, *case.args(dtype), units=case.units, whole=case.whole)


def test_every_case_has_a_name_of_its_own() -> None:
    assert len(CASES) == len(TABLE)


NAMED = shown_on(PAGE.read_text(encoding="utf-8"))
ROWS = [pytest.param(each, name, id=f"{each}-{name}") for each, names in NAMED.items() for name in names]


def test_the_page_of_primitives_has_every_rule() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(NAMED), "run `make pages`"


# Every case is staged, which takes long: with the whole table alone.
@pytest.mark.long_table(0)
def test_the_page_of_primitives_names_the_cases_that_show_each_best() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(shown()), "run `make pages`"


def test_every_primitive_on_the_page_has_a_case() -> None:
    assert [each for each, names in NAMED.items() if not names] == sorted(ELSEWHERE)


@pytest.mark.long_table(10)
@pytest.mark.parametrize(("each", "name"), ROWS)
def test_a_case_shows_its_primitive(each: str, name: str) -> None:
    if each in LATER and jax.__version_info__ < (0, 12):
        pytest.skip(f"this JAX does not have `{each}`")
    assert each in primitives_of(CASES[name])
