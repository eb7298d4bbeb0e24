"""The generator of JAX's random numbers, Threefry-2x32, bit for bit."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import compose_for

Array = Any

# Source: Salmon, Moraes, Dror & Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3", table 2 and
# section 3.3: 20 rounds, a word of the key added after every fourth.
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_ROUNDS_BY_FOUR = 5
_PARITY = np.uint32(0x1BD11BDA)


def _rotated(x: Array, places: int) -> Array:
    left, right = jnp.asarray(places, x.dtype), jnp.asarray(32 - places, x.dtype)
    return lax.shift_left(x, left) | lax.shift_right_logical(x, right)


def _threefry2x32(first_key: Array, second_key: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """Returns the two words of the block that the key makes of the counter (first, second)."""
    keys = (first_key, second_key, first_key ^ second_key ^ _PARITY)
    first, second = first + keys[0], second + keys[1]
    for turn in range(_ROUNDS_BY_FOUR):
        for places in _ROTATIONS[turn % 2]:
            first = first + second
            second = _rotated(second, places) ^ first
        first = first + keys[(turn + 1) % 3]
        second = second + keys[(turn + 2) % 3] + np.uint32(turn + 1)
    return first, second


def _iota_2x32_shape(shape: Sequence[int]) -> tuple[Array, Array]:
    """Returns the high and low words of 0, 1, 2, ... in an array of `shape`."""
    count = int(np.prod(shape, dtype=np.int64))
    if count > np.iinfo(np.uint32).max:
        raise ValueError(f"{count} random numbers at once are more than one 32-bit counter tells apart")
    low = lax.iota(np.uint32, count).reshape(shape)
    return jnp.zeros_like(low), low


compose_for("threefry2x32", _threefry2x32)
compose_for("iota_2x32_shape", _iota_2x32_shape, broadcasts=True)
