"""Operations that move numbers about or are linear: they do to each part what they do to the whole."""

from functools import partial
from typing import Any

import jax

from couplax.export._compositions import COMPOSITIONS, NotWritten
from couplax.export._plain._table import PlainContext
from couplax.export._plain._values import Keys, Pair, Value
from couplax.stage import stage

_MOVES = frozenset(
    "broadcast_in_dim concatenate copy dynamic_slice dynamic_update_slice empty gather pad reshape rev "
    "scatter select_n slice split squeeze stack tile transpose unstack".split()
)
"""Primitives that move numbers about."""

_SUMS = frozenset(
    {"add", "add_any", "cumsum", "neg", "reduce_sum", "reduce_window_sum", "scatter-add", "sub"}
)
"""Primitives that are linear in all their numbers."""

BY_PARTS = _MOVES | _SUMS
"""Primitives that do to each part of a complex number what they do to the whole."""


def by_parts(context: PlainContext, values: list[Value]) -> Value:
    """Returns what the equation gives, each part by itself; other inputs, such as indices, serve them all."""
    name = context.eqn.primitive.name
    if any(isinstance(value, Keys) for value in values):
        if name not in _MOVES:
            raise context.refuse("it is not defined on random keys here")
        return _on_words(context, values)
    if name in COMPOSITIONS:
        return _composed(context, values)
    if name not in BY_PARTS:
        raise context.refuse("it is not written for complex numbers")
    real, imag = (_on_part(context, values, part) for part in ("real", "imag"))
    if context.eqn.primitive.multiple_results:
        return [Pair(*pair) for pair in zip(real, imag, strict=True)]
    return Pair(real, imag)


def _composed(context: PlainContext, values: list[Value]) -> Value:
    """Returns what JAX code that stands for the primitive gives, itself written in parts."""
    fn = partial(COMPOSITIONS[context.eqn.primitive.name], **context.eqn.params)
    structs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in context.in_avals]
    try:
        outputs = context.run(stage(fn, *structs).jaxpr, values)
    except NotWritten as reason:
        raise context.refuse(str(reason)) from None
    return outputs if context.eqn.primitive.multiple_results else outputs[0]


def _on_part(context: PlainContext, values: list[Value], part: str) -> Any:
    chosen = [getattr(value, part) if isinstance(value, Pair) else value for value in values]
    return context.eqn.primitive.bind(*chosen, **context.eqn.params)


def _on_words(context: PlainContext, values: list[Value]) -> Value:
    """Returns the outputs, the equation mapped over the words of the keys."""
    axes = [-1 if isinstance(value, Keys) else None for value in values]

    def one(*words: Any) -> Any:
        return context.eqn.primitive.bind(*words, **context.eqn.params)

    words = [value.words if isinstance(value, Keys) else value for value in values]
    mapped = jax.vmap(one, in_axes=axes, out_axes=-1)(*words)
    return jax.tree.map(Keys, mapped)
