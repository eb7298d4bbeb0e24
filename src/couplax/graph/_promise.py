"""Whether a component returns what its outputs promise."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from couplax._tree import Struct, describe, struct_of

from ._variables import Output

_ARRAYS = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


def broken_promises(outputs: Sequence[Output], values: Mapping[str, Any]) -> Iterator[str]:
    """Yields what came and what was promised, for each output that is not as promised."""
    for output in outputs:
        if output.shape is None and output.dtype is None:
            continue
        value = values[output.name]
        came = struct_of(value) if _is_array(value) else None
        if came is None or not _fits(output, came):
            said = f"a {type(value).__name__}" if came is None else describe(came)
            yield f"returned `{output.name}` as {said}, and the output promises {_promised(output)}"


def _is_array(value: object) -> bool:
    """Returns whether `value` has a shape and a dtype, as a Python number has for JAX."""
    return isinstance(value, _ARRAYS)


def _fits(output: Output, came: Struct) -> bool:
    """Returns whether `came` is what the output promises, so far as it does."""
    shape_fits = output.shape is None or came.shape == tuple(output.shape)
    # Without double precision a promise of float64 is one of float32.
    return shape_fits and (output.dtype is None or came.dtype == jax.dtypes.canonicalize_dtype(output.dtype))


def _promised(output: Output) -> str:
    """Returns the promise in words."""
    if output.dtype is None:
        return f"the shape {output.shape}"
    if output.shape is None:
        return f"the dtype {np.dtype(output.dtype).name}"
    return describe(Struct(output.shape, output.dtype))
