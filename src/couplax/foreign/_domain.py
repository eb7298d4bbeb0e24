"""What a code says of its inputs' numbers: their size, their precision, their bounds."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from couplax.foreign._code import Code
from couplax.foreign._differences import Point

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]


def point(code: Code, inputs: Arrays, outputs: Arrays) -> Point:
    """Returns the point at which differences of `code` are taken, with steps and bounds as the code says."""
    count = len(inputs)
    scales, bounds = _each(code.scale.value, count), _pairs(code.bounds.value, count)
    return Point(
        inputs=inputs,
        outputs=outputs,
        typical=[_typical(x, scale) for x, scale in zip(inputs, scales, strict=True)],
        epsilon=[_epsilon(code, x.dtype) for x in inputs],
        bounded=code.bounds.value is not None,
        lower=[_bound(x, pair[0], -np.inf) for x, pair in zip(inputs, bounds, strict=True)],
        upper=[_bound(x, pair[1], np.inf) for x, pair in zip(inputs, bounds, strict=True)],
    )


def _each(scale: Any, count: int) -> Sequence[Any]:
    return scale if isinstance(scale, tuple) else [scale] * count


def _pairs(bounds: Any, count: int) -> Sequence[Any]:
    if bounds is None or not any(isinstance(part, tuple | list) for part in bounds):
        return [bounds or (None, None)] * count
    return [pair or (None, None) for pair in bounds]


def _typical(x: Array, scale: Any) -> Array:
    if _spacing(x.dtype) == 0.0:
        return np.ones(x.shape)
    return np.maximum(np.maximum(np.abs(x), scale), _smallest(x.dtype))


def _bound(x: Array, bound: Any, default: float) -> Array:
    return _filled(default, x.shape) if bound is None else np.broadcast_to(bound, x.shape)


@lru_cache(maxsize=256)
def _filled(value: float, shape: tuple[int, ...]) -> Array:
    return np.full(shape, value)


def _epsilon(code: Code, dtype: np.dtype[Any]) -> float:
    own = _spacing(dtype)
    return own if code.precision is None else max(own, _spacing(np.dtype(code.precision)))


@lru_cache(maxsize=32)
def _spacing(dtype: np.dtype[Any]) -> float:
    return float(jnp.finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.inexact) else 0.0


@lru_cache(maxsize=32)
def _smallest(dtype: np.dtype[Any]) -> float:
    return float(jnp.finfo(dtype).tiny)
