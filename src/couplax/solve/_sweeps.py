"""Sweeps through the components of a cycle: Gauss-Seidel and Jacobi, relaxed and accelerated."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
from equinox import AbstractVar
from jaxtyping import Array, Bool, PyTree, Scalar

from couplax.solve._options import check_iterates, kept_within_bounds
from couplax.solve._progress import AbstractRecorded, Progress, advanced, begun
from couplax.solve._tolerance import tolerance, within

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar


class _SweepState(eqx.Module):
    """Where the iteration stands.

    Attributes:
        relaxation: how much of the change of the unknowns the next step takes.
    """

    progress: Progress
    relaxation: Scalar


class _AbstractSweeps(AbstractRecorded, optx.AbstractFixedPointSolver[Any, Any, _SweepState]):
    """The iteration y <- y + w (g(y) - y), where g is one pass over a cycle.

    Law: the point returned is the last one evaluated.

    Attributes:
        cuts_all: whether every coupling of the cycle is an unknown, so that each component of a pass reads
            what the last pass wrote; else a pass is cut at as few as may be.
    """

    relaxation: AbstractVar[float]
    aitken: AbstractVar[bool]
    rtol: AbstractVar[float]
    atol: AbstractVar[float]
    norm: AbstractVar[Callable[[PyTree[Array]], Scalar]]
    max_steps: AbstractVar[int]
    cuts_all: AbstractClassVar[bool]

    def init(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        f_struct: Any,
        aux_struct: Any,
        tags: frozenset[object],
    ) -> _SweepState:
        """Returns the state at the first point, which costs one evaluation of `fn`.

        Raises:
            ValueError: an unknown has a residual of its own.
        """
        check_iterates(options, y, type(self).__name__)
        passed, _ = fn(y, args)
        change = jax.tree.map(jnp.subtract, passed, y)
        progress = begun(change, self._has_converged(change, y), self.max_steps)
        return _SweepState(progress, jnp.full_like(optx.two_norm(change), self.relaxation))

    def step(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        state: _SweepState,
        tags: frozenset[object],
    ) -> tuple[Any, _SweepState, Any]:
        """Returns the point after one more sweep, the state there, and what `fn` gave besides."""
        old = state.progress.residual
        aim = jax.tree.map(lambda at, move: at + (state.relaxation * move).astype(at.dtype), y, old)
        y = kept_within_bounds(options, aim)
        passed, aux = fn(y, args)
        new = jax.tree.map(jnp.subtract, passed, y)
        is_finite = jnp.isfinite(optx.max_norm(new))
        result = optx.RESULTS.where(is_finite, optx.RESULTS.successful, optx.RESULTS.nonfinite)
        progress = advanced(state.progress, new, self._has_converged(new, y), result)
        return y, _SweepState(progress, self._next_relaxation(state.relaxation, y, old, new)), aux

    def _next_relaxation(self, relaxation: Scalar, y: Any, old: Any, new: Any) -> Scalar:
        if not self.aitken:
            return relaxation
        # In tolerances, so that no unknown outweighs the others by its units.
        weights = jax.tree.map(lambda at: tolerance(at, rtol=self.rtol, atol=self.atol), y)
        return _aitken(relaxation, *(jax.tree.map(jnp.divide, change, weights) for change in (old, new)))

    def _has_converged(self, change: Any, y: Any) -> Bool[Array, ""]:
        return within(change, y, rtol=self.rtol, atol=self.atol, norm=self.norm)


def _aitken(relaxation: Scalar, old: PyTree[Array], new: PyTree[Array]) -> Scalar:
    """Returns -w f_old . (f_new - f_old) / |f_new - f_old|^2, or w itself where f did not change.

    Source: Irons and Tuck (1969), A version of the Aitken accelerator for computer iteration; in this form
    Küttler and Wall (2008), Fixed-point fluid-structure interaction solvers with dynamic relaxation.
    """
    difference = jax.tree.map(jnp.subtract, new, old)
    length = _dot(difference, difference)
    factor = -_dot(old, difference) / jnp.where(length > 0, length, 1)
    usable = (length > 0) & jnp.isfinite(factor) & (factor != 0)
    return jnp.where(usable, relaxation * factor, relaxation)


def _dot(one: PyTree[Array], other: PyTree[Array]) -> Scalar:
    products = jax.tree.map(lambda a, b: jnp.sum(a * b), one, other)
    return jnp.sum(jnp.stack(jax.tree.leaves(products)))


class GaussSeidel(_AbstractSweeps):
    """Nonlinear Gauss-Seidel: each component reads what those before it have just written, pass after pass.

    With the cut variables as unknowns, one pass over the cycle in its order is such a sweep: y <- y +
    w (g(y) - y), one evaluation of each component. It converges where the passes contract, linearly.

    Converged: |g_i(y) - y_i| <= atol + rtol |y_i| for every cut variable i. The point returned is the last
    one evaluated. A tolerance finer than ten roundings of the unknowns' precision is taken as that. With
    `options={"lower": ..., "upper": ...}` every point is projected into these bounds.

    Attributes:
        relaxation: w; below 1 it damps a cycle that oscillates, above 1 it hastens one that creeps.
        aitken: whether w is set anew after each sweep, from the last two changes; `relaxation` is the first.
        rtol: relative tolerance; `atol`: absolute tolerance, in the unknowns' units.
        norm: the norm over unknowns in which the tolerance is met; the largest by default.
        max_steps: how many sweeps are allowed.

    Source: Ortega and Rheinboldt (1970), Iterative Solution of Nonlinear Equations in Several Variables,
    section 7.4; for Aitken's relaxation Irons and Tuck (1969), A version of the Aitken accelerator for
    computer iteration.
    """

    cuts_all: ClassVar[bool] = False

    relaxation: float = 1.0
    aitken: bool = False
    rtol: float = 1e-8
    atol: float = 1e-8
    norm: Callable[[PyTree[Array]], Scalar] = optx.max_norm
    max_steps: int = 100


class Jacobi(_AbstractSweeps):
    """Nonlinear Jacobi: every component reads what the last pass wrote, so that they could run side by side.

    It is `GaussSeidel` with every coupling of the cycle as an unknown; all of them want a guess. As a rule it
    takes more sweeps.

    Converged: |g_i(y) - y_i| <= atol + rtol |y_i| for every coupling i. The point returned is the last one
    evaluated. A tolerance finer than ten roundings of the unknowns' precision is taken as that. With
    `options={"lower": ..., "upper": ...}` every point is projected into these bounds.

    Attributes:
        relaxation: w in y <- y + w (g(y) - y).
        aitken: whether w is set anew after each sweep, from the last two changes; `relaxation` is the first.
        rtol: relative tolerance; `atol`: absolute tolerance, in the unknowns' units.
        norm: the norm over unknowns in which the tolerance is met; the largest by default.
        max_steps: how many sweeps are allowed.

    Source: Ortega and Rheinboldt (1970), Iterative Solution of Nonlinear Equations in Several Variables,
    section 7.4.
    """

    cuts_all: ClassVar[bool] = True

    relaxation: float = 1.0
    aitken: bool = False
    rtol: float = 1e-8
    atol: float = 1e-8
    norm: Callable[[PyTree[Array]], Scalar] = optx.max_norm
    max_steps: int = 100
