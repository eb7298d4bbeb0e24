"""Newton's method with a backtracking line search."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx
import optimistix as optx
from jaxtyping import Array, Bool, PyTree, Scalar

from couplax.solve._tolerance import within

_SUFFICIENT_DECREASE = 1e-4
_SMALLEST_FRACTION = 2.0**-24


class _NewtonState(eqx.Module):
    """Where the iteration stands.

    Attributes:
        residual: f at the point reached; `size`: its two-norm.
        direction: the Newton direction that is being searched; `fraction`: how much of it was last tried.
        accepted: whether the last trial became the point reached, so that a new direction is due.
        converged: whether the residual is within tolerance.
        result: what the linear solve said.
    """

    residual: PyTree[Array]
    size: Scalar
    direction: PyTree[Array]
    fraction: Scalar
    accepted: Bool[Array, ""]
    converged: Bool[Array, ""]
    result: optx.RESULTS


class Newton(optx.AbstractRootFinder[Any, Any, Any, _NewtonState]):
    """Newton's method: y <- y - s J(y)^-1 f(y), with s halved from 1 until |f| falls enough.

    The residual is tested before a Jacobian is asked for, so that the last iterate costs one evaluation of f
    alone. A step of the iteration is one trial point; a Jacobian is evaluated after each accepted one.

    Converged: |f_i| <= atol + rtol |y_i| for every unknown i, the residual of a cycle being the change of its
    cut variables through one pass. A tolerance finer than ten roundings of the unknowns' precision is taken
    as that.

    Attributes:
        rtol: relative tolerance; `atol`: absolute tolerance, in the unknowns' units.
        norm: the norm over unknowns in which the tolerance is met; the largest by default.
        linear_solver: what solves J s = -f; by default chosen by lineax from J's structure.
        max_steps: how many trial points are allowed.

    Source: Nocedal and Wright (2006), Numerical Optimization, section 11.2; the decrease asked for is theirs,
    c1 = 1e-4.
    """

    rtol: float = 1e-8
    atol: float = 1e-8
    norm: Callable[[PyTree[Array]], Scalar] = optx.max_norm
    linear_solver: lx.AbstractLinearSolver[Any] = lx.AutoLinearSolver(well_posed=True)
    max_steps: int = 100

    def init(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        f_struct: Any,
        aux_struct: Any,
        tags: frozenset[object],
    ) -> _NewtonState:
        """Returns the state at the first point, which costs one evaluation of `fn`."""
        residual, _ = fn(y, args)
        size = optx.two_norm(residual)
        return _NewtonState(
            residual=residual,
            size=size,
            direction=jax.tree.map(jnp.zeros_like, y),
            fraction=jnp.ones_like(size),
            accepted=jnp.array(True),
            converged=within(residual, y, rtol=self.rtol, atol=self.atol, norm=self.norm),
            result=optx.RESULTS.successful,
        )

    def step(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        state: _NewtonState,
        tags: frozenset[object],
    ) -> tuple[Any, _NewtonState, Any]:
        """Returns the point reached after one more trial, the state there, and what `fn` gave besides."""
        direction, fraction, result = jax.lax.cond(
            state.accepted,
            lambda: self._direction(fn, y, args, state, tags),
            lambda: (state.direction, state.fraction / 2, state.result),
        )
        trial = jax.tree.map(lambda old, move: old + fraction * move, y, direction)
        residual, aux = fn(trial, args)
        size = optx.two_norm(residual)
        converged = within(residual, trial, rtol=self.rtol, atol=self.atol, norm=self.norm)
        accepted = converged | (size <= (1 - _SUFFICIENT_DECREASE * fraction) * state.size)

        def pick(new: Any, old: Any) -> Any:
            return jax.tree.map(lambda a, b: jnp.where(accepted, a, b), new, old)

        reached = _NewtonState(
            residual=pick(residual, state.residual),
            size=pick(size, state.size),
            direction=direction,
            fraction=fraction,
            accepted=accepted,
            converged=converged,
            result=result,
        )
        return pick(trial, y), reached, aux

    def _direction(
        self, fn: Callable[..., Any], y: Any, args: Any, state: _NewtonState, tags: frozenset[object]
    ) -> tuple[Any, Scalar, optx.RESULTS]:
        _, jacobian, _ = jax.linearize(lambda at: fn(at, args), y, has_aux=True)
        operator = lx.FunctionLinearOperator(jacobian, jax.eval_shape(lambda: y), tags=tags)
        target = jax.tree.map(jnp.negative, state.residual)
        solution = lx.linear_solve(operator, target, self.linear_solver, throw=False)
        finite = jnp.array([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(solution.value)]).all()
        singular: Any = optx.RESULTS.singular
        failure = optx.RESULTS.where(jnp.isfinite(state.size), singular, optx.RESULTS.nonfinite)
        result = optx.RESULTS.where(finite, optx.RESULTS.successful, failure)
        return solution.value, jnp.ones_like(state.fraction), result

    def terminate(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        state: _NewtonState,
        tags: frozenset[object],
    ) -> tuple[Bool[Array, ""], optx.RESULTS]:
        """Returns whether the iteration ends here, and how: converged, singular, or stalled."""
        stalled = ~state.accepted & (state.fraction < _SMALLEST_FRACTION)
        outcome = optx.RESULTS.where(stalled, optx.RESULTS.nonlinear_divergence, state.result)
        failed = outcome != optx.RESULTS.successful
        result = optx.RESULTS.where(state.converged, optx.RESULTS.successful, outcome)
        return state.converged | failed, result

    def postprocess(
        self,
        fn: Callable[..., Any],
        y: Any,
        aux: Any,
        args: Any,
        options: dict[str, Any],
        state: _NewtonState,
        tags: frozenset[object],
        result: optx.RESULTS,
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Returns the point reached as it is."""
        return y, aux, {}
