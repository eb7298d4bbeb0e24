"""The solvers of couplax by name, a way to call them alike, and the equations that they are tested on."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
import optimistix as optx

import couplax as cpx

# Those that take any number of unknowns.
VECTOR: dict[str, Callable[..., Any]] = {
    "newton": cpx.Newton,
    "newton, gmres": partial(cpx.Newton, linear_solver=lx.GMRES(rtol=1e-10, atol=1e-10)),
    "broyden": cpx.Broyden,
    "anderson": cpx.Anderson,
    "gauss-seidel": cpx.GaussSeidel,
    "gauss-seidel, aitken": partial(cpx.GaussSeidel, aitken=True),
    "jacobi": cpx.Jacobi,
}
ALL: dict[str, Callable[..., Any]] = {**VECTOR, "bisection": partial(cpx.Bisection, -20.0, 21.0)}


def fixed_point(
    solver: Any, passed: Callable[[Any, Any], Any], start: Any, args: Any = None, **options: Any
) -> Any:
    """Returns optimistix's solution of passed(y, args) = y, as a closed cycle asks for it."""
    if isinstance(solver, optx.AbstractFixedPointSolver):
        return optx.fixed_point(passed, solver, start, args, options=options, max_steps=None, throw=False)
    return optx.root_find(
        lambda y, args: jax.tree.map(jnp.subtract, passed(y, args), y),
        solver,
        start,
        args,
        options={"changes": True, **options},
        max_steps=None,
        throw=False,
    )


def sellar(y_2: Any, z_1: Any) -> Any:
    """Returns y_2 after one pass over Sellar's disciplines, at x_1 = 1 and z_2 = 2."""
    return jnp.sqrt(jnp.abs(z_1**2 + 3 - 0.2 * y_2)) + z_1 + 2


SELLAR_Y_2 = 4.746618531264915


def is_solved(solution: Any) -> bool:
    """Returns whether optimistix calls the solve successful."""
    return bool(solution.result == optx.RESULTS.successful)


def largest(residual: Any) -> float:
    """Returns the largest |f_i|."""
    return float(optx.max_norm(residual))
