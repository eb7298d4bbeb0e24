"""Step size controllers, and everything that a solve can be asked to save."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax.numpy as jnp
import numpy as np

from programs._fields import decay, pendulum
from programs._program import Program

_PID = diffrax.PIDController(rtol=1e-6, atol=1e-8)


def _solve(y0: Any, damping: Any, saveat: Any, *, controller: Any = _PID, dt0: Any = 0.1) -> Any:
    return diffrax.diffeqsolve(
        diffrax.ODETerm(pendulum),
        diffrax.Tsit5(),
        t0=0.0,
        t1=2.0,
        dt0=dt0,
        y0=y0,
        args=damping,
        saveat=saveat,
        stepsize_controller=controller,
        max_steps=64,
    )


def _saved(saveat: Callable[[], Any]) -> Callable[..., Any]:
    def solve(y0: Any, damping: Any) -> Any:
        solution = _solve(y0, damping, saveat())
        return solution.ts, solution.ys

    return solve


def _controlled(controller: Callable[[], Any], dt0: Any = 0.1) -> Callable[..., Any]:
    def solve(y0: Any, damping: Any) -> Any:
        solution = _solve(y0, damping, diffrax.SaveAt(t1=True), controller=controller(), dt0=dt0)
        return solution.ys, solution.stats["num_steps"]

    return solve


def _dense(y0: Any, damping: Any, t: Any) -> Any:
    solution = _solve(y0, damping, diffrax.SaveAt(dense=True))
    return solution.evaluate(t), solution.evaluate(0.5, t), solution.derivative(t)


def _dense_times(y0: Any, damping: Any, times: Any) -> Any:
    solution = _solve(y0, damping, diffrax.SaveAt(dense=True))
    return jnp.stack([solution.evaluate(times[k]) for k in range(3)])


def _several(y0: Any, damping: Any) -> Any:
    angle = diffrax.SubSaveAt(ts=jnp.linspace(0.0, 2.0, 7), fn=lambda t, y, args: y[0])
    energy = diffrax.SubSaveAt(t0=True, t1=True, fn=lambda t, y, args: y[1] ** 2 / 2 - jnp.cos(y[0]))
    solution = _solve(y0, damping, diffrax.SaveAt(subs={"angle": angle, "energy": energy}))
    return solution.ts, solution.ys


def _given_times(y0: Any, damping: Any, times: Any) -> Any:
    return _solve(y0, damping, diffrax.SaveAt(ts=times)).ys


def _thousand(y0: Any) -> Any:
    return diffrax.diffeqsolve(
        diffrax.ODETerm(decay), diffrax.Tsit5(), t0=0.0, t1=1.0, dt0=1e-3, y0=y0, max_steps=1001
    ).ys


def _jumping(y0: Any, times: Any) -> Any:
    """Returns a solve whose right-hand side jumps where `times` say."""
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: jnp.where(t < args[0], 1.0, -2.0) * y),
        diffrax.Tsit5(),
        t0=0.0,
        t1=2.0,
        dt0=0.1,
        y0=y0,
        args=times,
        stepsize_controller=diffrax.ClipStepSizeController(_PID, jump_ts=times),
        saveat=diffrax.SaveAt(steps=True),
        max_steps=64,
    ).ys


def _backwards(y0: Any, t1: Any) -> Any:
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(decay), diffrax.Dopri5(), t0=1.0, t1=t1, dt0=None, y0=y0, stepsize_controller=_PID
    )
    return solution.ys, solution.stats["num_steps"]


def _failing(y0: Any) -> Any:
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: y**2),
        diffrax.Tsit5(),
        t0=0.0,
        t1=2.0,
        dt0=0.1,
        y0=y0,
        stepsize_controller=_PID,
        max_steps=20,
        throw=False,
    )
    return solution.ys, diffrax.is_okay(solution.result), solution.result == diffrax.RESULTS.max_steps_reached


_STATE = (np.array([1.0, 0.0]), 0.3)
_SAVES = {
    "SaveAt t0 and t1": lambda: diffrax.SaveAt(t0=True, t1=True),
    "SaveAt ts": lambda: diffrax.SaveAt(ts=jnp.linspace(0.0, 2.0, 21)),
    "SaveAt steps": lambda: diffrax.SaveAt(steps=True),
    "SaveAt every third step": lambda: diffrax.SaveAt(steps=3),
    "SaveAt fn": lambda: diffrax.SaveAt(ts=jnp.linspace(0.0, 2.0, 5), fn=lambda t, y, args: t * y[0] + args),
}
_CONTROLLERS = {
    "StepTo": (lambda: diffrax.StepTo(ts=jnp.array([0.0, 0.1, 0.4, 0.9, 1.5, 2.0])), None),
    "ConstantStepSize": (diffrax.ConstantStepSize, 0.05),
    "PID with all coefficients": (
        lambda: diffrax.PIDController(
            rtol=1e-5, atol=1e-7, pcoeff=0.2, icoeff=0.4, dcoeff=0.05, dtmin=1e-4, dtmax=0.3, factormin=0.3
        ),
        None,
    ),
    "Clip step_ts": (
        lambda: diffrax.ClipStepSizeController(_PID, step_ts=jnp.array([0.33, 1.25]), store_rejected_steps=8),
        0.1,
    ),
}

PROGRAMS = (
    *(
        Program(name=name, fn=_saved(saveat), args=_STATE, single="ts" in name)
        for name, saveat in _SAVES.items()
    ),
    *(
        Program(name=name, fn=_controlled(*controller), args=_STATE)
        for name, controller in _CONTROLLERS.items()
    ),
    Program(
        name="dense evaluate and derivative",
        fn=_dense,
        args=(*_STATE, 1.3),
        trial=(_STATE[0], 0.2, 0.77),
    ),
    Program(name="dense at several times", fn=_dense_times, args=(*_STATE, np.array([0.2, 1.0, 1.7]))),
    Program(name="SaveAt subs", fn=_several, args=_STATE),
    Program(name="SaveAt ts given", fn=_given_times, args=(*_STATE, np.array([0.1, 0.5, 1.7]))),
    Program(name="thousand fixed steps", fn=_thousand, args=(1.0,), single=True),
    Program(name="jump_ts", fn=_jumping, args=(1.0, np.array([0.5, 1.2]))),
    Program(name="backwards in time", fn=_backwards, args=(1.0, 0.2), trial=(1.5, 0.3)),
    Program(name="throw=False", fn=_failing, args=(1.0,), trial=(0.25,)),
)
