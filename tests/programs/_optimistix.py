"""Optimistix: roots, fixed points, least squares and minima, with their derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from programs._program import Program

_TOLERANCES: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-8}
# Well above rounding, so that this does not decide which step is the last.
_LOOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}


def _system(y: Any, args: Any) -> Any:
    """Returns the residuals of a circle of radius squared `args` and an exponential."""
    return jnp.stack([y[0] ** 2 + y[1] ** 2 - args, jnp.exp(y[0]) + y[1] - 1])


def _cubic(y: Any, args: Any) -> Any:
    return y**3 - args


def _root(solver: Any, fn: Any = _system, **settings: Any) -> Callable[..., Any]:
    def solve(start: Any, args: Any) -> Any:
        return optimistix.root_find(fn, solver, start, args, throw=False, **settings).value

    return solve


def _implicit(start: Any, args: Any) -> Any:
    return jax.jacrev(
        lambda a: optimistix.root_find(_system, optimistix.Newton(**_TOLERANCES), start, a).value
    )(args)


def _direct(start: Any, args: Any) -> Any:
    def value(a: Any) -> Any:
        solver = optimistix.Newton(**_TOLERANCES)
        return optimistix.root_find(
            _cubic, solver, start, a, adjoint=optimistix.RecursiveCheckpointAdjoint(), max_steps=16
        ).value

    return jax.grad(value)(args)


def _fixed(solver: Any) -> Callable[..., Any]:
    def solve(start: Any, args: Any) -> Any:
        def fn(y: Any, a: Any) -> Any:
            return jnp.cos(a * y)

        def value(a: Any) -> Any:
            return jnp.sum(optimistix.fixed_point(fn, solver, start, a).value)

        return jax.value_and_grad(value)(args)

    return solve


def _fit(solver: Any) -> Callable[..., Any]:
    """Returns a fit of `a exp(-b t)` to numbers."""
    times = np.linspace(0.0, 2.0, 8)

    def residuals(y: Any, args: Any) -> Any:
        return y[0] * jnp.exp(-y[1] * jnp.asarray(times, y.dtype)) - args

    def solve(start: Any, measured: Any) -> Any:
        solution = optimistix.least_squares(residuals, solver, start, measured, throw=False)
        return solution.value, solution.stats["num_steps"]

    return solve


def _minimum(solver: Any) -> Callable[..., Any]:
    def rosenbrock(y: Any, args: Any) -> Any:
        return (1 - y[0]) ** 2 + args * (y[1] - y[0] ** 2) ** 2

    def solve(start: Any, args: Any) -> Any:
        solution = optimistix.minimise(rosenbrock, solver, start, args, throw=False, max_steps=64)
        return solution.value, solution.stats["num_steps"]

    return solve


def _golden(args: Any) -> Any:
    solver = optimistix.GoldenSearch(**_TOLERANCES)
    options = {"lower": args - 2, "upper": args + 2}
    return optimistix.minimise(
        lambda y, a: (y - a) ** 2 + jnp.cos(y), solver, args, args, options=options
    ).value


def _bisected(args: Any) -> Any:
    solver = optimistix.Bisection(**_TOLERANCES)
    return optimistix.root_find(_cubic, solver, args, args, options={"lower": 0.0, "upper": 4.0}).value


def _many(starts: Any, args: Any) -> Any:
    def one(a: Any) -> Any:
        return optimistix.root_find(_cubic, optimistix.Newton(**_TOLERANCES), starts, a).value

    return jax.vmap(one)(args)


_START = np.array([-1.0, 0.7])
_MEASURED = 2.0 * np.exp(-1.3 * np.linspace(0.0, 2.0, 8)) + 0.01 * np.cos(np.arange(8.0))
_ROOTS = {
    optimistix.Newton: optimistix.Newton(**_TOLERANCES),
    optimistix.Chord: optimistix.Chord(**_TOLERANCES),
    optimistix.BestSoFarRootFinder: optimistix.BestSoFarRootFinder(optimistix.Newton(**_TOLERANCES)),
}
_FITS = (
    optimistix.GaussNewton,
    optimistix.LevenbergMarquardt,
    optimistix.IndirectLevenbergMarquardt,
    optimistix.Dogleg,
)
_MINIMISERS = (
    optimistix.BFGS,
    optimistix.DFP,
    optimistix.LBFGS,
    optimistix.NonlinearCG,
    optimistix.NelderMead,
)

PROGRAMS = (
    *(
        Program(name=f"root, {each.__name__}", fn=_root(solver), args=(_START, 2.0), shows=(each,))
        for each, solver in _ROOTS.items()
    ),
    Program(name="root, Bisection", fn=_bisected, args=(8.0,), shows=(optimistix.Bisection,)),
    Program(name="root, implicit derivative", fn=_implicit, args=(_START, 2.0)),
    Program(name="root, derivative of the iterations", fn=_direct, args=(1.5, 8.0)),
    Program(name="root, vmapped", fn=_many, args=(1.5, np.array([1.0, 8.0, 100.0]))),
    Program(
        name="fixed point, FixedPointIteration",
        fn=_fixed(optimistix.FixedPointIteration(**_TOLERANCES)),
        args=(np.array([0.2, 0.4]), 0.7),
        shows=(optimistix.FixedPointIteration,),
    ),
    Program(
        name="fixed point, BestSoFarFixedPoint",
        fn=_fixed(optimistix.BestSoFarFixedPoint(optimistix.FixedPointIteration(**_TOLERANCES))),
        args=(np.array([0.2, 0.4]), 0.7),
        shows=(optimistix.BestSoFarFixedPoint,),
    ),
    *(
        Program(
            name=f"least squares, {each.__name__}",
            fn=_fit(each(**_LOOSE)),
            args=(np.array([1.0, 1.0]), _MEASURED),
            shows=(each,),
        )
        for each in _FITS
    ),
    Program(
        name="least squares, BestSoFarLeastSquares",
        fn=_fit(optimistix.BestSoFarLeastSquares(optimistix.LevenbergMarquardt(**_LOOSE))),
        args=(np.array([1.0, 1.0]), _MEASURED),
        shows=(optimistix.BestSoFarLeastSquares,),
    ),
    *(
        Program(
            name=f"minimum, {each.__name__}",
            fn=_minimum(each(**_LOOSE)),
            args=(np.array([0.5, 0.5]), 5.0),
            shows=(each,),
        )
        for each in _MINIMISERS
    ),
    Program(
        name="minimum, GradientDescent",
        fn=_minimum(optimistix.GradientDescent(learning_rate=0.01, **_LOOSE)),
        args=(np.array([0.5, 0.5]), 5.0),
        shows=(optimistix.GradientDescent,),
    ),
    Program(
        name="minimum, BestSoFarMinimiser",
        fn=_minimum(optimistix.BestSoFarMinimiser(optimistix.BFGS(**_LOOSE))),
        args=(np.array([0.5, 0.5]), 5.0),
        shows=(optimistix.BestSoFarMinimiser,),
    ),
    Program(name="minimum, GoldenSearch", fn=_golden, args=(1.0,), shows=(optimistix.GoldenSearch,)),
)
