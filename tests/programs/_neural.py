"""Neural differential equations: networks of Equinox in the term, weights closed over or given."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from programs._program import Program


def _mlp(inputs: int, outputs: int) -> Any:
    """Returns a network with weights that are numbers here and now."""
    with jax.ensure_compile_time_eval():
        return eqx.nn.MLP(inputs, outputs, 16, 2, activation=jnp.tanh, key=jax.random.key(5))


def _weights(inputs: int, outputs: int) -> Any:
    """Returns weights, as (matrix, offset) per layer, for a network of one hidden layer."""
    rng = np.random.default_rng(5)
    return (
        (rng.normal(size=(16, inputs)) / 2, rng.normal(size=16) / 4),
        (rng.normal(size=(outputs, 16)) / 4, rng.normal(size=outputs) / 4),
    )


def _ode(y0: Any) -> Any:
    network = _mlp(2, 2)
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: network(y)),
        diffrax.Tsit5(),
        t0=0.0,
        t1=1.0,
        dt0=0.05,
        y0=y0,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 1.0, 5)),
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
    ).ys


def _given(y0: Any, weights: Any) -> Any:
    def field(t: Any, y: Any, args: Any) -> Any:
        (first, shift), (second, offset) = args
        return second @ jax.nn.softplus(first @ y + shift) + offset

    return diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Heun(), t0=0.0, t1=1.0, dt0=0.1, y0=y0, args=weights, max_steps=16
    ).ys


def _module(y0: Any, leaves: Any) -> Any:
    arrays, static = eqx.partition(_mlp(2, 2), eqx.is_array)
    network = eqx.combine(jax.tree.unflatten(jax.tree.structure(arrays), leaves), static)
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: args(y)),
        diffrax.Midpoint(),
        t0=0.0,
        t1=1.0,
        dt0=0.1,
        y0=y0,
        args=network,
        max_steps=16,
    ).ys


def _trained(y0: Any, weights: Any) -> Any:
    """Returns a loss of the neural ODE and its gradient, by discretise-then-optimise."""
    return jax.value_and_grad(lambda w: jnp.sum(_given(y0, w) ** 2))(weights)


def _cde(values: Any) -> Any:
    """Returns a solve driven by a path through `values`, in fixed steps.

    At the knots the path has jumps in its second derivative: there an adaptive solve decides by rounding.
    """
    network = _mlp(3, 6)
    ts = jnp.linspace(0.0, 1.0, 6)
    control = diffrax.CubicInterpolation(ts, diffrax.backward_hermite_coefficients(ts, values))
    term = diffrax.ControlTerm(lambda t, y, args: network(y).reshape(3, 2), control).to_ode()
    y0 = jnp.zeros(3, values.dtype)
    return diffrax.diffeqsolve(term, diffrax.Tsit5(), t0=0.0, t1=1.0, dt0=0.1, y0=y0, max_steps=16).ys


def _forced(y0: Any, values: Any) -> Any:
    force = diffrax.LinearInterpolation(jnp.linspace(0.0, 1.0, 6), values)
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: args.evaluate(t) - y),
        diffrax.Dopri5(),
        t0=0.0,
        t1=1.0,
        dt0=0.05,
        y0=y0,
        args=force,
        max_steps=32,
    ).ys


def _controlled(y0: Any, values: Any) -> Any:
    control = diffrax.LinearInterpolation(jnp.linspace(0.0, 1.0, 6), values)
    term = diffrax.ControlTerm(lambda t, y, args: -y, control)
    return diffrax.diffeqsolve(term, diffrax.Euler(), t0=0.0, t1=1.0, dt0=0.05, y0=y0, max_steps=32).ys


def _sde(seed: Any, y0: Any) -> Any:
    drift, diffusion = _mlp(2, 2), _mlp(2, 4)
    path = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(2,), key=jax.random.key(seed))
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: drift(y)),
        diffrax.ControlTerm(lambda t, y, args: diffusion(y).reshape(2, 2), path),
    )
    return diffrax.diffeqsolve(
        terms, diffrax.ReversibleHeun(), t0=0.0, t1=1.0, dt0=0.05, y0=y0, max_steps=32
    ).ys


def _leaves() -> list[Any]:
    rng = np.random.default_rng(5)
    shapes = ((16, 2), (16,), (16, 16), (16,), (2, 16), (2,))
    return [rng.normal(size=shape) / 4 for shape in shapes]


_START = np.array([0.5, -0.2])
_PATH = np.stack([np.linspace(0.0, 1.0, 6), np.sin(np.linspace(0.0, 3.0, 6))], axis=1)

PROGRAMS = (
    Program(name="neural ODE", fn=_ode, args=(_START,), single=True),
    Program(name="neural ODE, weights given", fn=_given, args=(_START, _weights(2, 2)), single=True),
    Program(name="neural ODE, module given", fn=_module, args=(_START, _leaves())),
    Program(name="neural ODE, loss and gradient", fn=_trained, args=(_START, _weights(2, 2))),
    Program(name="neural CDE", fn=_cde, args=(_PATH,)),
    Program(name="neural SDE", fn=_sde, args=(3, _START)),
    Program(name="force interpolated linearly", fn=_forced, args=(1.0, np.sin(np.arange(6.0)))),
    Program(name="control interpolated linearly", fn=_controlled, args=(1.0, np.sin(np.arange(6.0)))),
)
