"""Values as few words."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from couplax.solve._numbers import is_finite, text_of

TEXTS: list[tuple[Any, str]] = [
    (1.0, "1"),
    (jnp.float64(1 / 3), "0.333333333333"),
    (np.float32(0.5), "0.5"),
    (3, "3"),
    (True, "True"),
    (1 + 2j, "1+2j"),
    (np.array([1.0, 2.5]), "[1.  2.5]"),
    (np.arange(4).reshape(2, 2), "[[0 1] [2 3]]"),
    (np.linspace(-1, 1, 9), "float64[9] min -1, max 1"),
    (np.arange(12).reshape(3, 4), "int64[3,4] min 0, max 11"),
    (np.arange(10) % 2 == 0, "bool[10] 5 true"),
    (np.array([np.nan] * 9), "float64[9] 9 of 9 NaN or infinite"),
    (np.array([0.0] * 8 + [np.inf]), "float64[9] min 0, max 0, 1 of 9 NaN or infinite"),
    (np.full(9, 3 + 4j), "complex128[9] absolute, min 5, max 5"),
    ({"a": 1.0, "b": (2, np.nan)}, "['a'] 1, ['b'][0] 2, ['b'][1] nan"),
    ((), "none"),
    ("text", "text"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_a_value_is_told_in_one_line(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_digits_are_those_asked_for() -> None:
    assert text_of(np.pi, 4) == "3.142"
    assert text_of(np.array([np.pi]), 8) == "[3.1416]"


@pytest.mark.parametrize(
    "bad", [np.nan, np.inf, [1.0, -np.inf], {"a": jnp.array([0.0, np.nan])}, np.nan * 1j]
)
def test_nan_and_infinities_are_found_in_trees(bad: Any) -> None:
    assert not is_finite(bad)
    assert not is_finite({"good": 1, "bad": bad})


def test_integers_booleans_and_nothing_are_finite() -> None:
    assert is_finite({"a": 1, "b": np.array([True]), "c": (), "d": np.array([], float)})
