"""Random numbers from keys: the generator's own code, which JAX holds with the keys, runs on their words."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax.export._plain._table import PlainContext, plain_rule
from couplax.export._plain._values import Keys, Value, is_key
from couplax.stage import finalise

_GENERATOR = "threefry2x32"


@cache
def _implementation() -> Any:
    """Returns the code of the generator, a param of the equation that makes a key from a seed."""
    closed = jax.make_jaxpr(lambda seed: jax.random.key(seed, impl=_GENERATOR))(np.int32(0))
    return next(eqn.params["impl"] for eqn in closed.eqns if "impl" in eqn.params)


def _check(context: PlainContext) -> None:
    """Returns nothing; raises where the keys are of another generator."""
    dtypes = [aval.dtype for aval in (*context.in_avals, *context.out_avals)]
    tag = f"key<{_implementation().tag}>"
    other = next((dtype.name for dtype in dtypes if is_key(dtype) and dtype.name != tag), None)
    if other is not None:
        raise context.refuse(f"only JAX's default generator, {_GENERATOR}, is written, and this is {other}")


def _each(fn: Callable[..., Any], words: Any, *more: Any) -> Any:
    """Returns `fn` of the two words of each key, and of what `more` holds for that key."""
    for _ in range(words.ndim - 1):
        fn = jax.vmap(fn)
    return fn(words, *more)


@plain_rule("random_wrap")
def _random_wrap(context: PlainContext, words: Any, impl: Any) -> Value:
    _check(context)
    return Keys(words)


@plain_rule("random_unwrap")
def _random_unwrap(context: PlainContext, keys: Keys) -> Value:
    return keys.words


@plain_rule("random_clone")
def _random_clone(context: PlainContext, keys: Keys) -> Value:
    return keys


@plain_rule("random_seed")
def _random_seed(context: PlainContext, seeds: Any, impl: Any) -> Value:
    _check(context)
    (seeds,) = context.typed([seeds])
    words = jax.vmap(_implementation().seed)(seeds.reshape(-1))
    return Keys(words.reshape(*seeds.shape, 2))


@plain_rule("random_bits")
def _random_bits(context: PlainContext, keys: Keys, bit_width: int, shape: Sequence[int]) -> Value:
    _check(context)
    return _each(lambda words: _implementation().random_bits(words, bit_width, tuple(shape)), keys.words)


@plain_rule("random_split")
def _random_split(context: PlainContext, keys: Keys, shape: Sequence[int]) -> Value:
    _check(context)
    return Keys(_each(lambda words: _implementation().split(words, tuple(shape)), keys.words))


@plain_rule("random_fold_in")
def _random_fold_in(context: PlainContext, keys: Keys, messages: Any) -> Value:
    _check(context)
    _, messages = context.typed([keys, messages])
    shape = context.out_avals[0].shape
    words = jnp.broadcast_to(keys.words, (*shape, 2))
    return Keys(_each(_implementation().fold_in, words, jnp.broadcast_to(messages, shape)))


@plain_rule("random_gamma")
def _random_gamma(context: PlainContext, keys: Keys, alpha: Any, log_space: bool) -> Value:
    """Returns what JAX's own code for it gives, which loops until it accepts a number."""
    _check(context)

    def whole(words: Any, alpha: Any) -> Any:
        return context.eqn.primitive.impl(jax.random.wrap_key_data(words), alpha, log_space=log_space)

    inner = jax.make_jaxpr(whole)(keys.words, alpha)
    (output,) = context.run(finalise(inner), [keys.words, alpha])
    return output
