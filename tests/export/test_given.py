"""What is not to be exported is refused in a sentence or two, before anything is written."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from couplax._errors import ExportError, StageError
from couplax.export import to_onnx, to_stablehlo


def positive(x: Any) -> Any:
    return x[x > 0]


def clipped(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def sized(x: Any, count: Any) -> Any:
    return jnp.zeros(int(count)) + x


def pair(x: Any, y: Any) -> Any:
    return x + y["left"]


STRUCT = jax.ShapeDtypeStruct((3,), jnp.float64)

FAULTS: dict[str, tuple[tuple[Any, ...], str]] = {
    "no function": ((3.0, 1.0), "A function is wanted first, then its arguments; what came first is 3.0 of"),
    "arguments the wrong way round": (
        (np.ones(3), jnp.sin),
        "what came first is array([1., 1., 1.]) of type",
    ),
    "too few": ((pair, 1.0), "and 1 positional arguments do not fit it: missing a required argument: 'y'"),
    "too many": ((positive, 1.0, 2.0), "The function takes (x: Any) -> Any, and 2 positional arguments do"),
    "text": (
        (pair, 1.0, {"left": "a"}),
        "Argument `y.left` is 'a' of type str; an array, a number or a struct",
    ),
    "an object": ((positive, object), "of type type; an array, a number or a struct is wanted"),
    "a shape that depends on numbers": (
        (positive, np.ones(3)),
        "values that only a run gives, at test_given.py",
    ),
    "a branch that depends on numbers": ((clipped, np.ones(3)), "(clipped): "),
    "a size that depends on numbers": ((sized, 1.0, 3), "(sized): "),
}


@pytest.mark.parametrize("export", [to_onnx, to_stablehlo])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_in_few_words(export: Callable[..., Any], fault: str) -> None:
    given, words = FAULTS[fault]
    with pytest.raises((ExportError, StageError)) as raised:
        export(*given)
    assert words in str(raised.value)
    assert len(str(raised.value)) < 500


def test_what_cannot_be_traced_is_told_with_the_user_s_line() -> None:
    with pytest.raises(
        StageError, match=rf"test_given.py:{positive.__code__.co_firstlineno + 1} \(positive\)"
    ):
        to_onnx(positive, np.ones(3))


def test_an_export_of_what_is_being_traced_is_refused() -> None:
    with pytest.raises(ExportError, match="Argument `x` is being traced"):
        jax.jit(lambda y: to_onnx(lambda x: x + 1, y))(1.0)


@pytest.mark.parametrize("transform", [jax.jit, jax.grad])
def test_a_function_that_closes_over_what_is_being_traced_is_refused(transform: Callable[..., Any]) -> None:
    def inside(y: Any) -> Any:
        to_onnx(lambda x: x * y, 1.0)
        return y

    with pytest.raises(StageError, match=r"closes over what is being traced, float64\[\]"):
        transform(inside)(2.0)


@pytest.mark.parametrize(
    "value", [2**40, np.array([1, -(2**40)]), np.uint64(2**33), 1e300, np.array([1e-3, 1e39])]
)
def test_numbers_that_32_bits_do_not_hold_are_refused_without_x64(value: Any) -> None:
    with (
        jax.enable_x64(False),
        pytest.raises(ExportError, match="`x` holds numbers beyond what 32 bits hold"),
    ):
        to_onnx(lambda x: x + 1, value)


def test_a_struct_of_64_bits_is_refused_without_x64() -> None:
    with (
        jax.enable_x64(False),
        pytest.raises(ExportError, match="struct of float64, and JAX computes in float32"),
    ):
        to_onnx(lambda x: x + 1, STRUCT)


@pytest.mark.parametrize("value", [1.5, 7, np.array([1.0, np.inf, np.nan]), np.array([2**31 - 1]), True])
def test_numbers_that_32_bits_hold_go_out_without_x64(value: Any) -> None:
    with jax.enable_x64(False):
        assert len(to_onnx(lambda x: x, value, verify=False).graph.input) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_an_array_closed_over_that_holds_nan_is_refused_with_its_place(dtype: Any) -> None:
    weights = np.ones((2, 3), dtype)
    weights[1, 2] = np.nan
    with pytest.raises(ExportError, match=rf"{np.dtype(dtype).name}\[2,3\], holds NaN at \[1, 2\]"):
        to_onnx(lambda x: x * weights, weights)


def test_infinities_and_fills_of_nan_are_numbers_like_others() -> None:
    bounds = np.array([-np.inf, 0.0, np.inf])
    empty = np.full(3, np.nan)
    proto = to_onnx(lambda x: (jnp.maximum(x, bounds), jnp.where(x > 0, x, empty), x * jnp.nan), np.ones(3))
    assert len(proto.graph.output) == 3
