"""Anderson acceleration of a fixed-point iteration."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.scipy as jsp
import optimistix as optx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, PyTree, Scalar

from couplax.solve._options import check_iterates
from couplax.solve._progress import AbstractRecorded
from couplax.solve._secant import (
    AbstractMemory,
    Problem,
    Scales,
    SearchState,
    Vector,
    search_advanced,
    search_begun,
    unknowns_scale,
)
from couplax.solve._tolerance import within


class _Window(AbstractMemory):
    """The last moves of y and changes of f, the newest first; zeros where there are none yet."""

    moves: Float[Array, "n memory"]
    changes: Float[Array, "n memory"]
    relaxation: float = eqx.field(static=True)

    def direction(self, residual: Vector) -> Vector:
        """Returns b f - (S + b F) c, where c makes |f - F c| least.

        Source: Fang and Saad (2009), Two classes of multisecant methods for nonlinear acceleration, the
        method of their type II.
        """
        weights = _least_squares(self.changes, residual)
        left = residual - self.changes @ weights
        return self.relaxation * left - self.moves @ weights

    def learned(self, move: Vector, change: Vector) -> "_Window":
        """Returns the window with the new pair in front and the oldest one dropped."""
        return _Window(_pushed(self.moves, move), _pushed(self.changes, change), self.relaxation)


def _pushed(columns: Float[Array, "n memory"], new: Vector) -> Float[Array, "n memory"]:
    return jnp.roll(columns, 1, axis=1).at[:, 0].set(new)


def _least_squares(columns: Float[Array, "n memory"], target: Vector) -> Float[Array, " memory"]:
    """Returns c that makes |target - columns c| least, by QR; columns of zeros take no part.

    The columns are scaled to length one and a small multiple of |c| is kept small besides, so that columns
    that are nearly dependent, as successive changes come to be, do no harm.
    """
    lengths = jnp.linalg.norm(columns, axis=0)
    scales = jnp.where(lengths > 0, lengths, 1)
    count = columns.shape[1]
    weight = float(jnp.finfo(columns.dtype).eps) ** 0.5
    tall = jnp.concatenate([columns / scales[None, :], weight * jnp.eye(count, dtype=columns.dtype)])
    orthogonal, triangle = jnp.linalg.qr(tall)
    projected = orthogonal[: columns.shape[0]].T @ target
    return jsp.linalg.solve_triangular(triangle, projected) / scales


class Anderson(AbstractRecorded, optx.AbstractFixedPointSolver[Any, Any, SearchState]):
    """Anderson acceleration: y <- y + the step that, by the last secants of f(y) = g(y) - y, leaves f least.

    No derivative is asked for, and a step costs one evaluation of g and a least-squares problem of `memory`
    columns, so that it suits many unknowns. With one unknown it is the secant method. A step that makes f
    larger than it was at each of the last five points is taken back and halved.

    Converged: |g_i(y) - y_i| <= atol + rtol |y_i| for every unknown i. The point returned is the last one
    evaluated, so that g was not called there in vain. A tolerance finer than ten roundings of the unknowns'
    precision is taken as that. Lengths are measured in these tolerances, so that the unknowns may differ in
    their units. With `options={"lower": ..., "upper": ...}` every trial is projected into these bounds.

    Attributes:
        memory: how many secants are kept; no more are used than there are unknowns.
        relaxation: how much of what the secants leave of f is added to y, the mixing parameter.
        rtol: relative tolerance; `atol`: absolute tolerance, in the unknowns' units.
        norm: the norm over unknowns in which the tolerance is met; the largest by default.
        max_steps: how many trial points are allowed.

    Source: Anderson (1965), Iterative procedures for nonlinear integral equations; Walker and Ni (2011),
    Anderson acceleration for fixed-point iterations.
    """

    memory: int = 5
    relaxation: float = 1.0
    rtol: float = 1e-8
    atol: float = 1e-8
    norm: Callable[[PyTree[Array]], Scalar] = optx.max_norm
    max_steps: int = 100

    def __check_init__(self) -> None:
        """Refuses a memory of nothing.

        Raises:
            ValueError: `memory` is less than 1.
        """
        if self.memory < 1:
            raise ValueError(
                f"Anderson(memory={self.memory}): a memory of at least 1 is wanted. Without any, use "
                "couplax.GaussSeidel()."
            )

    def init(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        f_struct: Any,
        aux_struct: Any,
        tags: frozenset[object],
    ) -> SearchState:
        """Returns the state at the first point, which costs one evaluation of `fn`.

        Raises:
            ValueError: an unknown has a residual of its own.
        """
        check_iterates(options, y, "Anderson")
        return search_begun(self._problem(fn, y, args, options), ravel_pytree(y)[0], self.max_steps)

    def step(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        state: SearchState,
        tags: frozenset[object],
    ) -> tuple[Any, SearchState, Any]:
        """Returns the point reached after one more trial, the state there, and what `fn` gave besides."""
        point, unravel = ravel_pytree(y)
        point, state, aux = search_advanced(self._problem(fn, y, args, options), point, state)
        return unravel(point), state, aux

    def _problem(self, fn: Callable[..., Any], y: Any, args: Any, options: dict[str, Any]) -> Problem:
        _, unravel = ravel_pytree(y)

        def residual(point: Vector) -> tuple[Vector, Any]:
            value, aux = fn(unravel(point), args)
            return ravel_pytree(value)[0] - point, aux

        def is_solved(point: Vector, residual: Vector, direction: Vector) -> Bool[Array, ""]:
            change, at = unravel(residual), unravel(point)
            return within(change, at, rtol=self.rtol, atol=self.atol, norm=self.norm)

        def first(point: Vector, residual: Vector) -> tuple[Scales, _Window]:
            scale = unknowns_scale(point, residual, rtol=self.rtol, atol=self.atol)
            scales = Scales(scale, scale)
            return scales, self._empty(point, scales)

        return Problem(unravel, options, residual, is_solved, first, self._empty)

    def _empty(self, point: Vector, scales: Scales) -> _Window:
        columns = jnp.zeros((point.size, min(self.memory, point.size)), point.dtype)
        return _Window(columns, columns, self.relaxation)
