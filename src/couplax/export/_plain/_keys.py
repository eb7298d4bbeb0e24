"""Random numbers from keys: the generator's own code, which JAX holds with the keys, runs on their words."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from couplax.export._plain._table import PlainContext, plain_rule
from couplax.export._plain._values import Keys, Value, is_key
from couplax.stage import finalise

_GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")


@cache
def _implementations() -> dict[str, Any]:
    """Returns the code of each generator, a param of the equation that makes a key from a seed, by dtype."""
    closed = jax.make_jaxpr(lambda seed: [jax.random.key(seed, impl=name) for name in _GENERATORS])(0)
    found = [eqn.params["impl"] for eqn in closed.eqns if "impl" in eqn.params]
    return {f"key<{each.tag}>": each for each in found}


def _implementation(context: PlainContext) -> Any:
    """Returns the code of the generator that the keys are of; raises where it is none of JAX's own."""
    dtypes = [aval.dtype for aval in (*context.in_avals, *context.out_avals)]
    name = next(dtype.name for dtype in dtypes if is_key(dtype))
    if name not in _implementations():
        known = ", ".join(_GENERATORS)
        raise context.refuse(f"of the generators {known} are written, and this is {name}")
    return _implementations()[name]


def _each(fn: Callable[..., Any], words: Any, *more: Any) -> Any:
    """Returns `fn` of the two words of each key, and of what `more` holds for that key."""
    for _ in range(words.ndim - 1):
        fn = jax.vmap(fn)
    return fn(words, *more)


@plain_rule("random_wrap")
def _random_wrap(context: PlainContext, words: Any, impl: Any) -> Value:
    _implementation(context)
    return Keys(words)


@plain_rule("random_unwrap")
def _random_unwrap(context: PlainContext, keys: Keys) -> Value:
    return keys.words


@plain_rule("random_clone")
def _random_clone(context: PlainContext, keys: Keys) -> Value:
    return keys


@plain_rule("random_seed")
def _random_seed(context: PlainContext, seeds: Any, impl: Any) -> Value:
    (seeds,) = context.typed([seeds])
    words = jax.vmap(_implementation(context).seed)(seeds.reshape(-1))
    return Keys(words.reshape(*seeds.shape, -1))


@plain_rule("random_bits")
def _random_bits(context: PlainContext, keys: Keys, bit_width: int, shape: Sequence[int]) -> Value:
    draw = _implementation(context).random_bits
    return _each(lambda words: draw(words, bit_width, tuple(shape)), keys.words)


@plain_rule("random_split")
def _random_split(context: PlainContext, keys: Keys, shape: Sequence[int]) -> Value:
    split = _implementation(context).split
    return Keys(_each(lambda words: split(words, tuple(shape)), keys.words))


@plain_rule("random_fold_in")
def _random_fold_in(context: PlainContext, keys: Keys, messages: Any) -> Value:
    _, messages = context.typed([keys, messages])
    shape = context.out_avals[0].shape
    words = jnp.broadcast_to(keys.words, (*shape, keys.words.shape[-1]))
    return Keys(_each(_implementation(context).fold_in, words, jnp.broadcast_to(messages, shape)))


@plain_rule("random_gamma")
def _random_gamma(context: PlainContext, keys: Keys, alpha: Any, log_space: bool) -> Value:
    """Returns what JAX's own code for it gives, which loops until it accepts a number."""
    generator = _implementation(context).name

    def whole(words: Any, alpha: Any) -> Any:
        keys = jax.random.wrap_key_data(words, impl=generator)
        return context.eqn.primitive.impl(keys, alpha, log_space=log_space)

    inner = jax.make_jaxpr(whole)(keys.words, alpha)
    (output,) = context.run(finalise(inner), [keys.words, alpha])
    return output
