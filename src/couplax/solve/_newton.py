"""Newton's method with a backtracking line search."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx
import optimistix as optx
from jaxtyping import Array, Bool, PyTree, Scalar

from couplax.solve._options import changes_of, kept_within_bounds
from couplax.solve._progress import AbstractRecorded, Progress, advanced, begun, picked
from couplax.solve._tolerance import errors, estimated_error, within

_SUFFICIENT_DECREASE = 1e-4
_SMALLEST_FRACTION = 2.0**-24


class _NewtonState(eqx.Module):
    """Where the iteration stands.

    Attributes:
        direction: the Newton direction that is being searched; `fraction`: how much of it was last tried.
        accepted: whether the last trial became the point reached, so that a new direction is due.
    """

    progress: Progress
    direction: PyTree[Array]
    fraction: Scalar
    accepted: Bool[Array, ""]


class Newton(AbstractRecorded, optx.AbstractRootFinder[Any, Any, Any, _NewtonState]):
    """Newton's method: y <- y - s J(y)^-1 f(y), with s halved from 1 until |f| falls enough.

    The residual is tested before a Jacobian is asked for, so that the last iterate costs one evaluation of f
    alone. A step of the iteration is one trial point; a Jacobian is evaluated after each accepted one.

    Converged: e_i <= atol + rtol |y_i| for every unknown i. Where f_i is the change of y_i through one pass
    over a cycle (optimistix's `options={"changes": True}`, or a pytree of them), e_i is |f_i|. A residual of
    units of its own says nothing of y: there e_i is the last Newton step times what its full length left of
    the residual, |d_i| max_j min(1, |f_j new| / |f_j old|). A residual of zero is converged. A tolerance
    finer than ten roundings of the unknowns' precision is taken as that.

    With `options={"lower": ..., "upper": ...}` every trial point is projected into these bounds.

    Attributes:
        rtol: relative tolerance; `atol`: absolute tolerance, in the unknowns' units.
        norm: the norm over unknowns in which the tolerance is met; the largest by default.
        linear_solver: what solves J s = -f; by default chosen by lineax from J's structure. An iterative one,
            such as `lineax.GMRES(rtol=1e-6, atol=1e-6)`, needs products with J alone: one linearisation a
            step, and no matrix.
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
        untold = jax.tree.map(jnp.zeros_like, y)
        converged = self._has_converged(options, y, residual, residual, untold, jnp.array(False))
        return _NewtonState(
            progress=begun(residual, converged, self.max_steps),
            direction=untold,
            fraction=jnp.ones_like(optx.two_norm(residual)),
            accepted=jnp.array(True),
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
        old = state.progress.residual
        direction, fraction, result = jax.lax.cond(
            state.accepted,
            lambda: self._direction(fn, y, args, state, tags),
            lambda: (state.direction, state.fraction / 2, state.progress.result),
        )
        trial, is_full = self._trial(options, y, direction, fraction)
        residual, aux = fn(trial, args)
        converged = self._has_converged(options, trial, old, residual, direction, is_full)
        falls = optx.two_norm(residual) <= (1 - _SUFFICIENT_DECREASE * fraction) * optx.two_norm(old)
        accepted = converged | falls
        result = _stalled_where(~accepted & (fraction < _SMALLEST_FRACTION), result)
        residual = picked(accepted, residual, old)
        reached = _NewtonState(
            progress=advanced(state.progress, residual, converged, result),
            direction=direction,
            fraction=fraction,
            accepted=accepted,
        )
        return picked(accepted, trial, y), reached, aux

    def _trial(
        self, options: dict[str, Any], y: Any, direction: Any, fraction: Scalar
    ) -> tuple[Any, Bool[Array, ""]]:
        """Returns the trial point within the bounds, and whether it is the whole step away."""
        aim = jax.tree.map(lambda at, move: at + (fraction * move).astype(at.dtype), y, direction)
        trial = kept_within_bounds(options, aim)
        return trial, (fraction == 1) & self._is_small(jax.tree.map(jnp.subtract, trial, aim), trial)

    def _has_converged(
        self, options: dict[str, Any], y: Any, old: Any, new: Any, direction: Any, is_full: Bool[Array, ""]
    ) -> Bool[Array, ""]:
        estimate = estimated_error(direction, old, new, is_full)
        is_small = self._is_small(errors(new, estimate, changes_of(options, y)), y)
        return is_small & jnp.isfinite(optx.max_norm(new))

    def _is_small(self, error: Any, y: Any) -> Bool[Array, ""]:
        return within(error, y, rtol=self.rtol, atol=self.atol, norm=self.norm)

    def _direction(
        self, fn: Callable[..., Any], y: Any, args: Any, state: _NewtonState, tags: frozenset[object]
    ) -> tuple[Any, Scalar, optx.RESULTS]:
        """Returns the Newton direction, the full fraction of it, and `singular` where it is not finite."""
        _, jacobian, _ = jax.linearize(lambda at: fn(at, args), y, has_aux=True)
        operator = lx.FunctionLinearOperator(jacobian, jax.eval_shape(lambda: y), tags=tags)
        target = jax.tree.map(jnp.negative, state.progress.residual)
        # One unknown is a division, where lineax's BiCGStab would break down.
        is_one = sum(leaf.size for leaf in jax.tree.leaves(y)) == 1
        solver = lx.AutoLinearSolver(well_posed=True) if is_one else self.linear_solver
        solution = lx.linear_solve(operator, target, solver, throw=False)
        is_finite = jnp.isfinite(optx.max_norm(solution.value))
        result = optx.RESULTS.where(is_finite, optx.RESULTS.successful, _SINGULAR)
        return solution.value, jnp.ones_like(state.fraction), result


_SINGULAR: Any = optx.RESULTS.singular
_STALLED: Any = optx.RESULTS.nonlinear_divergence


def _stalled_where(stalled: Bool[Array, ""], result: optx.RESULTS) -> optx.RESULTS:
    return optx.RESULTS.where(stalled & (result == optx.RESULTS.successful), _STALLED, result)
