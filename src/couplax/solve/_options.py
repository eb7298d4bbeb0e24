"""What a solver is told of the unknowns through optimistix's `options`."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from couplax._errors import quoted


def changes_of(options: dict[str, Any], unknowns: PyTree[Array]) -> PyTree[bool]:
    """Returns for each leaf of `unknowns` whether f there is the change of the unknown through a pass.

    Args:
        options: `changes` is one Python bool, or a pytree of them like the unknowns; where it is absent
            nothing is known, and every f_i counts as a residual of units of its own.
    """
    return jax.tree.broadcast(options.get("changes", False), unknowns)


def check_iterates(options: dict[str, Any], unknowns: PyTree[Array], solver: str) -> None:
    """Raises where an unknown is known to have a residual of its own, which no iteration can pass on.

    Raises:
        ValueError: naming the unknowns.
    """
    changes = jax.tree.broadcast(options.get("changes", True), unknowns)
    named = jax.tree_util.tree_flatten_with_path(changes)[0]
    general = [jax.tree_util.keystr(path, simple=True, separator=".") for path, change in named if not change]
    if general:
        raise ValueError(
            f"{solver} repeats passes over a cycle, y <- g(y), but {quoted(general)} has a residual of its "
            "own and no new value from a pass. Close the cycle by couplax.Newton or couplax.Broyden, or give "
            "that residual a solver inside the cycle."
        )


def kept_within_bounds(options: dict[str, Any], trial: PyTree[Array]) -> PyTree[Array]:
    """Returns `trial` projected into the box of `lower` and `upper`, each one number or a pytree of them."""

    def clipped(value: Array, lower: Any, upper: Any) -> Array:
        return jnp.clip(value, jnp.asarray(lower, value.dtype), jnp.asarray(upper, value.dtype))

    if "lower" not in options and "upper" not in options:
        return trial
    lower = jax.tree.broadcast(options.get("lower", -jnp.inf), trial)
    upper = jax.tree.broadcast(options.get("upper", jnp.inf), trial)
    return jax.tree.map(clipped, trial, lower, upper)
