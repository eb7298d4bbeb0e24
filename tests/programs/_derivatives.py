"""Solves under `vmap` and `grad`, by every adjoint that Diffrax has."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from programs._fields import growth, lorenz, pendulum
from programs._program import Program

_PID = diffrax.PIDController(rtol=1e-4, atol=1e-6)


def _end(y0: Any, damping: Any, **settings: Any) -> Any:
    return diffrax.diffeqsolve(
        diffrax.ODETerm(pendulum),
        diffrax.Tsit5(),
        t0=0.0,
        t1=1.0,
        dt0=0.1,
        y0=y0,
        args=damping,
        max_steps=16,
        **settings,
    ).ys


def _gradient(adjoint: Any, controller: Any = _PID) -> Callable[..., Any]:
    def loss(y0: Any, damping: Any) -> Any:
        return jnp.sum(_end(y0, damping, adjoint=adjoint, stepsize_controller=controller) ** 2)

    return jax.value_and_grad(loss, argnums=(0, 1))


def _forward(y0: Any, damping: Any) -> Any:
    def end(y: Any) -> Any:
        return _end(y, damping, adjoint=diffrax.ForwardMode(), stepsize_controller=_PID)

    return jax.jacfwd(end)(y0)


def _tangent(y0: Any, damping: Any) -> Any:
    def end(y: Any, d: Any) -> Any:
        return _end(y, d, adjoint=diffrax.DirectAdjoint(), stepsize_controller=_PID)

    return jax.jvp(end, (y0, damping), (jnp.ones_like(y0), jnp.ones_like(damping)))


def _pulled(y0: Any, damping: Any, cotangent: Any) -> Any:
    ends, pull = jax.vjp(lambda y: _end(y, damping, saveat=diffrax.SaveAt(ts=jnp.array([0.5, 1.0]))), y0)
    return ends, pull(cotangent)


def _hessian(y0: Any, rate: Any) -> Any:
    def end(r: Any) -> Any:
        solution: Any = diffrax.diffeqsolve(
            diffrax.ODETerm(growth),
            diffrax.Heun(),
            t0=0.0,
            t1=1.0,
            dt0=0.1,
            y0=y0,
            args=r,
            adjoint=diffrax.DirectAdjoint(),
            max_steps=11,
        )
        return solution.ys[0]

    return jax.grad(jax.grad(end))(rate)


def _many(y0: Any) -> Any:
    """Returns solves of different numbers of steps, one per row of `y0`."""

    def one(y: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lorenz),
            diffrax.Tsit5(),
            t0=0.0,
            t1=0.3,
            dt0=0.05,
            y0=y,
            stepsize_controller=_PID,
        )
        return solution.ys, solution.stats["num_steps"]

    return jax.vmap(one)(y0)


def _many_rates(y0: Any, rates: Any) -> Any:
    return jax.vmap(lambda rate: _end(y0, rate, stepsize_controller=_PID))(rates)


def _many_keys(seed: Any, y0: Any) -> Any:
    def one(key: Any) -> Any:
        path = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: -y), diffrax.ControlTerm(lambda t, y, args: 0.2 * y, path)
        )
        return diffrax.diffeqsolve(
            terms, diffrax.EulerHeun(), t0=0.0, t1=1.0, dt0=0.1, y0=y0, max_steps=16
        ).ys

    return jax.vmap(one)(jax.random.split(jax.random.key(seed), 4))


def _many_gradients(y0: Any, damping: Any) -> Any:
    return jax.vmap(_gradient(diffrax.RecursiveCheckpointAdjoint()), in_axes=(0, None))(y0, damping)


_STATE = (np.array([1.0, 0.0]), 0.3)
_ROWS = np.array([[1.0, 2.0, 3.0], [0.0, 10.0, 40.0], [0.1, 0.1, 0.1], [-8.0, 8.0, 27.0]])
_FIXED = diffrax.ConstantStepSize()

PROGRAMS = (
    Program(
        name="gradient, RecursiveCheckpointAdjoint",
        fn=_gradient(diffrax.RecursiveCheckpointAdjoint()),
        args=_STATE,
    ),
    Program(
        name="gradient, checkpoints, fixed steps",
        fn=_gradient(diffrax.RecursiveCheckpointAdjoint(checkpoints=3), _FIXED),
        args=_STATE,
    ),
    Program(name="gradient, DirectAdjoint", fn=_gradient(diffrax.DirectAdjoint()), args=_STATE),
    Program(name="gradient, BacksolveAdjoint", fn=_gradient(diffrax.BacksolveAdjoint()), args=_STATE),
    Program(name="Jacobian, ForwardMode", fn=_forward, args=_STATE),
    Program(name="tangent", fn=_tangent, args=_STATE),
    Program(name="cotangent of saved values", fn=_pulled, args=(*_STATE, _ROWS[1:3, :2])),
    Program(name="second derivative", fn=_hessian, args=(0.2, 1.5)),
    Program(name="vmap over starts", fn=_many, args=(_ROWS,)),
    Program(name="vmap over rates", fn=_many_rates, args=(np.array([1.0, 0.0]), np.array([0.1, 0.5, 2.0]))),
    Program(name="vmap over keys", fn=_many_keys, args=(3, 1.0)),
    Program(
        name="vmap of a gradient",
        fn=_many_gradients,
        args=(_ROWS[:2, :2], 0.3),
    ),
)
