"""Events: with and without root finding, one or several, discrete ones, steady states."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from programs._program import Program

# Loose, and the first step long: an error estimate near rounding would leave the steps to rounding.
_PID = diffrax.PIDController(rtol=1e-5, atol=1e-7)
_FALL = (np.array([10.0, 0.0]), 9.81)
_STARTS = np.array([[10.0, 0.0], [5.0, 1.0], [20.0, -2.0]])


def _falling(t: Any, y: Any, args: Any) -> Any:
    return jnp.stack([y[1], -args + 0.1 * y[1] ** 2])


def _fall(y0: Any, gravity: Any, event: Any, **settings: Any) -> Any:
    return diffrax.diffeqsolve(
        diffrax.ODETerm(_falling),
        diffrax.Tsit5(),
        t0=0.0,
        t1=jnp.inf,
        dt0=0.4,
        y0=y0,
        args=gravity,
        stepsize_controller=_PID,
        event=event,
        max_steps=256,
        **settings,
    )


def _height(t: Any, y: Any, args: Any, **keywords: Any) -> Any:
    return y[0]


def _speed(t: Any, y: Any, args: Any, **keywords: Any) -> Any:
    return y[1] + 8.0


def _root(y0: Any, gravity: Any) -> Any:
    event = diffrax.Event(_height, optimistix.Newton(1e-9, 1e-9))
    solution = _fall(y0, gravity, event)
    return solution.ts, solution.ys, solution.event_mask, solution.stats["num_steps"]


def _bisected(y0: Any, gravity: Any) -> Any:
    event = diffrax.Event(_height, optimistix.Bisection(1e-9, 1e-9), direction=False)
    solution = _fall(y0, gravity, event, saveat=diffrax.SaveAt(t1=True))
    return solution.ts, solution.ys


def _rootless(y0: Any, gravity: Any) -> Any:
    event = diffrax.Event(lambda t, y, args, **keywords: y[0] < 0.0)
    solution = _fall(y0, gravity, event)
    return solution.ts, solution.ys, solution.stats["num_steps"]


def _several(y0: Any, gravity: Any) -> Any:
    event = diffrax.Event({"height": _height, "speed": _speed}, optimistix.Newton(1e-9, 1e-9))
    solution = _fall(y0, gravity, event, throw=False)
    return solution.ts, solution.ys, solution.event_mask


def _saved(y0: Any, gravity: Any) -> Any:
    event = diffrax.Event(_height, optimistix.Newton(1e-9, 1e-9))
    solution = _fall(y0, gravity, event, saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 3.0, 13)))
    return solution.ts, solution.ys


def _time_of_fall(y0: Any, gravity: Any) -> Any:
    event = diffrax.Event(_height, optimistix.Newton(1e-9, 1e-9))
    return _fall(y0, gravity, event).ts[0]


def _settling(y0: Any, rate: Any) -> Any:
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: args - y**3),
        diffrax.Tsit5(),
        t0=0.0,
        t1=jnp.inf,
        dt0=0.1,
        y0=y0,
        args=rate,
        stepsize_controller=_PID,
        event=diffrax.Event(diffrax.steady_state_event(rtol=1e-6, atol=1e-6)),
        max_steps=None,
        adjoint=diffrax.ImplicitAdjoint(),
    )
    return solution.ys


def _settled(y0: Any, rate: Any) -> Any:
    return _settling(y0, rate), jax.grad(lambda r: jnp.sum(_settling(y0, r)))(rate)


def _vmapped(y0: Any, gravity: Any) -> Any:
    return jax.vmap(_root, in_axes=(0, None))(y0, gravity)


PROGRAMS = (
    Program(name="event with Newton", fn=_root, args=_FALL),
    Program(name="event with Bisection", fn=_bisected, args=_FALL),
    Program(name="event without a root", fn=_rootless, args=_FALL),
    Program(name="several events", fn=_several, args=_FALL),
    Program(name="event and SaveAt ts", fn=_saved, args=_FALL),
    Program(
        name="gradient of an event's time",
        fn=jax.grad(_time_of_fall, argnums=(0, 1)),
        args=_FALL,
    ),
    Program(name="steady state and its gradient", fn=_settled, args=(np.array([0.2, 0.5]), 1.5)),
    Program(
        name="vmapped events",
        fn=_vmapped,
        args=(_STARTS, 9.81),
    ),
)
