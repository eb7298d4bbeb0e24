"""Whether a component returns what its outputs promise."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from couplax._tree import Struct, describe, struct_of

from ._variables import Input, Output

_ARRAYS = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


def broken_promises(
    variables: Sequence[Input | Output], values: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yields what came and what was declared, for each of `variables` that is not as declared in `values`."""
    for variable in variables:
        if (variable.shape is None and variable.dtype is None) or variable.name not in values:
            continue
        value = values[variable.name]
        came = struct_of(value) if _is_array(value) else None
        if came is None or not _fits(variable, came):
            said = f"a {type(value).__name__}" if came is None else describe(came)
            yield f"`{variable.name}` as {said}", _declared(variable)


def _is_array(value: object) -> bool:
    """Returns whether `value` has a shape and a dtype, as a Python number has for JAX."""
    return isinstance(value, _ARRAYS)


def _fits(variable: Input | Output, came: Struct) -> bool:
    """Returns whether `came` is what is declared, so far as anything is."""
    if variable.shape is not None and came.shape != tuple(variable.shape):
        return False
    # Without double precision a promise of float64 is one of float32.
    return variable.dtype is None or came.dtype == jax.dtypes.canonicalize_dtype(variable.dtype)


def _declared(variable: Input | Output) -> str:
    """Returns what is declared, in words."""
    if variable.dtype is None:
        return f"the shape {variable.shape}"
    if variable.shape is None:
        return f"the dtype {np.dtype(variable.dtype).name}"
    return describe(Struct(variable.shape, variable.dtype))
