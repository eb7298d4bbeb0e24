"""Broyden's method, begun from what a fixed-point iteration knows."""

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, PyTree, Scalar

from couplax.solve._options import changes_of
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

_SMALLEST_CURVATURE = 0.1


class _Inverse(AbstractMemory):
    """An estimate H of J^-1, corrected by rank one along each move so that H df = dy.

    Source: Broyden (1965), A class of methods for solving nonlinear simultaneous equations, his good method,
    in the form of its inverse. Damped after Powell (1970), A hybrid method for nonlinear equations: the
    correction is shortened where it would make H nearly singular.
    """

    matrix: Float[Array, "n n"]

    def direction(self, residual: Vector) -> Vector:
        """Returns -H f."""
        return -self.matrix @ residual

    def learned(self, move: Vector, change: Vector) -> "_Inverse":
        """Returns H + w (s - H df) s^T H / (s^T s + w s^T (H df - s)), w = 1 but where that is damped."""
        predicted = self.matrix @ change
        length = move @ move
        curvature = move @ predicted / jnp.where(length > 0, length, 1)
        least = jnp.where(curvature < 0, -_SMALLEST_CURVATURE, _SMALLEST_CURVATURE)
        weight = jnp.where(jnp.abs(curvature) < _SMALLEST_CURVATURE, (1 - least) / (1 - curvature), 1.0)
        scale = weight / (length * (1 + weight * (curvature - 1)))
        correction = scale * jnp.outer(move - predicted, move @ self.matrix)
        return _Inverse(self.matrix + jnp.where(length > 0, correction, 0))


class Broyden(AbstractRecorded, optx.AbstractRootFinder[Any, Any, Any, SearchState]):
    """Broyden's method: y <- y - H f(y), where H estimates J^-1 and learns from every evaluation.

    For the unknowns of a cycle, whose f_i is the change of y_i through one pass, the first H is that of the
    fixed-point iteration, -1: no derivative is ever asked for, and a step costs one evaluation of f. Where
    f_i is a general residual its row of the Jacobian is computed at the start, and once more where the search
    fails. H is a dense matrix: meant for up to some hundreds of unknowns.

    Converged: e_i <= atol + rtol |y_i| for every unknown i, where e_i is |f_i| for an unknown of a cycle
    (`options={"changes": True}`, or a pytree of them), else the length of the next step, |(H f)_i|. The point
    returned is the last one evaluated. A tolerance finer than ten roundings of the unknowns' precision is
    taken as that. Lengths are measured in these tolerances, so that the unknowns may differ in their units.
    With `options={"lower": ..., "upper": ...}` every trial is projected into these bounds.

    Attributes:
        rtol: relative tolerance; `atol`: absolute tolerance, in the unknowns' units.
        norm: the norm over unknowns in which the tolerance is met; the largest by default.
        max_steps: how many trial points are allowed.

    Source: Broyden (1965), A class of methods for solving nonlinear simultaneous equations; Dennis and
    Schnabel (1983), Numerical Methods for Unconstrained Optimization and Nonlinear Equations, chapter 8, for
    beginning anew where the search fails.
    """

    rtol: float = 1e-8
    atol: float = 1e-8
    norm: Callable[[PyTree[Array]], Scalar] = optx.max_norm
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
    ) -> SearchState:
        """Returns the state at the first point: one evaluation of `fn`, and a Jacobian if residuals need it.

        Raises:
            ValueError: there are not as many residuals as unknowns.
        """
        sizes = [sum(leaf.size for leaf in jax.tree.leaves(tree)) for tree in (f_struct, y)]
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"Broyden solves as many equations as there are unknowns; it was given {sizes[0]} residuals "
                f"for {sizes[1]} unknowns. Use optimistix.LevenbergMarquardt for least squares."
            )
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
        changes = jax.tree.leaves(changes_of(options, y))
        is_change = np.repeat(changes, [leaf.size for leaf in jax.tree.leaves(y)])

        def residual(point: Vector) -> tuple[Vector, Any]:
            value, aux = fn(unravel(point), args)
            return ravel_pytree(value)[0], aux

        def general(point: Vector) -> Float[Array, " general"]:
            leaves = jax.tree.leaves(fn(unravel(point), args)[0])
            return ravel_pytree(leaves if not any(changes) else _left_out(leaves, changes))[0]

        def is_solved(point: Vector, residual: Vector, direction: Vector) -> Bool[Array, ""]:
            error = unravel(jnp.where(is_change, residual, direction))
            return within(error, unravel(point), rtol=self.rtol, atol=self.atol, norm=self.norm)

        def first(point: Vector, residual: Vector) -> tuple[Scales, _Inverse]:
            if is_change.all():
                scale = unknowns_scale(point, residual, rtol=self.rtol, atol=self.atol)
                return Scales(scale, scale), _Inverse(-jnp.eye(point.size, dtype=point.dtype))
            jacobian = _first_jacobian(general, point, is_change)
            step = -jnp.linalg.solve(jacobian, residual)
            scale = unknowns_scale(point, step, rtol=self.rtol, atol=self.atol)
            scales = Scales(scale, _residuals_scale(jacobian, scale))
            return scales, _inverse(jacobian, scales)

        def anew(point: Vector, scales: Scales) -> _Inverse:
            if is_change.all():
                return _Inverse(-jnp.eye(point.size, dtype=point.dtype))
            return _inverse(_first_jacobian(general, point, is_change), scales)

        return Problem(unravel, options, residual, is_solved, first, anew)


def _left_out(leaves: Iterable[Any], condition: Iterable[bool]) -> list[Any]:
    return [leaf for leaf, holds in zip(leaves, condition, strict=True) if not holds]


def _residuals_scale(jacobian: Float[Array, "n n"], unknowns: Vector) -> Vector:
    scale = jnp.abs(jacobian) @ unknowns
    return jnp.where(scale > 0, scale, 1)


def _inverse(jacobian: Float[Array, "n n"], scales: Scales) -> _Inverse:
    return _Inverse(jnp.linalg.inv(jacobian * scales.unknowns[None, :] / scales.residuals[:, None]))


def _first_jacobian(
    general: Callable[[Vector], Float[Array, " general"]], point: Vector, is_change: np.ndarray
) -> Float[Array, "n n"]:
    """Returns a Jacobian with the rows of -1 for the changes, and true ones for the others.

    Args:
        general: the residuals that are no changes, alone: what only the changes need is not computed.
    """
    jacobian = -jnp.eye(point.size, dtype=point.dtype)
    return jacobian.at[np.flatnonzero(~is_change)].set(jax.jacfwd(general)(point))
