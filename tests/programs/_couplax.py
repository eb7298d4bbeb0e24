"""couplax's own models: closed cycles by each solver, nested ones, rates of change, with derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx
from programs._program import Program

_TOLERANCES: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11}


@cpx.component("y_1")
def _first(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
    return z_1**2 + z_2 + x_1 - 0.2 * y_2


@cpx.component("y_2")
def _second(y_1: Any, z_1: Any, z_2: Any) -> Any:
    return jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2


@cpx.component("f")
def _objective(x_1: Any, z_2: Any, y_1: Any, y_2: Any) -> Any:
    return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)


def _sellar(solver: Any) -> Callable[..., Any]:
    model = cpx.Model(_first, _second, _objective).close(solver, cut="y_2")
    return model.function(("z_1", "x_1"), ("f", "y_1", "y_2"), fixed={"z_2": 2.0}, guess={"y_2": 1.0})


def _slopes(z_1: Any, x_1: Any) -> Any:
    model = cpx.Model(_first, _second, _objective).close(cpx.Newton(**_TOLERANCES), cut="y_2")
    f = model.function(("z_1", "x_1"), "f", fixed={"z_2": 2.0}, guess={"y_2": 1.0})
    return jax.grad(f, argnums=(0, 1))(z_1, x_1)


def _many(z_1: Any, x_1: Any) -> Any:
    return jax.vmap(_sellar(cpx.Newton(**_TOLERANCES)), in_axes=(0, None))(z_1, x_1)


def _nested(z_1: Any, load: Any) -> Any:
    """Returns a cycle around the closed Sellar problem, which is a component of it."""
    inner = cpx.Model(_first, _second, _objective).close(cpx.Newton(**_TOLERANCES), cut="y_2")
    f = inner.function(("z_1", "x_1"), "f", fixed={"z_2": 2.0}, guess={"y_2": 1.0})
    cost = cpx.component(lambda z, x: f(z, x), "cost", name="cost")
    answer = cpx.component(lambda cost, load: load + jnp.cos(cost / 8), "x", name="answer")
    outer = cpx.Model(cost, answer).close(cpx.Newton(**_TOLERANCES), cut="x")
    return outer.function(("z", "load"), ("x", "cost"), guess={"x": 1.0})(z_1, load)


@cpx.component("spring")
def _spring(x: Any, stiffness: Any) -> Any:
    return -stiffness * x - x**3


@cpx.rate("x")
def _position(v: Any) -> Any:
    return v


@cpx.rate("v")
def _speed(spring: Any, v: Any, t: Any) -> Any:
    return spring - 0.3 * v + jnp.cos(t)


def _oscillator(**settings: Any) -> Any:
    model = cpx.Model(_spring, _position, _speed)
    return model.close(cpx.Integrate(span=(0.0, 1.0), max_steps=16, rtol=1e-4, atol=1e-6, **settings))


def _trajectory(stiffness: Any, x_0: Any) -> Any:
    model = _oscillator(save=np.linspace(0.0, 1.0, 5))
    return model.function(("stiffness", "x_0"), ("x", "v"), fixed={"v_0": 0.0})(stiffness, x_0)


def _sensitivity(stiffness: Any, x_0: Any) -> Any:
    fn = _oscillator().function(("stiffness", "x_0"), "x", fixed={"v_0": 0.0})
    return jax.value_and_grad(fn, argnums=(0, 1))(stiffness, x_0)


_SOLVERS = {
    "Newton": cpx.Newton(**_TOLERANCES),
    "Broyden": cpx.Broyden(**_TOLERANCES),
    "Anderson": cpx.Anderson(**_TOLERANCES),
    "GaussSeidel": cpx.GaussSeidel(**_TOLERANCES),
    "GaussSeidel, Aitken": cpx.GaussSeidel(aitken=True, **_TOLERANCES),
    "Jacobi": cpx.Jacobi(**_TOLERANCES),
}

PROGRAMS = (
    *(
        Program(name=f"Sellar, {name}", fn=_sellar(solver), args=(1.0, 1.0))
        for name, solver in _SOLVERS.items()
    ),
    Program(name="Sellar, gradient", fn=_slopes, args=(1.0, 1.0)),
    Program(name="Sellar, vmapped", fn=_many, args=(np.array([0.5, 1.0, 2.0]), 1.0)),
    Program(name="a cycle around a cycle", fn=_nested, args=(1.0, 0.5)),
    Program(name="rates in a model", fn=_trajectory, args=(8.0, 0.5)),
    Program(name="rates in a model, gradient", fn=_sensitivity, args=(8.0, 0.5)),
)
