"""Tangents of what varies alone: what a rule is told does not move is not differentiated."""

from collections.abc import Callable
from typing import Any

import jax
from jax.custom_derivatives import SymbolicZero


def moved(fn: Callable[[Any], Any], values: Any, tangents: Any) -> tuple[Any, Any]:
    """Returns `fn(values)` and its tangent.

    Args:
        values: a pytree.
        tangents: like it, with a `SymbolicZero` for each leaf that does not move, which costs no call of a
            code outside JAX.
    """
    leaves, tree = jax.tree.flatten(values)
    moves = jax.tree.leaves(tangents, is_leaf=lambda leaf: isinstance(leaf, SymbolicZero))
    varying = [k for k, move in enumerate(moves) if not isinstance(move, SymbolicZero)]

    def changed(*new: Any) -> Any:
        merged = list(leaves)
        for k, leaf in zip(varying, new, strict=True):
            merged[k] = leaf
        return fn(jax.tree.unflatten(tree, merged))

    return jax.jvp(changed, [leaves[k] for k in varying], [moves[k] for k in varying])
