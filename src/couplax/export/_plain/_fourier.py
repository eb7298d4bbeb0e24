"""Fourier transforms: products with small matrices, stage by stage.

ONNX's own `DFT` does not serve: of lengths that are not a power of two ONNX Runtime 1.32 loses half the
digits of an inverse transform in double precision, and three of every other one.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._plain._complex import multiply, pair
from couplax.export._plain._table import PlainContext, plain_rule
from couplax.export._plain._values import Pair, Value

Array = Any

_LARGEST_MATRIX = 64
"""A length up to this is one product; a longer one is split into two factors."""

_LARGEST_PRIME = 509
"""A prime length up to this is one product too; of a longer one the matrix would be too large a constant."""


@plain_rule("fft")
def _fft(context: PlainContext, x: Value, fft_type: Any, fft_lengths: Sequence[int]) -> Value:
    kind, length, others = lax.FftType(fft_type), fft_lengths[-1], range(-len(fft_lengths), -1)
    inverse = kind in (lax.FftType.IFFT, lax.FftType.IRFFT)
    z = pair(x)
    if kind is lax.FftType.RFFT:
        # The other half of a real signal's transform mirrors this one.
        z = _first(_along(z, -1, inverse), length // 2 + 1)
    for axis in others:
        z = _along(z, axis, inverse)
    if kind is lax.FftType.IRFFT:
        return _along(_mirrored(z, length), -1, inverse).real
    return z if kind is lax.FftType.RFFT else _along(z, -1, inverse)


def _first(z: Pair, count: int) -> Pair:
    return Pair(z.real[..., :count], z.imag[..., :count])


def _mirrored(z: Pair, length: int) -> Pair:
    """Returns the transform of a real signal from its first half."""
    rest = (length + 1) // 2 - 1
    real, imag = (jnp.flip(part[..., 1 : 1 + rest], -1) for part in (z.real, z.imag))
    return Pair(jnp.concatenate([z.real, real], -1), jnp.concatenate([z.imag, -imag], -1))


def _along(z: Pair, axis: int, inverse: bool) -> Pair:
    """Returns the transform along `axis`; the inverse one is divided by its length."""
    moved = Pair(jnp.moveaxis(z.real, axis, -1), jnp.moveaxis(z.imag, axis, -1))
    done = _transform(moved, 1 if inverse else -1)
    if inverse:
        done = Pair(done.real / done.real.shape[-1], done.imag / done.imag.shape[-1])
    return Pair(jnp.moveaxis(done.real, -1, axis), jnp.moveaxis(done.imag, -1, axis))


def _transform(z: Pair, sign: int) -> Pair:
    """Returns the sums over j of z_j exp(sign 2 pi i j k / n), for k below n."""
    size = z.real.shape[-1]
    if 0 in z.real.shape:
        return z
    factor = _factor(size)
    if size <= _LARGEST_MATRIX or (factor == size and size <= _LARGEST_PRIME):
        return _by_matrix(z, sign)
    return _by_chirp(z, sign) if factor == size else _by_factors(z, sign, factor)


def _factor(size: int) -> int:
    """Returns the largest factor of `size` that one product may have, else its least prime factor."""
    small = [factor for factor in range(2, _LARGEST_MATRIX + 1) if size % factor == 0]
    if small:
        return small[-1]
    return next((factor for factor in range(_LARGEST_MATRIX, int(size**0.5) + 1) if size % factor == 0), size)


def _roots(products: np.ndarray, size: int, sign: int, dtype: Any) -> Pair:
    """Returns exp(sign 2 pi i products / size), from angles within one turn."""
    angles = sign * 2 * np.pi * (products % size) / size
    parts = (np.cos(angles), np.sin(angles))
    # A quarter turn has a part that is zero, which the rounding of pi hides.
    real, imag = (np.where(np.abs(part) < 1e-15, 0, part).astype(dtype) for part in parts)
    return Pair(real, imag)


def _by_matrix(z: Pair, sign: int) -> Pair:
    """Returns the transform as one product of [real, imaginary] with a matrix of twice the size."""
    size = z.real.shape[-1]
    count = np.arange(size, dtype=np.int64)
    w = _roots(np.outer(count, count), size, sign, z.real.dtype)
    matrix = np.block([[w.real, w.imag], [-w.imag, w.real]])
    both = jnp.matmul(jnp.concatenate([z.real, z.imag], -1), matrix)
    return Pair(both[..., :size], both[..., size:])


def _by_factors(z: Pair, sign: int, first: int) -> Pair:
    """Returns the transform of length a b as transforms of lengths a and b.

    Source: Cooley & Tukey (1965), equations (5) to (7).
    """
    size = z.real.shape[-1]
    second, batch = size // first, z.real.shape[:-1]
    columns = Pair(*(jnp.swapaxes(part.reshape(*batch, first, second), -1, -2) for part in (z.real, z.imag)))
    inner = _transform(columns, sign)
    products = np.outer(np.arange(second, dtype=np.int64), np.arange(first, dtype=np.int64))
    twisted = multiply(inner, _ranked(_roots(products, size, sign, z.real.dtype), len(batch)))
    rows = Pair(*(jnp.swapaxes(part, -1, -2) for part in (twisted.real, twisted.imag)))
    outer = _transform(rows, sign)
    return Pair(*(jnp.swapaxes(part, -1, -2).reshape(*batch, size) for part in (outer.real, outer.imag)))


def _ranked(z: Pair, axes: int) -> Pair:
    """Returns `z` with `axes` more axes before its own."""
    return Pair(*(part.reshape(*[1] * axes, *part.shape) for part in (z.real, z.imag)))


def _by_chirp(z: Pair, sign: int) -> Pair:
    """Returns the transform of a long prime length as a convolution, by transforms of a power of two.

    Source: Bluestein (1970): j k = (j^2 + k^2 - (k - j)^2) / 2.
    """
    size = z.real.shape[-1]
    longer = 2 ** int(np.ceil(np.log2(2 * size - 1)))
    squares = np.arange(size, dtype=np.int64) ** 2
    chirp = _roots(squares, 2 * size, sign, np.float64)
    kernel = np.zeros(longer, np.complex128)
    kernel[:size] = chirp.real - 1j * chirp.imag
    kernel[longer - size + 1 :] = kernel[1:size][::-1]
    spectrum = np.fft.fft(kernel)
    dtype, axes = z.real.dtype, z.real.ndim - 1
    wave = _ranked(Pair(chirp.real.astype(dtype), chirp.imag.astype(dtype)), axes)
    answer = _ranked(Pair(spectrum.real.astype(dtype), spectrum.imag.astype(dtype)), axes)
    edges = [*[(0, 0)] * axes, (0, longer - size)]
    started = multiply(z, wave)
    padded = Pair(jnp.pad(started.real, edges), jnp.pad(started.imag, edges))
    folded = _along(multiply(_transform(padded, -1), answer), -1, inverse=True)
    return multiply(_first(folded, size), wave)
