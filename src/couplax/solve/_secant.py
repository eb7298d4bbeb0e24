"""The search that secant methods share: trial points, which of them are taken, what is learnt from each."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Scalar

from couplax.solve._options import kept_within_bounds
from couplax.solve._progress import Progress, advanced, begun, picked
from couplax.solve._tolerance import tolerance

_REMEMBERED_SIZES = 5
_SUFFICIENT_DECREASE = 1e-4
_LEARNABLE_GROWTH = 10.0
_REJECTIONS = 12

Vector = Float[Array, " n"]


class Scales(eqx.Module):
    """What unknowns and residuals are measured in, so that none outweighs the others by its units.

    Attributes:
        unknowns: an equally important error of each unknown, its tolerance.
        residuals: what such errors make of each residual.
    """

    unknowns: Vector
    residuals: Vector


def unknowns_scale(point: Vector, step: Vector, *, rtol: float, atol: float) -> Vector:
    """Returns the tolerance of each unknown; the larger end of the first step tells its size."""
    size = jnp.maximum(jnp.abs(point), jnp.where(jnp.isfinite(step), jnp.abs(point + step), 0))
    scale = tolerance(size, rtol=rtol, atol=atol)
    return jnp.where(scale > 0, scale, 1)


class AbstractMemory(eqx.Module):
    """What a secant method knows of f's inverse Jacobian, in scaled moves and changes."""

    @abstractmethod
    def direction(self, residual: Vector) -> Vector:
        """Returns the quasi-Newton step at a point where f is `residual`."""

    @abstractmethod
    def learned(self, move: Vector, change: Vector) -> "AbstractMemory":
        """Returns the memory that also knows that f changed by `change` along `move`."""


class Problem(eqx.Module):
    """The equations as a secant method sees them, in vectors.

    Attributes:
        unravel: the unknowns as the function takes them, from a vector.
        options: with the bounds.
        residual: f, and what the function gives besides.
        is_solved: whether a point is within tolerance, from the point, its f and the direction there.
        first: the scales, and what is known before any secant is, from the first point and f there.
        anew: what is known at a point without the secants, in scales.
    """

    unravel: Callable[[Vector], Any]
    options: dict[str, Any]
    residual: Callable[[Vector], tuple[Vector, Any]]
    is_solved: Callable[[Vector, Vector, Vector], Bool[Array, ""]]
    first: Callable[[Vector, Vector], tuple[Scales, AbstractMemory]]
    anew: Callable[[Vector, Scales], AbstractMemory]

    def kept(self, trial: Vector) -> Vector:
        """Returns the trial point projected into the bounds."""
        return ravel_pytree(kept_within_bounds(self.options, self.unravel(trial)))[0]


class SearchState(eqx.Module):
    """Where the search stands.

    Attributes:
        direction: the step that the memory proposes at the point reached.
        radius: the longest step allowed, scaled.
        sizes: |f|, scaled, at the last points reached.
        rejections: how many trials failed since a point was reached or the memory was begun anew.
        is_fresh: whether no point was reached since the memory was begun.
    """

    progress: Progress
    scales: Scales
    memory: AbstractMemory
    direction: Vector
    radius: Scalar
    sizes: Float[Array, " remembered"]
    rejections: Int[Array, ""]
    is_fresh: Bool[Array, ""]


def search_begun(problem: Problem, point: Vector, max_steps: int) -> SearchState:
    """Returns the state at the first point, which costs one evaluation of f, and the memory's cost."""
    residual, _ = problem.residual(point)
    scales, memory = problem.first(point, residual)
    direction = _directed(memory, scales, residual)
    size = jnp.linalg.norm(residual / scales.residuals)
    state = SearchState(
        progress=begun(residual, problem.is_solved(point, residual, direction), max_steps),
        scales=scales,
        memory=memory,
        direction=direction,
        radius=jnp.full_like(size, jnp.inf),
        sizes=jnp.full(_REMEMBERED_SIZES, size),
        rejections=jnp.array(0),
        is_fresh=jnp.array(True),
    )
    return eqx.tree_at(lambda s: s.progress.result, state, _judged(state, direction))


def search_advanced(problem: Problem, point: Vector, state: SearchState) -> tuple[Vector, SearchState, Any]:
    """Returns the point reached after one more trial, the state there, and what f gave besides.

    A trial is taken where |f| is smaller than at one of the last five points reached: methods that learn f on
    their way must be let go uphill. The memory learns from every trial, but from wild ones. A trial that
    is not taken halves the longest step; after twelve the memory is begun anew, once.

    Source: Grippo, Lampariello and Lucidi (1986), A nonmonotone line search technique for Newton's method,
    for what is taken.
    """
    scales, old = state.scales, state.progress.residual
    trial = problem.kept(point + _shortened(state.direction, state))
    residual, aux = problem.residual(trial)
    move, change = (trial - point) / scales.unknowns, (residual - old) / scales.residuals
    size = jnp.linalg.norm(residual / scales.residuals)
    falls = size <= (1 - _SUFFICIENT_DECREASE) * jnp.max(state.sizes)
    is_learnable = falls | (size <= _LEARNABLE_GROWTH * state.sizes[0])
    memory = picked(is_learnable, state.memory.learned(move, change), state.memory)
    ahead = _directed(memory, scales, residual)
    is_solved = problem.is_solved(trial, residual, ahead)
    is_taken = falls | is_solved
    point = picked(is_taken, trial, point)
    residual = picked(is_taken, residual, old)
    state = _begun_anew(problem, point, _reached(state, memory, is_taken, move, size))
    direction = picked(is_taken, ahead, _directed(state.memory, scales, residual))
    progress = advanced(state.progress, residual, is_solved, _judged(state, direction))
    return point, eqx.tree_at(lambda s: (s.progress, s.direction), state, (progress, direction)), aux


def _directed(memory: AbstractMemory, scales: Scales, residual: Vector) -> Vector:
    return scales.unknowns * memory.direction(residual / scales.residuals)


def _shortened(step: Vector, state: SearchState) -> Vector:
    length = jnp.linalg.norm(step / state.scales.unknowns)
    return jnp.where(length > state.radius, state.radius / length, 1.0) * step


def _reached(
    state: SearchState, memory: AbstractMemory, is_taken: Bool[Array, ""], move: Vector, size: Scalar
) -> SearchState:
    """Returns the state with what a trial says of the search; progress and direction stay as they were."""
    length = jnp.linalg.norm(move)
    return SearchState(
        progress=state.progress,
        scales=state.scales,
        memory=memory,
        direction=state.direction,
        radius=jnp.where(is_taken, jnp.maximum(state.radius, 2 * length), length / 2),
        sizes=jnp.where(is_taken, jnp.roll(state.sizes, 1).at[0].set(size), state.sizes),
        rejections=jnp.where(is_taken, 0, state.rejections + 1),
        is_fresh=state.is_fresh & ~is_taken,
    )


def _begun_anew(problem: Problem, point: Vector, state: SearchState) -> SearchState:
    """Returns the state with a memory that is begun anew, where too many trials failed with the old one."""
    is_due = (state.rejections >= _REJECTIONS) & ~state.is_fresh
    memory = jax.lax.cond(is_due, lambda: problem.anew(point, state.scales), lambda: state.memory)
    anew = (memory, jnp.full_like(state.radius, jnp.inf), jnp.zeros_like(state.rejections))
    begun_anew = eqx.tree_at(lambda s: (s.memory, s.radius, s.rejections), state, anew)
    return picked(is_due, eqx.tree_at(lambda s: s.is_fresh, begun_anew, jnp.array(True)), state)


def _judged(state: SearchState, direction: Vector) -> optx.RESULTS:
    """Returns what is wrong with the search: the memory has no direction, or none that helps."""
    before = state.progress.result
    is_stalled = (state.rejections >= _REJECTIONS) & state.is_fresh
    now = optx.RESULTS.where(is_stalled, _STALLED, optx.RESULTS.successful)
    now = optx.RESULTS.where(jnp.isfinite(direction).all(), now, _SINGULAR)
    return optx.RESULTS.where(before == optx.RESULTS.successful, now, before)


_SINGULAR: Any = optx.RESULTS.singular
_STALLED: Any = optx.RESULTS.nonlinear_divergence
