"""Implicit solvers on stiff equations, and those that split them in an explicit and an implicit part."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax.numpy as jnp
import numpy as np

from programs._fields import RATES, ROBERTSON, robertson, van_der_pol
from programs._program import Program


def _adaptive(terms: Any, solver: Any, rtol: float, atol: float, t1: float = 1.0) -> Callable[..., Any]:
    """Returns an adaptive solve from 0 to `t1`, and how many steps it took."""

    def solve(y0: Any, args: Any) -> Any:
        controller = diffrax.PIDController(rtol=rtol, atol=atol)
        solution = diffrax.diffeqsolve(
            terms, solver, t0=0.0, t1=t1, dt0=0.01, y0=y0, args=args, stepsize_controller=controller
        )
        return solution.ys, solution.stats["num_steps"]

    return solve


def _stiff(solver: Any) -> Callable[..., Any]:
    return _adaptive(diffrax.ODETerm(van_der_pol), solver, 1e-5, 1e-7)


def _split(solver: Any) -> Callable[..., Any]:
    """Returns a solve of `dy/dt = args (cos t - y)`, whose stiff part alone is taken implicitly."""
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: jnp.broadcast_to(args * jnp.cos(t), y.shape)),
        diffrax.ODETerm(lambda t, y, args: -args * y),
    )
    return _adaptive(terms, solver, 1e-3, 1e-6)


_backward = _adaptive(
    diffrax.ODETerm(lambda t, y, args: -args * y**3), diffrax.ImplicitEuler(), 1e-3, 1e-5, t1=0.5
)


def _reactions(y0: Any, rates: Any) -> Any:
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(robertson),
        diffrax.Kvaerno5(),
        t0=0.0,
        t1=1.0,
        dt0=2e-4,
        y0=y0,
        args=rates,
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-8),
        saveat=diffrax.SaveAt(ts=jnp.array([1e-2, 0.1, 1.0])),
    )
    return solution.ys, solution.stats["num_steps"]


_START = np.array([2.0, 0.5])
_STIFF = (diffrax.Kvaerno3, diffrax.Kvaerno4, diffrax.Kvaerno5)
_SPLIT = (diffrax.KenCarp3, diffrax.KenCarp4, diffrax.KenCarp5, diffrax.Sil3)

PROGRAMS = (
    *(
        Program(name=each.__name__, fn=_stiff(each()), args=(np.array([2.0, 0.0]), 20.0), shows=(each,))
        for each in _STIFF
    ),
    *(Program(name=each.__name__, fn=_split(each()), args=(_START, 8.0), shows=(each,)) for each in _SPLIT),
    Program(name="ImplicitEuler", fn=_backward, args=(_START, 8.0), shows=(diffrax.ImplicitEuler,)),
    Program(name="Kvaerno5 Robertson", fn=_reactions, args=(ROBERTSON, RATES)),
)
