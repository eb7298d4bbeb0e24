"""Bracketing of one scalar unknown: bisection, hastened by interpolation where that is safe."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree, Scalar

from couplax.solve._options import changes_of
from couplax.solve._progress import AbstractRecorded, Progress, advanced, begun
from couplax.solve._tolerance import tolerance


class _Bracket(eqx.Module):
    """The ends of an interval in which f changes its sign, and the point that was given up last.

    Attributes:
        newest: the end that was evaluated last; `at_newest`: f there.
        other: the end on the root's other side; `third`: the point before, no longer an end.
    """

    newest: Scalar
    at_newest: Scalar
    other: Scalar
    at_other: Scalar
    third: Scalar
    at_third: Scalar

    def narrowed(self, point: Scalar, value: Scalar) -> "_Bracket":
        """Returns the bracket with `point` as an end, where f is `value`."""
        same = jnp.sign(value) == jnp.sign(self.at_newest)

        def pick(one: Scalar, two: Scalar) -> Scalar:
            return jnp.where(same, one, two)

        return _Bracket(
            newest=point,
            at_newest=value,
            other=pick(self.other, self.newest),
            at_other=pick(self.at_other, self.at_newest),
            third=pick(self.newest, self.other),
            at_third=pick(self.at_newest, self.at_other),
        )

    def at(self, fraction: Scalar) -> Scalar:
        """Returns the point a fraction of the way from the newest end to the other."""
        return self.newest + fraction * (self.other - self.newest)

    def width(self) -> Scalar:
        """Returns the length of the interval."""
        return jnp.abs(self.other - self.newest)

    def best(self) -> tuple[Scalar, Scalar]:
        """Returns the end at which |f| is the smaller, and |f| there; NaN where it is so at an end."""
        sizes = jnp.abs(self.at_newest), jnp.abs(self.at_other)
        return jnp.where(sizes[0] <= sizes[1], self.newest, self.other), jnp.minimum(*sizes)

    def next_fraction(self, allowed: Scalar) -> Scalar:
        """Returns the fraction to look at next: half of `allowed` away from both ends at least."""
        least = jnp.minimum(allowed / (2 * self.width()), 0.5)
        return jnp.clip(self.interpolated(), least, 1 - least)

    def interpolated(self) -> Scalar:
        """Returns the fraction from the newest end to the other at which the root is looked for next.

        It is that of inverse quadratic interpolation where f is monotonic enough for it, else one half.

        Source: Chandrupatla (1997), A new hybrid quadratic/bisection algorithm for finding the zero of a
        nonlinear function without using derivatives, Advances in Engineering Software 28, 145-149.
        """
        a, b, c = self.newest, self.other, self.third
        f_a, f_b, f_c = self.at_newest, self.at_other, self.at_third
        place, height = _ratio(a - b, c - b), _ratio(f_a - f_b, f_c - f_b)
        is_safe = (height**2 < place) & ((1 - height) ** 2 < 1 - place)
        toward_other = _ratio(f_a, f_b - f_a) * _ratio(f_c, f_b - f_c)
        toward_third = _ratio(c - a, b - a) * _ratio(f_a, f_c - f_a) * _ratio(f_b, f_c - f_b)
        return jnp.where(is_safe, toward_other + toward_third, 0.5)


def _ratio(above: Scalar, below: Scalar) -> Scalar:
    return above / jnp.where(below == 0, jnp.inf, below)


class _BisectionState(eqx.Module):
    """Where the search stands: the bracket, and the fraction of it at which f is asked for next."""

    progress: Progress
    bracket: _Bracket
    fraction: Scalar


class Bisection(AbstractRecorded, optx.AbstractRootFinder[Any, Any, Any, _BisectionState]):
    """A bracketed search for one scalar unknown: the root stays between two points where f differs in sign.

    Chandrupatla's method: inverse quadratic interpolation where three points allow it, else bisection. It
    needs no derivative and converges wherever f is continuous and `lower` and `upper` bracket a root; it
    evaluates f at both first, then at the guess where that lies between them.

    Converged: the bracket is no wider than atol + rtol |y|; or f is zero; or, where f is the change of y
    through one pass over a cycle (`options={"changes": True}`), |f| <= atol + rtol |y|. The point returned is
    an evaluated one, the better end. A tolerance finer than ten roundings of the unknown's precision is taken
    as that. Ends that do not bracket a root end the solve at once, as `RESULTS.nonlinear_divergence`.

    Attributes:
        lower: one end; `upper`: the other. Where they are None, `options={"lower": ..., "upper": ...}`, the
            unknown's own bounds, are taken.
        rtol: relative tolerance; `atol`: absolute tolerance, in the unknown's units.
        norm: the norm over unknowns in which the tolerance is met; all are alike here.
        max_steps: how many points between the ends are allowed.

    Source: Chandrupatla (1997), Advances in Engineering Software 28, 145-149.
    """

    stalled: ClassVar[str] = "the residual has the same sign at both ends of the bracket"
    """What `nonlinear_divergence` means here."""

    lower: float | None
    upper: float | None
    rtol: float
    atol: float
    norm: Callable[[PyTree[Array]], Scalar]
    max_steps: int

    def __init__(
        self,
        lower: float | None = None,
        upper: float | None = None,
        *,
        rtol: float = 1e-8,
        atol: float = 1e-8,
        norm: Callable[[PyTree[Array]], Scalar] = optx.max_norm,
        max_steps: int = 100,
    ) -> None:
        """Takes the ends by position.

        Raises:
            ValueError: `lower` is not below `upper`.
        """
        if lower is not None and upper is not None and not lower < upper:
            raise ValueError(
                f"Bisection(lower={lower}, upper={upper}): `lower` is to be below `upper`. "
                "Give the ends of an interval that holds the root."
            )
        self.lower, self.upper = lower, upper
        self.rtol, self.atol, self.norm, self.max_steps = rtol, atol, norm, max_steps

    def init(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        f_struct: Any,
        aux_struct: Any,
        tags: frozenset[object],
    ) -> _BisectionState:
        """Returns the state with both ends evaluated, by two evaluations of `fn`.

        Raises:
            ValueError: there is more than one unknown, or an end is missing.
        """
        _check_is_one(y, f_struct)
        guess, unravel = ravel_pytree(y)
        lower, upper = (self._end(options, name, guess.dtype) for name in ("lower", "upper"))
        at_lower, at_upper = (_value(fn(unravel(end[None]), args)[0]) for end in (lower, upper))
        bracket = _Bracket(upper, at_upper, lower, at_lower, lower, at_lower)
        progress = begun(bracket.best()[1], jnp.array(False), self.max_steps)
        is_bracket = (jnp.sign(at_lower) * jnp.sign(at_upper) <= 0) | ~jnp.isfinite(bracket.best()[1])
        result = optx.RESULTS.where(is_bracket, progress.result, _NO_BRACKET)
        progress = eqx.tree_at(lambda p: p.result, progress, result)
        return _BisectionState(progress, bracket, _first_fraction(bracket, guess[0]))

    def step(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        state: _BisectionState,
        tags: frozenset[object],
    ) -> tuple[Any, _BisectionState, Any]:
        """Returns the better end of the bracket, narrowed by one evaluation, and what `fn` gave besides."""
        _, unravel = ravel_pytree(y)
        point = state.bracket.at(state.fraction)
        residual, aux = fn(unravel(point[None]), args)
        value = _value(residual)
        bracket = state.bracket.narrowed(point, value)
        best, size = bracket.best()
        best = jnp.where(jnp.isfinite(value), best, point)
        is_change = all(jax.tree.leaves(changes_of(options, y)))
        error = jnp.where(is_change, jnp.minimum(size, bracket.width()), bracket.width())
        allowed = tolerance(best, rtol=self.rtol, atol=self.atol)
        result = optx.RESULTS.where(jnp.isfinite(value), optx.RESULTS.successful, optx.RESULTS.nonfinite)
        progress = advanced(state.progress, size, (size == 0) | (error <= allowed), result)
        return unravel(best[None]), _BisectionState(progress, bracket, bracket.next_fraction(allowed)), aux

    def _end(self, options: dict[str, Any], name: str, dtype: Any) -> Scalar:
        own = {"lower": self.lower, "upper": self.upper}[name]
        given = jax.tree.leaves(options.get(name)) if own is None else [own]
        if not given:
            raise ValueError(
                f"Bisection has no {name} end: give Bisection(lower=..., upper=...), or the unknown bounds."
            )
        return jnp.asarray(given[0], dtype).reshape(())


_NO_BRACKET: Any = optx.RESULTS.nonlinear_divergence


def _check_is_one(y: Any, f_struct: Any) -> None:
    shapes = [jax.tree.map(lambda leaf: leaf.shape, tree) for tree in (y, f_struct)]
    if any(sum(leaf.size for leaf in jax.tree.leaves(tree)) != 1 for tree in (y, f_struct)):
        raise ValueError(
            f"Bisection finds one scalar unknown from one residual; it was given unknowns of shapes "
            f"{shapes[0]} and residuals of shapes {shapes[1]}. Cut the cycle at one scalar, or use "
            "couplax.Newton."
        )


def _value(residual: Any) -> Scalar:
    return ravel_pytree(residual)[0][0]


def _first_fraction(bracket: _Bracket, guess: Scalar) -> Scalar:
    """Returns where to look first: at an end that is a root, else at the guess if it is inside."""
    place = (guess - bracket.newest) / (bracket.other - bracket.newest)
    inside = jnp.where((place > 0) & (place < 1), place, 0.5)
    at_end = jnp.where(bracket.at_newest == 0, 0.0, 1.0)
    return jnp.where(bracket.best()[1] == 0, at_end, inside)
