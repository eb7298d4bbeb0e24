"""The upper halves of products of integers, in plain JAX code."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import compose_for

Array = Any


def mulhi(x: Array, y: Array) -> Array:
    """Returns the upper half of the bits of x y."""
    width = 8 * x.dtype.itemsize
    if width < 64:
        wide = np.dtype(f"{'u' * (x.dtype.kind == 'u')}int{2 * width}")
        product = x.astype(wide) * y.astype(wide)
        return lax.shift_right_arithmetic(product, jnp.asarray(width, wide)).astype(x.dtype)
    unsigned = _unsigned_mulhi(x.astype(np.uint64), y.astype(np.uint64))
    if x.dtype.kind == "u":
        return unsigned
    # Read as unsigned, a negative factor is 2^64 too large.
    return unsigned.astype(x.dtype) - jnp.where(x < 0, y, 0) - jnp.where(y < 0, x, 0)


def _unsigned_mulhi(x: Array, y: Array) -> Array:
    """Returns the upper half by the four products of the halves of x and y."""
    half = jnp.asarray(32, np.uint64)
    (low, high), (other_low, other_high) = ((v & np.uint64(0xFFFFFFFF), v >> half) for v in (x, y))
    first = high * other_low + ((low * other_low) >> half)
    second = low * other_high + (first & np.uint64(0xFFFFFFFF))
    return high * other_high + (first >> half) + (second >> half)


compose_for("mulhi", mulhi)
