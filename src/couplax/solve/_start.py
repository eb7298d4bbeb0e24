"""Where a solve starts: the guesses, in the shapes and dtypes in which the cycle writes its unknowns."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from couplax._errors import GuessError
from couplax._tree import describe
from couplax.graph import Cycle, Kind

Values = Mapping[str, Any]
Pass = Callable[..., tuple[dict[str, Any], dict[str, Any], Any]]


def start_of(
    cycle: Cycle, cut: tuple[str, ...], run: Pass, known: Values, guesses: Values, inner: Values
) -> dict[str, Any]:
    """Returns the guesses in the shapes and dtypes in which the cycle writes the unknowns.

    Args:
        run: one pass over the cycle, from what it reads, the unknowns and the guesses of cycles inside.
        guesses: of the unknowns in `cut`; `inner`: of those of the cycles closed inside.

    Raises:
        GuessError: a guess does not have the shape of its unknown.
    """

    def ends(start: Values) -> dict[str, Any]:
        return jax.eval_shape(run, dict(known), dict(start), dict(inner))[1]

    given = {name: jax.tree.map(_inexact, guesses[name]) for name in cut}
    shapes = _own_shapes(cycle, given, ends)
    start = {name: _fitted(cycle, name, given[name], shapes[name]) for name in cut}
    try:
        passed = ends(start)
    except TRACING_FAULTS as error:
        shown = ", ".join(f"`{name}`: {_described(value)}" for name, value in start.items())
        raise GuessError(
            f"Cycle `{cycle.name}` cannot be run from its guesses, {shown}: {str(error).rstrip('.')}. "
            "Pass guesses of the shapes that the cycle writes; where they are, the fault is in a component."
        ) from error
    for name in cut:
        _fitted(cycle, name, start[name], jax.tree.map(lambda struct: struct.shape, passed[name]))
    return jax.tree.map(lambda value, struct: value.astype(struct.dtype), start, passed)


TRACING_FAULTS = (TypeError, ValueError, IndexError, AttributeError)
"""What JAX and Python raise where shapes do not fit."""


def _own_shapes(cycle: Cycle, given: Values, ends: Callable[[Values], dict[str, Any]]) -> dict[str, Any]:
    """Returns the unknowns' shapes: as declared, else what the cycle makes of scalars, else the guesses'.

    A vector guess for a scalar unknown would run through many a cycle unseen, its operations being
    elementwise; so the guess has a say only where the cycle cannot be traced from scalars.
    """
    declared = {o.name: o.shape for node in cycle.nodes for o in node.outputs if o.shape is not None}
    shapes: dict[str, Any] = {name: declared.get(name, ()) for name in given}
    dtype = jax.dtypes.canonicalize_dtype(float)
    try:
        for _ in range(len(cycle.nodes) + 1):
            start = {name: jax.ShapeDtypeStruct(shapes[name], dtype) for name in given}
            written = {name: struct.shape for name, struct in ends(start).items()}
            if written == shapes:
                return shapes
            shapes = written
    except TRACING_FAULTS:
        # The cycle takes no scalars apart, or returns trees: the guesses alone can say.
        pass
    return {name: declared.get(name, jax.tree.map(jnp.shape, value)) for name, value in given.items()}


def _fitted(cycle: Cycle, name: str, guess: Any, shape: Any) -> Any:
    """Returns `guess`, spread over `shape` where it is a scalar."""
    came = jax.tree.map(jnp.shape, guess)
    if came == shape:
        return guess
    if came == () and isinstance(shape, tuple):
        return jnp.broadcast_to(guess, shape)
    writer = next(node for node in cycle.nodes if name in {output.name for output in node.outputs})
    if writer.kind is Kind.RESIDUAL:
        raise GuessError(
            f"{writer.described} returns a residual of shape {shape} for `{name}`, which starts with shape"
            f" {came}. Return a residual for each number of the unknown, or start with that shape,"
            f" guess={{{name!r}: ...}}."
        )
    raise GuessError(
        f"The guess of `{name}` has shape {came}, but {writer.described} writes `{name}` with "
        f"shape {shape}. "
        f"Pass a guess of that shape, guess={{{name!r}: ...}}, or a scalar; "
        "to solve for many at once use jax.vmap."
    )


def _described(value: Any) -> str:
    """Returns the struct of an array, or of the leaves of a tree."""
    return ", ".join(describe(leaf) for leaf in jax.tree.leaves(value))


def _inexact(value: Any) -> Array:
    array = jnp.asarray(value)
    return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(float)
