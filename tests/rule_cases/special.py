"""Incomplete gamma and beta functions, zeta and polygamma, Bessel functions: at edges too."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import lax

from rule_cases import Case

INF, NAN = np.inf, np.nan


def grid(*axes: Sequence[float]) -> Callable[[Any], tuple[np.ndarray, ...]]:
    """Returns a maker of every combination of the numbers along `axes`."""
    return lambda dtype: tuple(points.ravel().astype(dtype) for points in np.meshgrid(*axes))


# Of an infinite shape JAX 0.10 gives NaN, and JAX 0.12 the limit.
SHAPES = [0.1, 0.5, 1, 2.5, 7, 20, -1, NAN]
PLACES = [1e-5, 0.1, 0.9, 1.5, 3, 8, 19, 25, 90, 110, 0, -1, INF, NAN]

# What is the exponential of a sum of logarithms has the rounding errors of the sum, times its size.
SPECIAL = [
    Case(
        name="incomplete gamma functions",
        fn=lambda a, x: [lax.igamma(a, x), lax.igammac(a, x)],
        args=grid(SHAPES, PLACES),
        units=256,
    ),
    Case(
        name="incomplete gamma function of shape zero",
        fn=lambda a, x: [lax.igamma(a, x), lax.igammac(a, x)],
        args=grid([0], [1.5, 90, INF, 0]),
    ),
    Case(
        name="derivatives of incomplete gamma functions",
        fn=lax.igamma_grad_a,
        args=grid([0.1, 0.5, 1, 2.5, 7, 20], [0.1, 0.9, 1.5, 3, 8, 19]),
        units=1024,
    ),
    Case(
        name="derivative of gamma-distributed numbers",
        fn=lax.random_gamma_grad,
        args=grid([0.1, 0.5, 1, 2.5, 7, 20], [0.1, 0.9, 1.5, 3, 8, 19]),
        units=512,
    ),
    Case(
        name="incomplete beta function",
        fn=lax.betainc,
        args=grid(
            [0.1, 0.5, 1, 2.5, 7, 40, 0, -1, INF, NAN],
            [0.1, 0.5, 1, 2.5, 7, 40, 0, INF],
            [0, 1e-3, 0.1, 0.4, 0.5, 0.77, 0.99, 1, -0.1, 1.1, NAN],
        ),
        units=512,
        whole=True,
    ),
    Case(
        name="zeta",
        fn=lax.zeta,
        args=grid([1.5, 2, 3, 4.5, 10, 1, 0.5, INF, NAN], [0.1, 0.5, 1, 2.5, 7, 40, 0, -2, -0.5, -1.3, INF]),
        units=16,
    ),
    Case(
        name="polygamma",
        fn=lax.polygamma,
        args=grid([0, 1, 2, 3, 7, -1, 0.5, NAN], [0.1, 0.5, 1, 2.5, 7, 40, -2]),
        units=128,
    ),
    # Fits in 1 / x are SciPy's numbers at chosen points, themselves rounded.
    Case(
        name="Bessel functions",
        fn=lambda x: [lax.bessel_i0e(x), lax.bessel_i1e(x)],
        args=grid([*np.linspace(-30, 30, 121), 1e-8, -1e-3, 1e3, 1e6, 8, 80, INF, -INF, NAN]),
        units=32,
    ),
]
