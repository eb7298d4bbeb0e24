"""Conversions between dtypes, as JAX makes them."""

from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import composed
from couplax.export._context import Context
from couplax.export._table import rule_for
from couplax.export._types import type_of


@rule_for("convert_element_type", broadcasts=True)
def _convert_element_type(
    context: Context, value: Any, new_dtype: Any, weak_type: bool, sharding: None = None
) -> Any:
    dtype = np.dtype(new_dtype)
    if jnp.issubdtype(type_of(value).dtype, jnp.floating) and dtype.kind in "iu":
        return _to_integer(context, value, dtype)
    if dtype == jnp.bfloat16:
        # Nothing but a cast back is done in it, no broadcast either.
        value = context.full(value, context.out.shape)
    return context.cast(value, dtype)


def _to_integer(context: Context, value: Any, dtype: np.dtype) -> Any:
    """Returns the integer part, the nearest integer there is beyond the range, and 0 for NaN.

    ONNX leaves open what a cast does there; ONNX Runtime gives what the processor gives.
    """
    if type_of(value).dtype.itemsize < 4:
        value = context.cast(value, np.float32)
    floating, limits = type_of(value).dtype, np.iinfo(dtype)
    low, high = context.like(value, limits.min), context.like(value, _largest_below(floating, limits.max))
    within = context.op("Min", context.op("Max", value, low), high)
    wide = np.dtype(np.int64) if dtype.itemsize < 8 else dtype
    whole = context.cast(context.cast(within, wide), dtype)
    if _largest_below(floating, limits.max) < limits.max:
        above = context.op("Greater", value, high, dtype=bool)
        whole = context.where(above, context.constant(limits.max, dtype), whole)
    return context.where(context.op("IsNaN", value, dtype=bool), context.constant(0, dtype), whole)


def _largest_below(floating: np.dtype, limit: int) -> Any:
    """Returns the largest number of a floating dtype that is not above `limit`."""
    nearest = floating.type(limit)
    return nearest if int(nearest) <= limit else np.nextafter(nearest, floating.type(0))


_NARROW = {(8, 23): np.dtype(np.float32), (5, 10): np.dtype(np.float16), (8, 7): np.dtype(jnp.bfloat16)}
"""Floating dtypes by their bits of exponent and mantissa."""


@rule_for("reduce_precision", broadcasts=True)
def _reduce_precision(context: Context, value: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    own = jnp.finfo(type_of(value).dtype)
    if exponent_bits >= own.nexp and mantissa_bits >= own.nmant:
        return value
    narrow = _NARROW.get((exponent_bits, mantissa_bits))
    if narrow is None:
        raise context.refuse(
            f"there is no type of {exponent_bits} exponent and {mantissa_bits} mantissa bits"
        )
    return context.cast(context.cast(value, narrow), type_of(value).dtype)


@rule_for("bitcast_convert_type", broadcasts=True)
def _bitcast_convert_type(context: Context, value: Any, new_dtype: Any) -> Any:
    dtype = np.dtype(new_dtype)
    own = type_of(value).dtype
    if np.dtype(bool) in (dtype, own):
        raise context.refuse("the bits of booleans are not written")
    if dtype.itemsize == own.itemsize:
        return bitcast(context, value, dtype)
    of_other_width = _taken_apart if dtype.itemsize < own.itemsize else _put_together
    return composed(of_other_width)(context, context.full(value, context.ins[0].shape), new_dtype=dtype)


def _taken_apart(x: Any, new_dtype: np.dtype) -> Any:
    """Returns each number's bits as several narrower ones along a new last axis, the lowest first."""
    wide, narrow, places = _widths(x.dtype, new_dtype)
    bits = lax.bitcast_convert_type(x, wide)
    parts = [(bits >> place) & wide.type(np.iinfo(narrow).max) for place in places]
    return lax.bitcast_convert_type(jnp.stack(parts, axis=-1).astype(narrow), new_dtype)


def _put_together(x: Any, new_dtype: np.dtype) -> Any:
    """Returns the numbers whose bits lie along the last axis, the lowest first."""
    wide, narrow, places = _widths(new_dtype, x.dtype)
    bits = lax.bitcast_convert_type(x, narrow).astype(wide)
    parts = [bits[..., index] << place for index, place in enumerate(places)]
    return lax.bitcast_convert_type(reduce(jnp.bitwise_or, parts), new_dtype)


def _widths(wide: np.dtype, narrow: np.dtype) -> tuple[np.dtype, np.dtype, list[Any]]:
    """Returns the unsigned integers of two widths, and where in the wider one each narrower one lies."""
    integers = [np.dtype(f"uint{8 * dtype.itemsize}") for dtype in (wide, narrow)]
    width = 8 * narrow.itemsize
    return integers[0], integers[1], [integers[0].type(place) for place in range(0, 8 * wide.itemsize, width)]


def bitcast(context: Context, value: Any, dtype: np.dtype) -> Any:
    """Returns the same bits as another dtype."""
    if type_of(value).dtype == dtype:
        return value
    array = context.known(value)
    if array is not None:
        return context.constant(array.view(dtype))
    return context.op("BitCast", value, dtype=dtype, to=context.onnx_dtype(dtype))
