"""The arrays that a function closes over."""

import jax
import jax.core
import jax.extend.core as jec

from couplax._errors import StageError
from couplax._tree import describe


def closed_over(closed: jec.ClosedJaxpr) -> tuple[jax.Array, ...]:
    """Returns the arrays that the function of `closed` closes over.

    Raises:
        StageError: one of them is being traced, so that it has no numbers yet.
    """
    arrays = tuple(closed.consts)
    traced = [
        describe(jax.ShapeDtypeStruct(array.shape, array.dtype))
        for array in arrays
        if isinstance(array, jax.core.Tracer)
    ]
    if traced:
        raise StageError(
            f"The function closes over what is being traced, {', '.join(traced)}: it is staged inside "
            "`jax.jit`, `grad` or `vmap`. Stage or export outside, or pass that array as an argument."
        )
    return arrays
