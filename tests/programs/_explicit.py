"""Explicit solvers, each with the steps that suit it."""

from collections.abc import Callable
from typing import Any

import diffrax
import numpy as np

from programs._fields import LORENZ, growth, lorenz, pendulum
from programs._program import Program


def _fixed(solver: Any) -> Callable[..., Any]:
    def solve(y0: Any, rate: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(growth), solver, t0=0.0, t1=1.0, dt0=0.05, y0=y0, args=rate, max_steps=32
        )
        return solution.ys, solution.stats["num_steps"]

    return solve


def _adaptive(solver: Any) -> Callable[..., Any]:
    def solve(y0: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lorenz),
            solver,
            t0=0.0,
            t1=0.5,
            dt0=None,
            y0=y0,
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
        )
        return solution.ys, solution.stats["num_steps"], solution.stats["num_rejected_steps"]

    return solve


def _swinging(solver: Any) -> Callable[..., Any]:
    def solve(y0: Any, damping: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(pendulum), solver, t0=0.0, t1=2.0, dt0=0.02, y0=y0, args=damping
        )
        return solution.ys

    return solve


def _energy(y0: Any) -> Any:
    terms = diffrax.ODETerm(lambda t, q, args: q), diffrax.ODETerm(lambda t, p, args: -p)
    solution = diffrax.diffeqsolve(terms, diffrax.SemiImplicitEuler(), t0=0.0, t1=1.0, dt0=0.01, y0=y0)
    return solution.ys


def _halved(y0: Any, damping: Any) -> Any:
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(pendulum),
        diffrax.HalfSolver(diffrax.Midpoint()),
        t0=0.0,
        t1=1.0,
        dt0=0.1,
        y0=y0,
        args=damping,
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6),
    )
    return solution.ys, solution.stats["num_steps"]


_FIXED = (diffrax.Euler, diffrax.Heun, diffrax.Midpoint, diffrax.Ralston)
_ADAPTIVE = (diffrax.Bosh3, diffrax.Tsit5, diffrax.Dopri5, diffrax.Dopri8, diffrax.Heun)
_SWINGING = (diffrax.LeapfrogMidpoint, diffrax.ReversibleHeun)

PROGRAMS = (
    *(
        Program(name=f"{each.__name__} fixed", fn=_fixed(each()), args=(0.2, 1.5), shows=(each,), single=True)
        for each in _FIXED
    ),
    *(
        Program(
            name=f"{each.__name__} adaptive",
            fn=_adaptive(each()),
            args=(LORENZ,),
            shows=(each,),
        )
        for each in _ADAPTIVE
    ),
    *(
        Program(name=each.__name__, fn=_swinging(each()), args=(np.array([1.0, 0.0]), 0.3), shows=(each,))
        for each in _SWINGING
    ),
    Program(name="SemiImplicitEuler", fn=_energy, args=((1.0, 0.5),), shows=(diffrax.SemiImplicitEuler,)),
    Program(name="HalfSolver", fn=_halved, args=(np.array([1.0, 0.0]), 0.3), shows=(diffrax.HalfSolver,)),
)
