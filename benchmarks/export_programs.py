"""The programs whose exported files are timed in `export.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import diffrax
import jax.numpy as jnp
import numpy as np
import onnx
import optimistix as optx
from by_hand import (
    LORENZ,
    LORENZ_STACKED,
    NETWORK,
    REACTION,
    circle_and_line,
    layers,
    tsit5,
)
from by_hand import sellar as sellar_by_hand
from jax import lax

import couplax as cpx

STEP = 0.01
LENGTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A function of one array, and the best graph for the same scheme that we could write by hand.

    Attributes:
        accuracy: by how much results may differ, relative to the largest number.
        export: within how many seconds it has to be written.
        by_hand: makes the graph written by hand; None where there is none.
        body_nodes: how many nodes the largest loop may have; None where nothing is promised.
        other: how many times faster than jax2onnx's file it has to be; None where nothing is promised.
        quick: whether it is among those of a quick run.
    """

    name: str
    fn: Callable[[Any], Any]
    start: Any
    accuracy: float
    export: float = 10.0
    by_hand: Callable[[], onnx.ModelProto] | None = None
    body_nodes: int | None = None
    other: float | None = None
    quick: bool = True


def lorenz(y: Any) -> Any:
    """Returns dy/dt of Lorenz' system."""
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def robertson(t: Any, y: Any, args: Any) -> Any:
    """Returns dy/dt of Robertson's stiff reactions."""
    slow, fast = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return jnp.stack([slow, -slow - fast, fast])


def reaction(u: Any) -> Any:
    """Returns du/dt of a reaction that spreads on a ring of cells."""
    spread = jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)
    return 0.1 * spread + u * (1 - u) * (u - 0.3)


def network(y: Any) -> Any:
    """Returns a network of three layers at `y`."""
    (first, second, last) = layers()
    hidden = jnp.tanh(second[0].T @ jnp.tanh(first[0].T @ y + first[1]) + second[1])
    return last[0].T @ hidden + last[1]


def rk4(field: Callable[[Any], Any], y: Any) -> Any:
    """Returns `y` after a step of the classical Runge-Kutta method."""
    k_1 = field(y)
    k_2 = field(y + STEP / 2 * k_1)
    k_3 = field(y + STEP / 2 * k_2)
    k_4 = field(y + STEP * k_3)
    return y + STEP / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)


def stepped(field: Callable[[Any], Any], length: int) -> Callable[[Any], Any]:
    """Returns the function that takes `length` steps in a `fori_loop`."""
    return lambda y: lax.fori_loop(0, length, lambda _, y: rk4(field, y), y)


def stacked(y: Any) -> Any:
    """Returns all steps of Lorenz' system, by `scan`."""
    return lax.scan(lambda y, _: (rk4(lorenz, y),) * 2, y, length=LENGTH)[1]


class RungeKutta(diffrax.AbstractERK):
    """The classical method of fourth order, which Diffrax leaves to its users."""

    tableau = diffrax.ButcherTableau(
        c=np.array([0.5, 0.5, 1.0]),
        b_sol=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        b_error=np.array([1 / 6 - 1, 1 / 3, 1 / 3, 1 / 6]),
        a_lower=(np.array([0.5]), np.array([0.0, 0.5]), np.array([0.0, 0.0, 1.0])),
    )
    interpolation_cls = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms: Any) -> int:
        """Returns 4."""
        return 4


def by_diffrax(
    field: Callable[..., Any], solver: Any, end: float, step: float, tolerance: float | None
) -> Callable[[Any], Any]:
    """Returns the solve of a field by Diffrax, in fixed steps where no tolerance is given."""
    steps = round(end / step) + 1 if tolerance is None else 4096
    controller: Any = (
        diffrax.ConstantStepSize()
        if tolerance is None
        else diffrax.PIDController(rtol=tolerance, atol=tolerance)
    )

    def solve(y: Any) -> Any:
        term = diffrax.ODETerm(field)
        solution: Any = diffrax.diffeqsolve(
            term, solver, 0.0, end, step, y, stepsize_controller=controller, max_steps=steps
        )
        return solution.ys[-1]

    return solve


def stages() -> list[list[float]]:
    """Returns the weights of the stages of Tsit5 behind the first, then those of its error."""
    tableau: Any = diffrax.Tsit5.tableau
    return [list(map(float, row)) for row in (*tableau.a_lower, tableau.b_error)]


def root(x: Any) -> Any:
    """Returns where a circle meets a line, by Optimistix."""

    def residual(y: Any, x: Any) -> Any:
        return jnp.stack([y[0] ** 2 + y[1] ** 2 - x[0], y[0] - y[1] * x[1]])

    solution: Any = optx.root_find(residual, optx.Newton(rtol=1e-8, atol=1e-8), jnp.ones(2), x)
    return solution.value


def sellar(x: Any) -> Any:
    """Returns the objective of Sellar's problem, its cycle closed by couplax."""
    y_1 = cpx.component(lambda x_1, z_1, z_2, y_2: z_1**2 + z_2 + x_1 - 0.2 * y_2, "y_1", name="first")
    y_2 = cpx.component(lambda y_1, z_1, z_2: jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2, "y_2", name="second")
    f = cpx.component(lambda x_1, z_2, y_1, y_2: x_1**2 + z_2 + y_1 + jnp.exp(-y_2), "f", name="objective")
    model = cpx.Model(y_1, y_2, f).close(cpx.Newton(rtol=1e-10, atol=1e-10), cut="y_2")
    closed = model.function(inputs=("x_1", "z_1", "z_2"), outputs="f", guess={"y_2": 1.0})
    return closed(x[0], x[1], x[2])


def _single(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


THREE, SPREAD = _single(1.0, 0.5, 20.0), np.random.default_rng(1).random(1000, np.float32)
ON_AN_ORBIT = 1e-2
"""Lorenz' system multiplies a rounding by 1e4 in a time of 10."""


def _on(field: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda t, y, args: field(y)


PROGRAMS = (
    Program(
        name="Lorenz, fori_loop",
        fn=stepped(lorenz, LENGTH),
        start=THREE,
        accuracy=ON_AN_ORBIT,
        by_hand=LORENZ.model,
        body_nodes=40,
        other=1.5,
    ),
    Program(
        name="Lorenz, scan",
        fn=stacked,
        start=THREE,
        accuracy=ON_AN_ORBIT,
        by_hand=LORENZ_STACKED.model,
        body_nodes=41,
    ),
    Program(
        name="Lorenz, Diffrax",
        fn=by_diffrax(_on(lorenz), RungeKutta(), 10.0, STEP, None),
        start=THREE,
        accuracy=ON_AN_ORBIT,
        by_hand=LORENZ.model,
        body_nodes=40,
    ),
    Program(
        name="reaction-diffusion, 1,000 cells",
        fn=stepped(reaction, LENGTH),
        start=SPREAD,
        accuracy=1e-5,
        by_hand=REACTION.model,
        quick=False,
    ),
    Program(
        name="neural ODE, 2-64-64-2",
        fn=stepped(network, 100),
        start=_single(1.0, 0.5),
        accuracy=1e-5,
        by_hand=NETWORK.model,
        other=2.5,
    ),
    Program(
        name="Lorenz, Tsit5 and PID",
        fn=by_diffrax(_on(lorenz), diffrax.Tsit5(), 2.0, STEP, 1e-6),
        start=THREE.astype(float),
        accuracy=1e-4,
        by_hand=partial(tsit5, stages(), end=2.0, step=STEP, tolerance=1e-6),
        quick=False,
    ),
    Program(
        name="Robertson, Kvaerno5",
        fn=by_diffrax(robertson, diffrax.Kvaerno5(), 100.0, 2e-4, 1e-8),
        start=np.array([1.0, 0.0, 0.0]),
        accuracy=1e-6,
        quick=False,
    ),
    Program(
        name="a root, Optimistix Newton",
        fn=root,
        start=np.array([2.0, 1.5]),
        accuracy=1e-8,
        by_hand=partial(circle_and_line, 1e-8),
    ),
    Program(
        name="Sellar, closed by Newton",
        fn=sellar,
        start=np.array([1.0, 1.0, 2.0]),
        accuracy=1e-8,
        by_hand=partial(sellar_by_hand, 1e-10),
    ),
)
"""With starts in float64, x64 is on."""
