"""Stochastic differential equations, driven by JAX's own random numbers; the seed is an input."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import lineax
import numpy as np

from programs._program import Program

_LEVY = diffrax.SpaceTimeLevyArea


def _tree(seed: Any, shape: Any = (), levy_area: Any = diffrax.BrownianIncrement) -> Any:
    return diffrax.VirtualBrownianTree(
        0.0, 1.0, tol=1e-2, shape=shape, key=jax.random.key(seed), levy_area=levy_area
    )


def _scalar(solver: Any, levy_area: Any, *, additive: bool = False) -> Callable[..., Any]:
    """Returns a solve of `dy = -rate y dt + s dW`, with `s` constant or proportional to y."""

    def diffusion(t: Any, y: Any, args: Any) -> Any:
        return jnp.asarray(0.3) if additive else 0.3 * y

    def solve(seed: Any, y0: Any, rate: Any) -> Any:
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: -args * y),
            diffrax.ControlTerm(diffusion, _tree(seed, levy_area=levy_area)),
        )
        return diffrax.diffeqsolve(terms, solver, t0=0.0, t1=1.0, dt0=0.1, y0=y0, args=rate, max_steps=16).ys

    return solve


def _unsafe(seed: Any, y0: Any, rate: Any) -> Any:
    path = diffrax.UnsafeBrownianPath(shape=(2,), key=jax.random.key(seed))
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: -args * y),
        diffrax.ControlTerm(lambda t, y, args: 0.2 * jnp.eye(2) + 0.1 * jnp.outer(y, y), path),
    )
    return diffrax.diffeqsolve(
        terms,
        diffrax.Heun(),
        t0=0.0,
        t1=1.0,
        dt0=0.1,
        y0=y0,
        args=rate,
        adjoint=diffrax.DirectAdjoint(),
        max_steps=16,
    ).ys


def _diagonal(seed: Any, y0: Any) -> Any:
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: -y),
        diffrax.ControlTerm(
            lambda t, y, args: lineax.DiagonalLinearOperator(0.2 * jnp.cos(y)), _tree(seed, (2,))
        ),
    )
    return diffrax.diffeqsolve(
        terms,
        diffrax.EulerHeun(),
        t0=0.0,
        t1=1.0,
        dt0=0.1,
        y0=y0,
        saveat=diffrax.SaveAt(steps=True),
        max_steps=16,
    ).ys


def _langevin(solver: Any, levy_area: Any) -> Callable[..., Any]:
    def solve(seed: Any, y0: Any, friction: Any) -> Any:
        potential = jax.grad(lambda x, args: jnp.sum(x**4) / 4)
        path = _tree(seed, (2,), levy_area)
        terms = diffrax.MultiTerm(
            diffrax.UnderdampedLangevinDriftTerm(friction, jnp.asarray(0.5), potential),
            diffrax.UnderdampedLangevinDiffusionTerm(friction, jnp.asarray(0.5), path),
        )
        return diffrax.diffeqsolve(terms, solver, t0=0.0, t1=1.0, dt0=0.1, y0=y0, max_steps=16).ys

    return solve


def _adaptive(seed: Any, y0: Any) -> Any:
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: -(y**3)),
        diffrax.ControlTerm(lambda t, y, args: 0.2 * jnp.eye(2), _tree(seed, (2,), _LEVY)),
    )
    solution = diffrax.diffeqsolve(
        terms,
        diffrax.ShARK(),
        t0=0.0,
        t1=1.0,
        dt0=0.1,
        y0=y0,
        stepsize_controller=diffrax.PIDController(rtol=0.0, atol=0.02, pcoeff=0.1, icoeff=0.3, dtmin=2**-6),
    )
    return solution.ys, solution.stats["num_steps"]


_INCREMENT = diffrax.BrownianIncrement
_AREA = diffrax.SpaceTimeTimeLevyArea
_SCALAR = (
    (diffrax.Euler, _INCREMENT, False),
    (diffrax.EulerHeun, _INCREMENT, False),
    (diffrax.ItoMilstein, _INCREMENT, False),
    (diffrax.StratonovichMilstein, _INCREMENT, False),
    (diffrax.SEA, _LEVY, True),
    (diffrax.SRA1, _LEVY, True),
    (diffrax.ShARK, _LEVY, True),
    (diffrax.GeneralShARK, _LEVY, False),
    (diffrax.SlowRK, _LEVY, False),
    (diffrax.SPaRK, _LEVY, False),
)
_LANGEVIN = ((diffrax.ALIGN, _LEVY), (diffrax.ShOULD, _AREA), (diffrax.QUICSORT, _AREA))

PROGRAMS = (
    *(
        Program(
            name=f"{solver.__name__} SDE",
            fn=_scalar(solver(), levy_area, additive=additive),
            args=(3, 1.0, 0.8),
            shows=(solver,),
        )
        for solver, levy_area, additive in _SCALAR
    ),
    *(
        Program(
            name=f"{solver.__name__} Langevin",
            fn=_langevin(solver(), levy_area),
            args=(3, (np.array([1.0, 0.5]), np.array([0.0, 0.2])), 0.8),
            shows=(solver,),
        )
        for solver, levy_area in _LANGEVIN
    ),
    # Not in float32: its noise depends on the bits of the times of steps, which rounding decides.
    Program(name="UnsafeBrownianPath", fn=_unsafe, args=(3, np.array([1.0, 0.5]), 0.8)),
    Program(name="diagonal noise", fn=_diagonal, args=(3, np.array([1.0, 0.5]))),
    Program(name="adaptive SDE", fn=_adaptive, args=(3, np.array([1.0, 0.5]))),
)
