"""Complex numbers, which go out as pairs of real ones, and Fourier transforms."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rule_cases import Case, matrices

PRECISIONS = (np.complex64, np.complex128)


def numbers(dtype: Any) -> tuple[np.ndarray]:
    """Returns numbers in all quadrants, on the axes, near zero and near one."""
    rng = np.random.default_rng(9)
    some = 2 * rng.standard_normal(20) + 2j * rng.standard_normal(20)
    odd = [1e-6 + 1e-6j, 1 + 1e-4j, -1 + 1e-4j, 0.3j, 2 - 3j, 2j, 0.5 + 0.1j]
    return (np.array([*some, *odd], dtype),)


def signals(*shapes: tuple[int, ...]) -> Callable[[Any], tuple[np.ndarray, ...]]:
    """Returns a maker of complex arrays of normal numbers."""

    def make(dtype: Any) -> tuple[np.ndarray, ...]:
        real, imag = matrices(*shapes)(np.float64), matrices(*shapes)(np.float32)
        return tuple((a + 1j * b[::-1]).astype(dtype) for a, b in zip(real, imag, strict=True))

    return make


def matrices_of(*shapes: tuple[int, ...]) -> Callable[[Any], tuple[np.ndarray, ...]]:
    """Returns a maker of complex arrays whose parts have nothing to do with one another."""

    def make(dtype: Any) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(10)
        return tuple((rng.standard_normal((*shape, 2)) @ np.array([1, 1j])).astype(dtype) for shape in shapes)

    return make


def _linear(name: str, fn: Callable[..., Any], *shapes: tuple[int, ...], units: float) -> Case:
    return Case(name=name, fn=fn, args=matrices_of(*shapes), dtypes=PRECISIONS, units=units, whole=True)


def _complex(name: str, fn: Callable[..., Any], *shapes: tuple[int, ...], units: float = 16) -> Case:
    args = signals(*shapes) if shapes else numbers
    return Case(name=name, fn=fn, args=args, dtypes=PRECISIONS, units=units, whole=True)


_FUNCTIONS = (
    (lax.exp, lax.log, lax.log1p, lax.expm1, lax.sqrt, lax.rsqrt, lax.square, lax.sign, lax.abs),
    (lax.sin, lax.cos, lax.tan, lax.sinh, lax.cosh, lax.tanh, lax.logistic, lax.exp2),
    (lax.asin, lax.acos, lax.atan, lax.asinh, lax.acosh, lax.atanh),
)

COMPLEX = [
    *(
        _complex(
            f"complex functions like {functions[0].__name__}", lambda z, all=functions: [fn(z) for fn in all]
        )
        for functions in _FUNCTIONS
    ),
    _complex("logarithms of complex numbers", lambda z: (jnp.log2(z), 1 - jnp.tanh(z) ** 2), units=32),
    _complex(
        "complex arithmetic",
        lambda z, w: [z + w, z - w, -z, z * w, z / w, z**3, z**-2, z**w, z**0.5, jnp.polyval(w[:3], z)],
        (9,),
        (9,),
        units=32,
    ),
    _complex(
        "parts of complex numbers",
        lambda z: [
            z.real,
            z.imag,
            jnp.conj(z),
            lax.complex(z.imag, z.real),
            jnp.conj(z.real) + 0j,
            z == z[::-1],
            z != z,
        ],
    ),
    _complex(
        "powers of a complex zero",
        lambda z: [(0 * z) ** 0.0, (0 * z) ** (1 + 2j), jnp.vander(z, 3)],
        (4,),
    ),
    _complex(
        "complex reductions",
        lambda z: [
            z.sum(0),
            z.prod(1),
            jnp.cumsum(z, 1),
            jnp.cumprod(z, 1),
            lax.cumprod(z, 0, reverse=True),
            z[:, :0].prod(1),
        ],
        (3, 5),
    ),
    _complex(
        "complex products",
        lambda z, w: [
            z @ w,
            z @ w.real,
            z.real @ w,
            lax.conv(z[None, None], w[None, None, :2], (1, 1), "SAME"),
        ],
        (3, 4),
        (4, 5),
    ),
    _complex(
        "complex numbers moved about",
        lambda z: [
            z[::-1, 1:].T,
            jnp.where(z.real > 0, z, 2),
            z.at[1].set(3j),
            z.at[jnp.array([0, 0])].add(z[:2]),
            jnp.pad(z, 1),
            jnp.sort(z, 1),
            jnp.broadcast_to(z[0], (4, *z[0].shape)),
            z.real.astype(z.dtype),
            jnp.full((300, 300), z[0, 0])[0],
            lax.iota(z.dtype, 5) * z[0],
            z.astype(np.complex64),
            z.real,
        ],
        (3, 5),
    ),
    _complex(
        "complex numbers in loops and branches",
        lambda z: [
            lax.scan(lambda c, x: (c * x + 1, c), z[0], z),
            lax.while_loop(lambda c: jnp.abs(c).max() < 50, lambda c: 1.5j * c, z),
            lax.cond(z[0, 0].real > 0, lambda c: c * 1j, lambda c: c + 1, z),
        ],
        (3, 5),
        units=64,
    ),
    _complex(
        "gradient through complex numbers",
        lambda z: jax.grad(lambda x: jnp.abs(jnp.fft.fft(x * z) ** 2).sum())(z.real),
        (6,),
        units=64,
    ),
    Case(
        name="sort by a complex key",
        fn=lambda x: lax.sort((lax.complex(x % 2, x % 3), x, -x), num_keys=1),
        args=matrices((9,)),
    ),
]


def _transforms(name: str, *sizes: int) -> Case:
    def fn(*signals: Any) -> Any:
        return [
            [jnp.fft.fft(z), jnp.fft.ifft(z), jnp.fft.rfft(z.real), jnp.fft.irfft(z, z.shape[-1])]
            for z in signals
        ]

    return _complex(name, fn, *((2, size) for size in sizes), units=32)


FOURIER = [
    _transforms("Fourier transforms of short signals", 1, 2, 5, 8, 60),
    _transforms("Fourier transforms by factors", 96, 300, 1000),
    _transforms("Fourier transforms of prime lengths", 97, 1021),
    _complex(
        "Fourier transforms over several axes",
        lambda z: [
            jnp.fft.fft2(z),
            jnp.fft.ifftn(z),
            jnp.fft.rfftn(z.real),
            jnp.fft.irfft2(z),
            jnp.fft.fft(z, axis=0),
            jnp.fft.hfft(z),
            jnp.fft.fft(z[:0]),
        ],
        (2, 3, 4),
    ),
]


def _hermitian(z: Any) -> Any:
    return z @ jnp.conj(z).T + jnp.eye(z.shape[0], dtype=z.dtype)


def _eigh(z: Any) -> Any:
    h = _hermitian(z)
    values, vectors = jnp.linalg.eigh(h)
    return values, (vectors * values[None, :]) @ jnp.conj(vectors).T, jnp.linalg.cholesky(h)


def _svd(z: Any) -> Any:
    left, values, right = jnp.linalg.svd(z, full_matrices=False)
    whole = jnp.linalg.svd(z)[0]
    # The scale of each part is that of the matrix: rounding is all there is of an imaginary part of zero.
    return values, (left * values[None, :]) @ right, (1 + 1j) + jnp.conj(whole).T @ whole


def _triangles(a: Any, b: Any) -> Any:
    a = a + 4 * jnp.eye(3, dtype=a.dtype)
    flags = (False, True)
    return [
        lax.linalg.triangular_solve(
            a, b, left_side=left, lower=lower, transpose_a=turned, conjugate_a=conjugated
        )
        for left in flags
        for lower in flags
        for turned in flags
        for conjugated in flags
    ]


def _reflections(a: Any, c: Any) -> Any:
    h, taus = jnp.linalg.qr(a, mode="raw")
    flags = (False, True)
    return [
        lax.linalg.ormqr(h.mT, taus, c, left=left, transpose=turned) for left in flags for turned in flags
    ]


def _eig(z: Any) -> Any:
    """Returns what does not depend on the order of eigenvalues, or on the lengths of eigenvectors."""
    values, vectors = jnp.linalg.eig(z)
    again = jnp.linalg.solve(vectors.T, (vectors * values[None, :]).T).T
    # Of what is real the imaginary part is rounding: it is compared at the scale of 1.
    return _powers(values), again + (1 + 1j)


def _powers(values: Any) -> Any:
    return jnp.stack([(values**k).sum() for k in range(1, 4)]) + (1 + 1j)


LINEAR_COMPLEX = [
    _linear(
        "complex factorisations",
        lambda a, b: [jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a), lax.linalg.lu(a)],
        (4, 4),
        (4,),
        units=2e3,
    ),
    _linear("complex qr", lambda *zs: [jnp.linalg.qr(z) for z in zs], (4, 3), (2, 3), units=512),
    _linear("complex triangular solves", _triangles, (3, 3), (3, 3), units=512),
    _linear("complex reflections", _reflections, (4, 3), (4, 4), units=512),
    _linear("eigenvalues of Hermitian matrices", _eigh, (4, 4), units=512),
    _linear("complex singular values", lambda *zs: [_svd(z) for z in zs], (4, 3), (2, 3), units=512),
    _linear("eigenvalues of complex matrices", _eig, (4, 4), units=4e3),
    Case(
        name="eigenvalues of real matrices",
        fn=lambda one, small, large: (_eig(one), _eig(small), _powers(jnp.linalg.eigvals(large))),
        args=matrices((1, 1), (3, 3), (9, 9)),
        units=2e4,
        whole=True,
    ),
    Case(
        name="eigenvalues that circle, repeat or vanish",
        fn=lambda a: (
            jnp.linalg.eigvals(
                jnp.stack(
                    [jnp.roll(jnp.eye(3, dtype=a.dtype), 1, 0), jnp.eye(3, dtype=a.dtype), 0 * a[:3, :3]]
                )
                + 0 * a[0, 0]
            ).real.sum(-1)
            + 1
        ),
        args=matrices((3, 3)),
        units=64,
    ),
]
