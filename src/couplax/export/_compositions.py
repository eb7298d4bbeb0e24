"""Rules by composition: plain JAX code in place of a primitive, staged and lowered like any other code."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from couplax.export._context import Context
from couplax.export._table import rule_for
from couplax.export._types import type_of
from couplax.stage import stage

Composition = Callable[..., Any]
"""`fn(*inputs, **params)`: the primitive in JAX operations that have rules."""

COMPOSITIONS: dict[str, Composition] = {}
"""What stands for a primitive, by its name."""


class NotWritten(Exception):
    """Raised by a composition on params that it does not serve: its text says what is not written."""


def composed(fn: Composition) -> Callable[..., Any]:
    """Returns the rule that lowers `fn`, called with the inputs and params of the primitive."""

    def rule(context: Context, *inputs: Any, **params: Any) -> Any:
        structs = [jax.ShapeDtypeStruct(type_of(value).shape, type_of(value).dtype) for value in inputs]
        try:
            closed = stage(partial(fn, **params), *structs).jaxpr
        except NotWritten as reason:
            raise context.refuse(str(reason)) from None
        pairs = zip(context.lower(closed, inputs), closed.out_avals, strict=True)
        outputs = [context.full(value, aval.shape) for value, aval in pairs]
        return outputs if context.eqn.primitive.multiple_results else outputs[0]

    return rule


def composed_beside(op_type: str, fn: Composition) -> Callable[..., Any]:
    """Returns the rule that writes an operator in float32, the one kernel there is, and else lowers `fn`."""

    def rule(context: Context, value: Any, **params: Any) -> Any:
        if type_of(value).dtype == np.float32:
            return context.op(op_type, value)
        return composed(fn)(context, value, **params)

    return rule


def compose_for(primitive: str, fn: Composition, *, broadcasts: bool = False) -> None:
    """Registers `fn` as what stands for `primitive`."""
    rule_for(primitive, broadcasts=broadcasts)(composed(fn))
    COMPOSITIONS[primitive] = fn
