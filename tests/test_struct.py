"""`struct`: names for sizes, and what they become."""

from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax._errors import StageError
from couplax._sizes import INTEGERS, _computed, _parsed, shape_at, size_at, solved, symbols_in
from couplax._struct import with_sizes


def test_a_struct_holds_the_sizes_and_the_default_dtype_of_jax() -> None:
    made = cpx.struct("batch", 3)
    assert (made.shape, made.dtype) == (("batch", 3), np.float64)
    with jax.enable_x64(False):
        assert cpx.struct(2).dtype == np.float32
    assert cpx.struct("n", dtype="int32").dtype == np.int32


def test_equal_names_are_equal_sizes_in_all_arguments() -> None:
    x, rest = with_sizes([cpx.struct("n", 2), {"y": jax.ShapeDtypeStruct(("2*n", "m"), jnp.float32)}])
    assert rest["y"].shape[0] == 2 * x.shape[0]
    assert rest["y"].shape[1] != x.shape[0]
    assert rest["y"].dtype == np.float32


def test_names_join_the_scope_of_sizes_that_jax_made() -> None:
    (n,) = jax.export.symbolic_shape("n")
    theirs, ours = with_sizes([jax.ShapeDtypeStruct((n,), jnp.float32), cpx.struct("n")])
    assert theirs.shape[0] == ours.shape[0]


def test_arguments_without_names_are_given_back_as_they_are() -> None:
    array = np.ones(3)
    (given,) = with_sizes([array])
    assert given is array


NO_NAMES = ["a b", "2x", "", "lambda", "a, b", "...", "a/2", "1"]


@pytest.mark.parametrize("size", [*NO_NAMES, -1, 2.5, True, None])
def test_a_struct_refuses_what_is_no_size(size: Any) -> None:
    with pytest.raises(cpx.StageError, match=r"struct\(3, .*is no size of an axis"):
        cpx.struct(3, size)


@pytest.mark.parametrize("size", NO_NAMES)
def test_what_is_no_size_in_a_struct_of_jax_is_refused_with_its_place(size: str) -> None:
    with pytest.raises(cpx.StageError, match=r"args\[0\]\['y'\].*is no size of an axis"):
        with_sizes([{"y": jax.ShapeDtypeStruct(("n", size), jnp.float32)}])


EXPRESSIONS = {
    "n": lambda n, m: n,
    "2*n + 1": lambda n, m: 2 * n + 1,
    "n^2 - m": lambda n, m: n**2 - m,
    "floordiv(n - 9, 2)": lambda n, m: (n - 9) // 2,
    "-1*floordiv(-1*n, 2)": lambda n, m: -(-n // 2),
    "mod(n, 3)": lambda n, m: n % 3,
    "max(max(n, m), 4)": lambda n, m: max(n, m, 4),
    "min(n, m) + 3*n*m": lambda n, m: min(n, m) + 3 * n * m,
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_size_is_computed_as_python_computes_it(text: str) -> None:
    (size,) = jax.export.symbolic_shape(text)
    for n, m in ((1, 7), (6, 2), (11, 11)):
        assert size_at(size, {"n": n, "m": m}) == EXPRESSIONS[text](n, m)


def test_names_are_solved_for_in_any_order() -> None:
    sizes = jax.export.symbolic_shape("3*n + 2*m + 1, m, k - 2, mod(k, 5)")
    symbols = {"n": 5, "m": 3, "k": 9}
    assert solved(list(zip(sizes, shape_at(sizes, symbols), strict=True))) == symbols


def test_a_name_that_no_size_gives_stays_out() -> None:
    sizes = jax.export.symbolic_shape("n*m, floordiv(k, 2)")
    assert solved(list(zip(sizes, (6, 4), strict=True))) == {}
    assert symbols_in(sizes[0]) == {"n", "m"}


def test_a_size_of_another_form_is_refused_with_what_serves() -> None:
    with pytest.raises(StageError, match=r"`sqrt\(n\)` is of a form.*`floordiv`.*give an integer"):
        _computed(_parsed("sqrt(n) + 1"), {"n": 4}, INTEGERS)
