"""What stands for a random key and for a complex number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True, slots=True)
class Keys:
    """Random keys: their `words`, two or four, along one more axis at the end, uint32."""

    words: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True, slots=True)
class Pair:
    """Complex numbers: their `real` and `imag` parts."""

    real: Array
    imag: Array


Value = Any
"""An array of plain numbers, `Keys` or a `Pair`."""


def is_key(dtype: Any) -> bool:
    """Returns whether `dtype` is that of random keys."""
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def generator_of(keys: jax.ShapeDtypeStruct) -> str:
    """Returns the name of the generator that keys of a struct are of."""
    names: list[str] = []
    # JAX says it of keys and of their tracers, not of a struct.
    jax.eval_shape(lambda each: names.append(str(jax.random.key_impl(each))), keys)
    return names[0]


def is_complex(dtype: Any) -> bool:
    """Returns whether `dtype` is complex."""
    return jnp.issubdtype(dtype, jnp.complexfloating)


def is_odd(aval: Any) -> bool:
    """Returns whether values of `aval` are keys or complex numbers."""
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and (is_key(dtype) or is_complex(dtype))


def real_dtype(dtype: Any) -> np.dtype:
    """Returns the dtype of the parts of a complex one; a real one is its own."""
    return jnp.finfo(dtype).dtype if is_complex(dtype) else np.dtype(dtype)


def parts_of(value: Any) -> list[Array]:
    """Returns the plain arrays that stand for an array: itself, a key's words, or real and imaginary part."""
    return jax.tree.leaves(taken_apart(value))


def part_names(name: str, aval: Any) -> list[str]:
    """Returns the names of the arrays that stand for values of `aval`, named `name`."""
    return [f"{name}.real", f"{name}.imag"] if is_complex(aval.dtype) else [name]


def parted(names: Sequence[str], avals: Sequence[Any]) -> list[str]:
    """Returns the names of the arrays that stand for values of `avals`, named `names`."""
    pairs = zip(names, avals, strict=True)
    return [part for name, aval in pairs for part in part_names(name, aval)]


def part_structs(aval: Any) -> list[jax.ShapeDtypeStruct]:
    """Returns the structs of the arrays that stand for values of `aval`."""
    if is_key(aval.dtype):
        return [jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(aval.shape, aval.dtype))]
    return [jax.ShapeDtypeStruct(aval.shape, real_dtype(aval.dtype))] * (1 + is_complex(aval.dtype))


def taken_apart(value: Value) -> Value:
    """Returns `value`, as `Keys` or a `Pair` where it is an array of those."""
    if isinstance(value, Keys | Pair):
        return value
    dtype = jax.typeof(value).dtype
    if is_key(dtype):
        return Keys(jax.random.key_data(value))
    return Pair(np.real(value), np.imag(value)) if is_complex(dtype) else value


def put_together(parts: Sequence[Array], aval: Any) -> Value:
    """Returns the value of `aval` that `parts` stand for."""
    if is_key(aval.dtype):
        return Keys(*parts)
    return Pair(*parts) if is_complex(aval.dtype) else parts[0]
