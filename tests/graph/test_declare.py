"""How functions are declared as components, and which cannot be."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from couplax._errors import ModelError
from couplax.graph import REQUIRED, component, output


def lift(angle: float, speed: float = 2.0) -> float:
    return angle * speed


def test_the_decorator_reads_names_and_defaults_from_the_signature() -> None:
    @component("cl")
    def wing(angle: float, *, speed: float = 2.0) -> float:
        return angle * speed

    assert wing.name == "wing"
    assert [(read.name, read.default) for read in wing.inputs] == [("angle", REQUIRED), ("speed", 2.0)]
    assert [written.name for written in wing.outputs] == ["cl"]
    assert wing(3.0) == 6.0


def test_an_output_says_more_than_a_name() -> None:
    made = component(
        lift, output("cl", guess=1.0, units="1", shape=(), dtype=jnp.float64, description="lift")
    )
    (written,) = made.outputs
    assert (written.guess, written.units, written.shape, written.description) == (1.0, "1", (), "lift")


def test_rename_maps_parameters_and_outputs_to_variables() -> None:
    made = component(lift, output("cl", guess=1.0), rename={"angle": "wing.angle", "cl": "wing.cl"})
    assert [read.name for read in made.inputs] == ["wing.angle", "speed"]
    assert [(written.name, written.guess) for written in made.outputs] == [("wing.cl", 1.0)]
    assert made.parameters == ("angle", "speed")


class Callable_:
    def __call__(self, a: float) -> float:
        return a


class Wrapped:
    """Stands for a callable whose signature is that of what it wraps."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.__wrapped__ = fn
        self.__name__ = "wrapped_lift"

    def __call__(self, *args: Any) -> Any:
        return self.__wrapped__(*args)


NAMES: dict[str, tuple[Callable[..., Any], str | None, str]] = {
    "function": (lift, None, "lift"),
    "given": (lift, "d1", "d1"),
    "lambda": (lambda a: a, None, "y"),
    "named lambda": (lambda a: a, "d1", "d1"),
    "partial": (functools.partial(lift, speed=3.0), None, "lift"),
    "partial of a lambda": (functools.partial(lambda a, b: a, b=1), None, "y"),
    "callable object": (Callable_(), None, "y"),
    "wrapper": (Wrapped(lift), None, "wrapped_lift"),
}


@pytest.mark.parametrize("case", NAMES)
def test_a_component_takes_its_name_from_the_function_or_its_first_output(case: str) -> None:
    fn, given, name = NAMES[case]
    assert component(fn, "y", name=given).name == name


def test_parameters_are_read_through_a_wrapper() -> None:
    assert component(Wrapped(lift), "y").parameters == ("angle", "speed")


def test_a_bound_argument_of_a_partial_becomes_a_default() -> None:
    made = component(functools.partial(lift, speed=3.0), "y")
    assert made.inputs[1].default == 3.0
    assert made.evaluate({"angle": 2.0}) == {"y": 6.0}


def test_a_component_can_be_declared_anew_from_a_component() -> None:
    first = component(lift, "y")
    second = component(first, "z", name="second")
    assert second.fn is lift
    assert inspect.signature(first) == inspect.signature(lift)


def variadic(*values: float) -> float:
    return sum(values)


def keywords(**values: float) -> float:
    return sum(values.values())


def positional(a: float, /) -> float:
    return a


REFUSED: dict[str, tuple[Any, str]] = {
    "star": (variadic, r"`variadic` \(test_declare\.py:\d+\) takes `\*values`, which has no names"),
    "two stars": (keywords, r"takes `\*\*values`, which has no names"),
    "by position": (positional, "takes arguments by position only"),
    "ufunc": (np.sin, "`sin` .*(by position only|no signature)"),
    "jax function": (jnp.sin, "takes arguments by position only"),
    "builtin": (max, "`max` has no signature to read names from"),
    "no function": (3, r"came 3 \(int\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_function_whose_arguments_have_no_names_is_refused(case: str) -> None:
    fn, said = REFUSED[case]
    with pytest.raises(ModelError, match=said):
        component(fn, "y")


@pytest.mark.parametrize("wrong", [3, "", None, "y_1, y_2", "y 1", output("y_1,y_2")])
def test_an_output_that_is_no_name_is_refused(wrong: Any) -> None:
    with pytest.raises(ModelError, match=r"`lift` .* among its outputs. Wanted: one name each"):
        component(lift, "y", wrong)


def test_a_component_that_writes_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match=r"`lift` .* says nothing of what it writes. Write `@component"):
        component(lift)


def test_a_decorator_without_names_is_refused() -> None:
    with pytest.raises(ModelError, match="says nothing of what it writes"):
        component()(lift)


def test_every_unknown_name_in_rename_is_reported_with_its_close_matches() -> None:
    with pytest.raises(ModelError) as caught:
        component(lift, "y", rename={"angel": "a", "sped": "s"})
    assert len(caught.value.faults) == 2
    assert "renames `angel`, which is no parameter or output of it. Close: `angle`." in caught.value.faults[0]
    assert "It has `angle`, `speed`, `y`." in caught.value.faults[0]
