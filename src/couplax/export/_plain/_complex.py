"""Complex arithmetic and elementary functions on real and imaginary parts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._plain._table import PlainContext, plain_rule
from couplax.export._plain._values import Pair, Value, is_complex, real_dtype

Array = Any


def pair(value: Value) -> Pair:
    """Returns `value` as a pair; of a real number the imaginary part is zero."""
    return value if isinstance(value, Pair) else Pair(value, jnp.zeros_like(value))


def _add(z: Pair, w: Pair) -> Pair:
    return Pair(z.real + w.real, z.imag + w.imag)


def _neg(z: Pair) -> Pair:
    return Pair(-z.real, -z.imag)


def multiply(z: Pair, w: Pair) -> Pair:
    """Returns z w."""
    return Pair(z.real * w.real - z.imag * w.imag, z.real * w.imag + z.imag * w.real)


def _scaled(z: Pair, factor: Array) -> Pair:
    return Pair(z.real * factor, z.imag * factor)


def _conjugate(z: Pair) -> Pair:
    return Pair(z.real, -z.imag)


def _times_i(z: Pair) -> Pair:
    return Pair(-z.imag, z.real)


def _over_i(z: Pair) -> Pair:
    return Pair(z.imag, -z.real)


def _where(condition: Array, z: Pair, w: Pair) -> Pair:
    return Pair(jnp.where(condition, z.real, w.real), jnp.where(condition, z.imag, w.imag))


def _divide(z: Pair, w: Pair) -> Pair:
    """Returns z / w; the smaller part of w is divided by the larger one, so that no square overflows.

    Source: Smith (1962), algorithm 116.
    """
    is_flat = jnp.abs(w.real) >= jnp.abs(w.imag)
    large, small = jnp.where(is_flat, w.real, w.imag), jnp.where(is_flat, w.imag, w.real)
    ratio = jnp.where(small == 0, small, small / large)
    denominator = large + small * ratio
    turned = _where(is_flat, z, _over_i(z))
    sign = jnp.where(is_flat, 1, -1).astype(ratio.dtype)
    return Pair(
        (turned.real + sign * turned.imag * ratio) / denominator,
        (turned.imag - sign * turned.real * ratio) / denominator,
    )


def magnitude(z: Pair) -> Array:
    """Returns |z|, without overflow of squares."""
    a, b = jnp.abs(z.real), jnp.abs(z.imag)
    high, low = jnp.maximum(a, b), jnp.minimum(a, b)
    ratio = jnp.where(high == 0, high, low / high)
    is_infinite = jnp.isinf(a) | jnp.isinf(b)
    return jnp.where(is_infinite, jnp.inf, high * jnp.sqrt(1 + ratio * ratio))


def exponential(z: Pair) -> Pair:
    """Returns exp(z)."""
    size = jnp.exp(z.real)
    return Pair(size * jnp.cos(z.imag), jnp.where(z.imag == 0, z.imag, size * jnp.sin(z.imag)))


def logarithm(z: Pair) -> Pair:
    """Returns log(z), its imaginary part in -pi..pi; near |z| = 1 by log1p of |z|^2 - 1."""
    size = magnitude(z)
    a, b = jnp.abs(z.real), jnp.abs(z.imag)
    high, low = jnp.maximum(a, b), jnp.minimum(a, b)
    is_near = (size > 0.5) & (size < 3)
    excess = jnp.where(is_near, (high - 1) * (high + 1) + low * low, 0)
    return Pair(jnp.where(is_near, jnp.log1p(excess) / 2, jnp.log(size)), jnp.arctan2(z.imag, z.real))


def _log1p(z: Pair) -> Pair:
    excess = z.real * (2 + z.real) + z.imag * z.imag
    far = logarithm(Pair(1 + z.real, z.imag))
    is_near = magnitude(z) < 0.5
    return Pair(jnp.where(is_near, jnp.log1p(jnp.where(is_near, excess, 0)) / 2, far.real), far.imag)


def _expm1(z: Pair) -> Pair:
    half = jnp.sin(z.imag / 2)
    real = jnp.expm1(z.real) * jnp.cos(z.imag) - 2 * half * half
    return Pair(real, jnp.exp(z.real) * jnp.sin(z.imag))


def _square_root(z: Pair) -> Pair:
    """Returns the root with a real part that is not negative."""
    size = jnp.sqrt((jnp.abs(z.real) + magnitude(z)) / 2)
    other = jnp.abs(z.imag) / jnp.where(size == 0, 1, 2 * size)
    is_right = z.real >= 0
    imag = jnp.where(is_right, other, size)
    return Pair(jnp.where(is_right, size, other), jnp.copysign(imag, z.imag))


def _sinh(z: Pair) -> Pair:
    return Pair(jnp.sinh(z.real) * jnp.cos(z.imag), jnp.cosh(z.real) * jnp.sin(z.imag))


def _cosh(z: Pair) -> Pair:
    return Pair(jnp.cosh(z.real) * jnp.cos(z.imag), jnp.sinh(z.real) * jnp.sin(z.imag))


def _tanh(z: Pair) -> Pair:
    """Returns sinh(z) / cosh(z), for large real parts by its limit."""
    far = jnp.abs(z.real) > 20
    near = Pair(jnp.where(far, 0, z.real), z.imag)
    faint = 2 * jnp.sin(2 * z.imag) * jnp.exp(-2 * jnp.abs(z.real))
    return _where(far, Pair(jnp.sign(z.real), faint), _divide(_sinh(near), _cosh(near)))


def _rotated(fn: Callable[[Pair], Pair], z: Pair) -> Pair:
    """Returns fn(i z) / i: of a hyperbolic function the circular one, and the other way round."""
    return _over_i(fn(_times_i(z)))


def _arcsin(z: Pair) -> Pair:
    """Source: Kahan (1987), "Branch cuts for complex elementary functions"."""
    left, right = _beside_one(z)
    crossed = multiply(_conjugate(left), right).imag
    return Pair(jnp.arctan2(z.real, multiply(left, right).real), jnp.arcsinh(crossed))


def _arccos(z: Pair) -> Pair:
    """Source: Kahan (1987), as for `_arcsin`."""
    left, right = _beside_one(z)
    crossed = multiply(_conjugate(right), left).imag
    return Pair(2 * jnp.arctan2(left.real, right.real), jnp.arcsinh(crossed))


def _beside_one(z: Pair) -> tuple[Pair, Pair]:
    """Returns the roots of 1 - z and 1 + z."""
    return _square_root(Pair(1 - z.real, -z.imag)), _square_root(Pair(1 + z.real, z.imag))


def _arccosh(z: Pair) -> Pair:
    """Source: Kahan (1987), as for `_arcsin`."""
    left = _square_root(Pair(z.real - 1, z.imag))
    right = _square_root(Pair(z.real + 1, z.imag))
    crossed = multiply(_conjugate(left), right).real
    return Pair(jnp.arcsinh(crossed), 2 * jnp.arctan2(left.imag, right.real))


def _arctanh(z: Pair) -> Pair:
    """Source: Kahan (1987), as for `_arcsin`."""
    size = jnp.abs(z.real)
    beside = 1 - size
    real = jnp.log1p(4 * size / (beside * beside + z.imag * z.imag)) / 4
    imag = jnp.arctan2(2 * z.imag, beside * (1 + size) - z.imag * z.imag) / 2
    return Pair(jnp.copysign(real, z.real), imag)


def _reciprocal(z: Pair) -> Pair:
    return _divide(pair(jnp.ones_like(z.real)), z)


def _logistic(z: Pair) -> Pair:
    grown = exponential(_neg(z))
    return _reciprocal(Pair(1 + grown.real, grown.imag))


def _sign(z: Pair) -> Pair:
    size = magnitude(z)
    unit = _scaled(z, 1 / jnp.where(size == 0, 1, size))
    return _where(size == 0, z, unit)


def _power(z: Pair, w: Pair) -> Pair:
    """Returns exp(w log z); 0 to the power of 0 is 1, to that of a positive number 0."""
    power = exponential(multiply(w, logarithm(z)))
    is_zero = (z.real == 0) & (z.imag == 0)
    is_one = (w.real == 0) & (w.imag == 0)
    zero = pair(jnp.where(is_one, jnp.ones_like(power.real), 0))
    is_known = is_zero & (w.imag == 0) & (w.real >= 0)
    return _where(is_known, zero, power)


_FUNCTIONS: dict[str, Callable[[Pair], Pair]] = {
    "acos": _arccos,
    "acosh": _arccosh,
    "asin": _arcsin,
    "asinh": partial(_rotated, _arcsin),
    "atan": partial(_rotated, _arctanh),
    "atanh": _arctanh,
    "cos": lambda z: _cosh(_times_i(z)),
    "cosh": _cosh,
    "exp": exponential,
    "exp2": lambda z: exponential(_scaled(z, np.log(2.0).astype(z.real.dtype))),
    "expm1": _expm1,
    "log": logarithm,
    "log1p": _log1p,
    "log2": lambda z: _scaled(logarithm(z), (1 / np.log(2.0)).astype(z.real.dtype)),
    "logistic": _logistic,
    "rsqrt": lambda z: _reciprocal(_square_root(z)),
    "sign": _sign,
    "sin": partial(_rotated, _sinh),
    "sinh": _sinh,
    "sqrt": _square_root,
    "square": lambda z: multiply(z, z),
    "tan": partial(_rotated, _tanh),
    "tanh": _tanh,
}
"""Functions of one complex number."""


def _function(fn: Callable[[Pair], Pair], context: PlainContext, z: Value, accuracy: None = None) -> Value:
    return fn(pair(z))


for _primitive, _fn in _FUNCTIONS.items():
    plain_rule(_primitive)(partial(_function, _fn))


@plain_rule("one_minus_square")
def _one_minus_square(context: PlainContext, z: Pair, accuracy: None = None) -> Value:
    return multiply(Pair(1 - z.real, -z.imag), Pair(1 + z.real, z.imag))


@plain_rule("mul")
def _mul(context: PlainContext, z: Value, w: Value, out_dtype: Any = None) -> Value:
    return multiply(pair(z), pair(w))


@plain_rule("div")
def _div(context: PlainContext, z: Value, w: Value) -> Value:
    return _divide(pair(z), pair(w))


@plain_rule("pow")
def _pow(context: PlainContext, z: Value, w: Value) -> Value:
    out = context.out_avals[0]
    dtype = real_dtype(out.dtype)
    exponent = w if isinstance(w, Pair) else jnp.asarray(w, dtype)
    return _power(_broadcast(pair(z), out.shape), _broadcast(pair(exponent), out.shape))


def _broadcast(z: Pair, shape: Sequence[int]) -> Pair:
    return Pair(jnp.broadcast_to(z.real, shape), jnp.broadcast_to(z.imag, shape))


@plain_rule("integer_pow")
def _integer_pow(context: PlainContext, z: Pair, y: int) -> Value:
    power, rest, factor = pair(jnp.ones_like(z.real)), abs(y), z
    while rest:
        if rest % 2:
            power = multiply(power, factor)
        rest //= 2
        factor = multiply(factor, factor) if rest else factor
    return power if y >= 0 else _reciprocal(power)


@plain_rule("polynomial")
def _polynomial(context: PlainContext, z: Value, *coefficients: Value, unroll: Any = None) -> Value:
    result = pair(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result = _add(multiply(result, pair(z)), pair(coefficient))
    return result


@plain_rule("abs")
def _abs(context: PlainContext, z: Pair) -> Value:
    return magnitude(z)


@plain_rule("real")
def _real(context: PlainContext, z: Pair) -> Value:
    return z.real


@plain_rule("imag")
def _imag(context: PlainContext, z: Pair) -> Value:
    return z.imag


@plain_rule("complex")
def _complex(context: PlainContext, real: Array, imag: Array) -> Value:
    return Pair(real, imag)


@plain_rule("conj")
def _conj(context: PlainContext, z: Value, input_dtype: Any) -> Value:
    return _conjugate(pair(z))


@plain_rule("eq")
def _eq(context: PlainContext, z: Value, w: Value) -> Value:
    z, w = pair(z), pair(w)
    return (z.real == w.real) & (z.imag == w.imag)


@plain_rule("ne")
def _ne(context: PlainContext, z: Value, w: Value) -> Value:
    z, w = pair(z), pair(w)
    return (z.real != w.real) | (z.imag != w.imag)


@plain_rule("convert_element_type")
def _convert(
    context: PlainContext, z: Value, new_dtype: Any, weak_type: bool, sharding: None = None
) -> Value:
    dtype = real_dtype(new_dtype)
    if not is_complex(new_dtype):
        return pair(z).real.astype(dtype)
    z = pair(jnp.asarray(z)) if not isinstance(z, Pair) else z
    return Pair(jnp.asarray(z.real).astype(dtype), jnp.asarray(z.imag).astype(dtype))


@plain_rule("iota", "empty")
def _made(context: PlainContext, **params: Any) -> Value:
    real = {name: real_dtype(item) if name == "dtype" else item for name, item in params.items()}
    return pair(context.eqn.primitive.bind(**real))


@plain_rule("dot_general", "conv_general_dilated")
def _bilinear(context: PlainContext, z: Value, w: Value, **params: Any) -> Value:
    """Returns a product, from the products of the parts."""
    wanted = params["preferred_element_type"]
    params["preferred_element_type"] = None if wanted is None else real_dtype(wanted)
    product = partial(context.eqn.primitive.bind, **params)
    if not isinstance(z, Pair):
        return Pair(product(z, w.real), product(z, w.imag))
    if not isinstance(w, Pair):
        return Pair(product(z.real, w), product(z.imag, w))
    real = product(z.real, w.real) - product(z.imag, w.imag)
    return Pair(real, product(z.real, w.imag) + product(z.imag, w.real))


@plain_rule("reduce_prod")
def _reduce_prod(context: PlainContext, z: Pair, axes: Sequence[int], out_sharding: None = None) -> Value:
    for axis in axes:
        while (size := z.real.shape[axis]) > 1:
            half = size // 2
            ends = (0, half), (half, 2 * half), (2 * half, size)
            first, second, rest = (_part(z, axis, *each) for each in ends)
            product = multiply(first, second)
            z = Pair(
                jnp.concatenate([product.real, rest.real], axis),
                jnp.concatenate([product.imag, rest.imag], axis),
            )
    if 0 in z.real.shape:
        return pair(jnp.ones(context.out_avals[0].shape, z.real.dtype))
    return Pair(lax.squeeze(z.real, axes), lax.squeeze(z.imag, axes))


def _part(z: Pair, axis: int, start: int, limit: int) -> Pair:
    return Pair(*(lax.slice_in_dim(part, start, limit, axis=axis) for part in (z.real, z.imag)))


@plain_rule("cumprod")
def _cumprod(context: PlainContext, z: Pair, axis: int, reverse: bool) -> Value:
    return lax.associative_scan(multiply, z, reverse=reverse, axis=axis)


@plain_rule("sort")
def _sort(
    context: PlainContext, *values: Value, dimension: int, is_stable: bool, num_keys: int
) -> Sequence[Value]:
    """Returns `values` in the order of the keys: by real parts, and where they agree by imaginary ones."""
    keys, rest = _flat(values[:num_keys]), _flat(values[num_keys:])
    ordered = lax.sort([*keys, *rest], dimension=dimension, is_stable=is_stable, num_keys=len(keys))
    return jax.tree.unflatten(jax.tree.structure(values), ordered)


def _flat(values: Sequence[Value]) -> list[Array]:
    return jax.tree.leaves(list(values))
