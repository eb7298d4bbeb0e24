"""The generator behind `rng_bit_generator`, and so behind keys of the kinds `rbg` and `unsafe_rbg`."""

from collections.abc import Sequence
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import NotWritten, compose_for

Array = Any

_ROUNDS = 10
_MULTIPLIERS = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
_WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)


def philox(key: Sequence[Array], counter: Sequence[Array]) -> list[Array]:
    """Returns the four words of Philox 4x32-10 at a key of two words and a counter of four, all uint32.

    Source: Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3", section 4.
    """
    (first, second), words = key, list(counter)
    for _ in range(_ROUNDS):
        high = [_upper_half(words[2 * k], int(_MULTIPLIERS[k])) for k in (0, 1)]
        low = [words[2 * k] * _MULTIPLIERS[k] for k in (0, 1)]
        words = [high[1] ^ words[1] ^ first, low[1], high[0] ^ words[3] ^ second, low[0]]
        first, second = first + _WEYL[0], second + _WEYL[1]
    return words


def _upper_half(word: Array, factor: int) -> Array:
    """Returns the upper half of a product of two words, by halves of each: there may be no wider integer."""
    half, lowest = np.uint32(16), np.uint32(0xFFFF)
    low, high = np.uint32(factor & 0xFFFF), np.uint32(factor >> 16)
    middle = (word >> half) * low + ((word & lowest) * low >> half)
    other = (word & lowest) * high + (middle & lowest)
    return (word >> half) * high + (middle >> half) + (other >> half)


def rng_bit_generator(
    state: Array, *, shape: Sequence[int], dtype: Any, algorithm: Any, out_sharding: None = None
) -> tuple[Array, Array]:
    """Returns the state after, and the bits, as XLA draws them on a CPU.

    The first half of the state is the key, and the upper half of the counter; its second half is the lower
    one, which goes up by one for each four words.
    """
    if algorithm not in (lax.RandomAlgorithm.RNG_DEFAULT, lax.RandomAlgorithm.RNG_PHILOX):
        raise NotWritten("of its algorithms only the default, Philox, is written")
    if state.dtype != np.uint32:
        raise NotWritten("its state is written as four numbers of uint32 only")
    words_each = max(np.dtype(dtype).itemsize // 4, 1)
    blocks = -(-prod(shape) * words_each // 4)
    key = state[0], state[1]
    counter = _sum([state[2], state[3], *key], np.arange(blocks, dtype=np.uint32))
    drawn = jnp.stack(philox(key, counter), axis=-1).reshape(-1)
    after = _sum([state[2], state[3]], np.uint32(blocks))
    return jnp.stack([*key, *after]), _typed(drawn, shape, np.dtype(dtype))


def _sum(words: Sequence[Array], more: Array) -> list[Array]:
    """Returns a number of several words, the lowest first, and one of one word added."""
    total: list[Array] = []
    for word in words:
        total.append(word + more)
        more = (total[-1] < word).astype(np.uint32)
    return total


def _typed(words: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
    count = prod(shape)
    if dtype.itemsize < 8:
        return words[:count].astype(dtype).reshape(shape)
    pairs = words[: 2 * count].astype(np.uint64).reshape(count, 2)
    return (pairs[:, 0] | (pairs[:, 1] << np.uint64(32))).reshape(shape)


compose_for("rng_bit_generator", rng_bit_generator)
