"""The Sellar problem: two disciplines that need each other, one of them plain numpy.

Source: Sellar, Batill and Renaud (1996), Response surface based, concurrent subspace optimization for
multidisciplinary system design, AIAA 96-0714.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

import couplax as cpx


@cpx.component("y_1")
def d1(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
    """Returns y_1 of discipline 1."""
    return z_1**2 + z_2 + x_1 - 0.2 * y_2


def d2_numpy(y_1: Any, z_1: Any, z_2: Any) -> Any:
    """Returns y_2 of discipline 2, by numpy: JAX can neither trace nor differentiate it."""
    return np.sqrt(np.abs(y_1)) + z_1 + z_2


def d2_jax(y_1: Any, z_1: Any, z_2: Any) -> Any:
    """Returns y_2 of discipline 2, by JAX."""
    return jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2


@cpx.component("f")
def objective(x_1: Any, z_2: Any, y_1: Any, y_2: Any) -> Any:
    """Returns the objective f."""
    return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)


def sellar(d2: cpx.Component) -> cpx.Model:
    """Returns the model with `d2` as its second discipline, cut at y_2 and closed by Newton's method."""
    solver = cpx.Newton(rtol=1e-10, atol=1e-10)
    return cpx.Model(d1, d2, objective).close(solver, cut="y_2")
