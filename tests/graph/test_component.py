"""A component evaluated by name, and what it says of a function that returns something else."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from couplax._errors import ModelError
from couplax.graph import Component, component, output


def swap(a: Any, b: Any) -> Any:
    return b, a


def test_values_go_in_and_come_out_by_variable_name() -> None:
    made = component(swap, "a", "b", rename={"a": "left", "b": "right"})
    assert made.evaluate({"left": 1, "right": 2, "unread": 3}) == {"left": 2, "right": 1}


def test_a_component_prints_its_name_place_and_variables() -> None:
    made = component(swap, "x", "y", rename={"a": "wing.a"})
    assert repr(made) == f"<component swap ({made.place}): wing.a, b -> x, y>"


def test_a_component_is_called_like_its_function() -> None:
    made = component(swap, "x", "y")
    assert made(1, b=2) == (2, 1)


def test_one_output_is_the_returned_value_even_if_it_is_a_tuple() -> None:
    assert component(swap, "pair").evaluate({"a": 1, "b": 2}) == {"pair": (2, 1)}


def test_a_list_counts_as_a_tuple() -> None:
    made = component(lambda a: [a, -a], "x", "y")
    assert made.evaluate({"a": 1}) == {"x": 1, "y": -1}


def test_a_dict_is_read_by_the_functions_own_names_in_any_order() -> None:
    made = component(lambda a: {"y": -a, "x": a}, "x", "y", rename={"x": "wing.x"})
    assert made.evaluate({"a": 1}) == {"wing.x": 1, "y": -1}


def test_a_dict_with_the_one_output_is_read_by_name() -> None:
    assert component(lambda a: {"x": a}, "x").evaluate({"a": 1}) == {"x": 1}


def test_a_dict_with_other_keys_is_the_value_of_the_one_output() -> None:
    assert component(lambda a: {"u": a}, "x").evaluate({"a": 1}) == {"x": {"u": 1}}


def test_an_input_that_is_not_given_takes_the_functions_default() -> None:
    def shifted(a: float, by: float = 10.0) -> float:
        return a + by

    assert component(shifted, "x").evaluate({"a": 1.0}) == {"x": 11.0}


def test_a_component_is_differentiated_like_its_function() -> None:
    made = component(lambda a: jnp.sin(a) ** 2, "x")
    slope = jax.grad(lambda a: made.evaluate({"a": a})["x"])(0.3)
    # d/da sin(a)^2 = sin(2a).
    np.testing.assert_allclose(slope, np.sin(0.6), rtol=1e-14)


WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "nothing": (lambda a: None, r"returned None \(is a `return` missing\?\)"),
    "one array": (lambda a: np.ones(2), r"returned one value, float64\[2\]"),
    "one string": (lambda a: "no", "returned one value, a str"),
    "too many": (lambda a: (1, 2, 3), "returned 3 values"),
    "too few": (lambda a: [1], r"returned 1 value\."),
    "other keys": (lambda a: {"x": 1, "z": 2}, "returned a dict with `x`, `z`"),
}


@pytest.mark.parametrize("case", WRONG)
def test_another_result_than_the_outputs_is_named_with_the_place(case: str) -> None:
    fn, came = WRONG[case]
    made = component(fn, "x", "y", name="pair")
    with pytest.raises(ModelError, match=came) as caught:
        made.evaluate({"a": 1})
    assert re.search(r"`pair` \(test_component\.py:\d+\)", str(caught.value))
    assert "Wanted: a tuple of 2 values, or a dict, for `x`, `y`." in str(caught.value)


def test_a_missing_return_of_one_output_is_named() -> None:
    with pytest.raises(ModelError, match=r"returned None.*Wanted: one value for `x`"):
        component(lambda a: None, "x").evaluate({"a": 1})


def test_a_required_input_that_is_not_given_is_named() -> None:
    with pytest.raises(ModelError, match=r"`swap` .* was not given `b`, only `a`"):
        component(swap, "x", "y").evaluate({"a": 1})


def test_a_promised_shape_and_dtype_are_kept() -> None:
    made = component(lambda a: a, output("x", shape=(3,), dtype=jnp.float64))
    assert list(made.evaluate({"a": np.ones(3)})) == ["x"]


PROMISES: dict[str, tuple[dict[str, Any], Any, str]] = {
    "shape": ({"shape": (3,)}, np.ones(2), r"`x` as float64\[2\], and the output promises the shape \(3,\)"),
    "dtype": ({"dtype": "float64"}, np.ones(2, np.int32), r"`x` as int32\[2\].* the dtype float64"),
    "both": ({"shape": (), "dtype": jnp.float64}, np.ones(2), r"promises float64\[\]"),
    "no array": ({"shape": ()}, "text", "`x` as a str"),
}


@pytest.mark.parametrize("case", PROMISES)
def test_a_broken_promise_is_named(case: str) -> None:
    promise, value, said = PROMISES[case]
    made = component(lambda a: value, output("x", **promise))
    with pytest.raises(ModelError, match=said):
        made.evaluate({"a": 1})


def test_a_promise_is_checked_while_tracing() -> None:
    made = component(lambda a: a, output("x", shape=(3,)))
    with pytest.raises(ModelError, match=r"float64\[2\]"):
        jax.make_jaxpr(lambda a: made.evaluate({"a": a}))(np.ones(2))


def _parts(**changed: Any) -> Component:
    parts: dict[str, Any] = {"guess": np.ones(3), "fn": swap, "name": "c", "rename": {"a": "u"}} | changed
    fn: Callable[..., Any] = parts["fn"]
    written = output("x", guess=parts["guess"])
    return component(fn, written, "y", rename=parts["rename"], name=parts["name"])


def test_components_of_equal_parts_are_equal_also_with_arrays() -> None:
    assert _parts() == _parts()
    assert hash(_parts()) == hash(_parts())
    assert len({_parts(), _parts(guess=jnp.ones(3))}) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"guess": np.ones(4)},
        {"guess": np.full(3, 2.0)},
        {"guess": np.ones(3, np.float32)},
        {"guess": None},
        {"fn": lambda a, b: (a, b)},
        {"name": "d"},
        {"rename": {}},
    ],
    ids=["shape", "content", "dtype", "no guess", "function", "name", "variable"],
)
def test_components_of_other_parts_differ(changed: dict[str, Any]) -> None:
    assert _parts() != _parts(**changed)


def test_defaults_that_are_equal_in_python_and_not_in_jax_differ() -> None:
    def with_default(value: Any) -> Component:
        def fn(a: Any = value) -> Any:
            return a

        made = component(fn, "x")
        return component(swap, output("x", guess=made.inputs[0].default), "y")

    assert with_default(1) != with_default(1.0)
    assert with_default(1) != with_default(True)
    assert with_default(float("nan")) == with_default(float("nan"))
    assert with_default({"u": np.ones(2)}) == with_default({"u": np.ones(2)})
    assert with_default({"u": np.ones(2)}) != with_default({"v": np.ones(2)})
