"""Codes that the tests of `foreign` share: a function in numpy, its twin and its derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax.foreign._route import route


def wave(x: Any, y: Any) -> Any:
    """Returns two nonlinear values of a scalar and a vector of two, by numpy."""
    return np.array([np.sin(x) * y[0] + y[1] ** 3 * x**2, np.exp(0.3 * x) + y[0] * y[1]])


def wave_jax(x: Any, y: Any) -> Any:
    """Returns the same by JAX."""
    return jnp.array([jnp.sin(x) * y[0] + y[1] ** 3 * x**2, jnp.exp(0.3 * x) + y[0] * y[1]])


def wave_tangent(primals: Any, tangents: Any) -> Any:
    """Returns J v, by hand."""
    (x, y), (dx, dy) = primals, tangents
    first = (np.cos(x) * y[0] + 2 * y[1] ** 3 * x) * dx + np.sin(x) * dy[0] + 3 * y[1] ** 2 * x**2 * dy[1]
    second = 0.3 * np.exp(0.3 * x) * dx + dy[0] * y[1] + y[0] * dy[1]
    return np.array([first, second])


def wave_adjoint(primals: Any, cotangents: Any) -> Any:
    """Returns J^T w, by hand."""
    (x, y), w = primals, cotangents
    of_x = (np.cos(x) * y[0] + 2 * y[1] ** 3 * x) * w[0] + 0.3 * np.exp(0.3 * x) * w[1]
    of_y = np.array([np.sin(x) * w[0] + y[1] * w[1], 3 * y[1] ** 2 * x**2 * w[0] + y[0] * w[1]])
    return of_x, of_y


X = 0.7
Y = np.array([1.3, 0.4])
OUT = jax.ShapeDtypeStruct((2,), np.float64)

OFFERS: dict[str, dict[str, Any]] = {
    "value": {},
    "tangent": {"tangent": wave_tangent},
    "adjoint": {"adjoint": wave_adjoint},
    "both": {"tangent": wave_tangent, "adjoint": wave_adjoint},
}
"""What a code may offer beside its value."""


def by_callback(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `f` compiled with no faster route to the host than JAX's own callback."""
    compiled = jax.jit(f)

    def run(*args: Any) -> Any:
        with route("callback"):
            return compiled(*args)

    return run


ROUTES: dict[str, Callable[..., Any]] = {"eager": lambda f: f, "jit": jax.jit, "jit by callback": by_callback}
"""The ways in which a code may be reached."""
