"""Cases of ONNX rules: functions with inputs, edge values among them; a module a family."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

FLOATS = (np.float32, np.float64)
REALS = (np.float16, *FLOATS)
SIGNED = (np.int8, np.int16, np.int32, np.int64)
INTEGERS = (*SIGNED, np.uint8, np.uint16, np.uint32, np.uint64)
ALL = (*REALS, *INTEGERS)
EVERY = (*ALL, np.bool_)
LOGIC = (np.bool_, *INTEGERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A function with inputs: `args` from a dtype to the arrays; `units` in the last place may differ.

    Attributes:
        whole: the units are those of the largest magnitude of an output, as for sums of many terms.
    """

    name: str
    fn: Callable[..., Any]
    args: Callable[[Any], tuple[Any, ...]]
    dtypes: tuple[Any, ...] = FLOATS
    units: float = 0
    whole: bool = False


def edges(dtype: Any) -> np.ndarray:
    """Returns the values at which rules go wrong."""
    if jnp.issubdtype(dtype, jnp.floating):
        large, tiny = jnp.finfo(dtype).max, jnp.finfo(dtype).tiny
        some = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            0.3,
            -0.7,
            3.7,
            1e-3,
            -1e-9,
            20.5,
            -33.3,
            700.0,
            -1e4,
        ]
        return np.array([*some, np.nan, np.inf, -np.inf, large, -large, tiny, -tiny], dtype)
    if dtype == np.bool_:
        return np.array([True, False])
    limits = np.iinfo(dtype)
    some = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, 3, 5, 7, 31, 100]
    return np.array([*some, *(-1, -2, -5) * (limits.min < 0)], dtype)


def one(dtype: Any) -> tuple[np.ndarray]:
    return (edges(dtype),)


def moderate(dtype: Any) -> tuple[np.ndarray]:
    """Returns numbers on both sides of zero, away from where gamma has poles or its logarithm zeros."""
    return (
        np.array([-7.3, -2.6, -0.4, 0.1, 0.6, 0.9, 1.2, 1.7, 2.4, 2.9, 3.1, 5.5, 9.9, 10.1, 44.0], dtype),
    )


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns every pair of edge values."""
    left, right = np.meshgrid(edges(dtype), edges(dtype))
    return left.ravel(), right.ravel()


def matrix(*shape: int) -> Callable[[Any], tuple[np.ndarray]]:
    """Returns a maker of one array of numbers without order."""

    def make(dtype: Any) -> tuple[np.ndarray]:
        return (
            np.random.default_rng(7).permutation(np.arange(np.prod(shape)) - 3).reshape(shape).astype(dtype),
        )

    return make


def matrices(*shapes: tuple[int, ...]) -> Callable[[Any], tuple[np.ndarray, ...]]:
    """Returns a maker of arrays of normal numbers."""

    def make(dtype: Any) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(8)
        return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)

    return make


def with_nan(dtype: Any) -> tuple[np.ndarray]:
    """Returns rows with NaN and infinities among them."""
    rows = [[1, 5, 3, 5], [2, np.nan, 9, 1], [np.inf, 2, np.nan, 0], [-np.inf, -np.inf, -np.inf, -np.inf]]
    return (np.array(rows, dtype),)


def indexed(*indices: Any, shape: tuple[int, ...] = (4, 5)) -> Callable[[Any], tuple[Any, ...]]:
    """Returns a maker of an array and integer indices."""
    return lambda dtype: (*matrix(*shape)(dtype), *(np.asarray(index, np.int32) for index in indices))


def unary(
    name: str, fn: Callable[..., Any], units: float = 0, dtypes: tuple[Any, ...] = REALS, **more: Any
) -> Case:
    return Case(name=name, fn=fn, args=one, units=units, dtypes=dtypes, **more)


def binary(
    name: str, fn: Callable[..., Any], units: float = 0, dtypes: tuple[Any, ...] = REALS, **more: Any
) -> Case:
    return Case(name=name, fn=fn, args=pairs, units=units, dtypes=dtypes, **more)
