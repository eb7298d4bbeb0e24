"""What couplax says of arrays: their structs, written as `float64[3]`."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

Struct = jax.ShapeDtypeStruct


def struct_of(value: ArrayLike | Struct) -> Struct:
    """Returns the shape and dtype that JAX gives `value`; a Python scalar takes JAX's default precision."""
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    array = value if isinstance(value, jax.Array | np.ndarray) else np.asarray(value)
    return Struct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def describe(value: ArrayLike | Struct) -> str:
    """Returns `value`'s struct as one word, such as `float64[3]`; a scalar is `float64[]`."""
    struct = struct_of(value)
    return f"{jnp.dtype(struct.dtype).name}[{','.join(str(size) for size in struct.shape)}]"
