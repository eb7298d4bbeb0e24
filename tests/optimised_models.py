"""Models that the tests of `optimise` share, and problems in plain numbers for its methods."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import couplax as cpx
from couplax.optimise._limits import Limits
from couplax.optimise._problem import Problem

F_SELLAR = 3.18339395164
"""The least objective of the Sellar problem, of OpenMDAO and GEMSEO."""

SELLAR: dict[str, Any] = {
    "design": {"z_1": (-10, 10), "z_2": (0, 10), "x_1": (0, 10)},
    "constraints": {"g_1": (None, 0), "g_2": (None, 0)},
    "start": {"z_1": 5.0, "z_2": 2.0, "x_1": 1.0, "y_2": 1.0},
}


@cpx.component("y_1")
def d1(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
    return z_1**2 + z_2 + x_1 - 0.2 * y_2


@cpx.component("y_2")
def d2(y_1: Any, z_1: Any, z_2: Any) -> Any:
    return jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2


@cpx.component("f")
def objective(x_1: Any, z_2: Any, y_1: Any, y_2: Any) -> Any:
    return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)


@cpx.component("g_1", "g_2")
def constraints(y_1: Any, y_2: Any, least: Any = 3.16) -> Any:
    return least - y_1, y_2 - 24


sellar = cpx.Model(d1, d2, objective, constraints)


def d2_numpy(y_1: Any, z_1: Any, z_2: Any) -> Any:
    return np.sqrt(np.abs(y_1)) + z_1 + z_2


@cpx.component("f")
def paraboloid(x: Any, y: Any, a: Any = 3.0) -> Any:
    return (x - a) ** 2 + x * y + (y + 4) ** 2 - 3


@cpx.component("total")
def line(x: Any, y: Any) -> Any:
    return x + y


bowl = cpx.Model(paraboloid, line)
"""The paraboloid of OpenMDAO: -82/3 at (20/3, -22/3); with x + y = 0, -27 at (7, -7)."""


def numbers(
    objective: Callable[[Any], float],
    gradient: Callable[[Any], Any],
    start: list[float],
    *,
    bounds: tuple[Any, Any] = (-np.inf, np.inf),
    constraints: Callable[[Any], Any] | None = None,
    jacobian: Callable[[Any], Any] | None = None,
    limits: tuple[list[float], list[float]] = ([], []),
    hessian: Callable[[Any, Any], Any] | None = None,
) -> tuple[Problem, list[Any]]:
    """Returns a problem in plain numbers, and the list to which its iterates will be added."""
    size = len(start)
    iterates: list[Any] = []
    problem = Problem(
        start=np.array(start, float),
        bounds=Limits(*(np.broadcast_to(np.asarray(side, float), (size,)) for side in bounds)),
        limits=Limits(np.array(limits[0], float), np.array(limits[1], float)),
        objective=objective,
        gradient=gradient,
        constraints=constraints or (lambda x: np.zeros(0)),
        jacobian=jacobian or (lambda x: np.zeros((0, size))),
        hessian=hessian or (lambda x, weights: np.zeros((size, size))),
        iterated=lambda x: iterates.append(np.array(x)),
    )
    return problem, iterates
