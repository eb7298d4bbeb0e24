"""Every fault that the names of a model show, said in one message."""

from typing import Any

import numpy as np
import pytest

from couplax._errors import ModelError
from couplax.graph import Component, Graph, component


def one(a: float) -> float:
    return a


def two(a: float) -> float:
    return a


def faults(*given: Any) -> tuple[str, ...]:
    """Returns the faults of a model made of `given`, which has some."""
    with pytest.raises(ModelError) as caught:
        Graph(given)
    return caught.value.faults


def place(made: Component) -> str:
    return f"`{made.name}` (test_faults.py:{made.fn.__code__.co_firstlineno})"


def test_two_writers_of_one_name_are_both_placed() -> None:
    first, second = component(one, "y"), component(two, "y")
    (fault,) = faults(first, second)
    assert fault == (
        f"`y` is written by {place(first)} and {place(second)}. Rename all but one: `rename={{'y': ...}}`."
    )


def test_a_name_that_one_component_writes_twice_is_said() -> None:
    (fault,) = faults(component(one, "y", "x", "y"))
    assert fault.startswith("component `one`")
    assert "writes `y` 2 times" in fault


def test_two_components_of_one_name_are_both_placed() -> None:
    (fault,) = faults(component(one, "y", name="d"), component(two, "z", name="d"))
    assert fault.startswith("2 components are called `d` (test_faults.py:")
    assert fault.count("test_faults.py") == 2
    assert "`name=`" in fault


def test_a_component_given_twice_is_said_once() -> None:
    made = component(one, "y")
    (fault,) = faults(made, made)
    assert fault == f"component {place(made)} is given 2 times. Give it once."


def test_a_model_without_components_is_refused() -> None:
    (fault,) = faults()
    assert "no components" in fault
    assert "Model(d1, d2)" in fault


@pytest.mark.parametrize(
    ("stranger", "said"),
    [
        (one, "function `one` of type function"),
        (3.0, "`3.0` of type float"),
        (None, "`None` of type NoneType"),
    ],
)
def test_what_is_no_component_is_said_with_how_to_make_one(stranger: Any, said: str) -> None:
    (fault,) = faults(component(two, "y"), stranger)
    assert fault.startswith(f"argument 2, {said}, is no component.")
    assert '`component(fn, "y")`' in fault


def test_two_defaults_of_one_input_are_both_said() -> None:
    ones = np.ones(2)
    (fault,) = faults(component(lambda p=1.0: p, "y"), component(lambda p=ones: p, "z"))
    assert fault.startswith("input `p` has more than one default: 1.0 in `y`")
    assert "array([1., 1.]) in `z`" in fault


def test_two_defaults_of_a_name_that_is_written_are_no_fault() -> None:
    parts = (component(lambda p=1.0: p, "y"), component(lambda p=2.0: p, "z"), component(one, "p"))
    assert Graph(parts).defaults == {}


def test_all_faults_come_together() -> None:
    first, second = component(one, "y"), component(two, "y", "z", "z")
    found = faults(first, 3, second, first)
    assert [fault.split()[0] for fault in found] == ["argument", "component", "component", "`y`"]
