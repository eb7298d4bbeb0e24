"""What a code says of its inputs' numbers: their size, their precision, their bounds."""

from collections.abc import Sequence
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
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return np.ones(x.shape)
    return np.maximum(np.maximum(np.abs(x), scale), np.finfo(x.dtype).tiny)


def _bound(x: Array, bound: Any, default: float) -> Array:
    return np.broadcast_to(default if bound is None else bound, x.shape)


def _epsilon(code: Code, dtype: np.dtype[Any]) -> float:
    dtypes = [dtype] if code.precision is None else [dtype, np.dtype(code.precision)]
    return max((float(jnp.finfo(d).eps) for d in dtypes if jnp.issubdtype(d, jnp.inexact)), default=0.0)
