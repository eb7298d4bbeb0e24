"""What is computed at a point of the design space, and its derivatives: programs that are compiled once."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from couplax._calls import counted_in
from couplax.solve import Closure, Program, Solve, evaluate

from ._at_solution import at_solution, iterated
from ._layout import Layout, ravel, unravel

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Analysis:
    """The program of a model with what an optimiser changes and watches; equal analyses compile once.

    Attributes:
        program: from inputs to every value that the objective and the constraints need.
        design: the inputs that change, in the order of the flat vector.
        objective: the name of the value to be small.
        constraints: the names of the values that are held within limits.
    """

    program: Program
    design: Layout
    objective: str
    constraints: tuple[str, ...]

    def __hash__(self) -> int:
        """Returns a hash that is computed once: every evaluation asks for it."""
        return self._hash

    @cached_property
    def iterated(self) -> tuple[Closure, ...]:
        """The closed cycles whose solutions can be given."""
        return tuple(iterated(self.program.steps))

    def solutions(self, solves: Mapping[str, Solve]) -> dict[str, Any]:
        """Returns the unknowns of the closed cycles at the end of their solves, by name."""
        return {name: solves[closure.name].values[name] for closure in self.iterated for name in closure.cut}

    @cached_property
    def at_solution(self) -> "Analysis":
        """The same for points where the solves are done, whose solutions are given as guesses."""
        return dataclasses.replace(self, program=at_solution(self.program))

    @cached_property
    def _hash(self) -> int:
        return hash((self.program, self.design, self.objective, self.constraints))


@lru_cache(maxsize=64)
def shared(analysis: Analysis) -> Analysis:
    """Returns the first analysis equal to this one, so that it is found at a glance at each point."""
    return analysis


class Point(eqx.Module):
    """What an analysis gives at a point.

    Attributes:
        watched: the objective, and after it the numbers of the constraints.
        values: what the program computed, by name.
        solves: how each cycle's solve went, by the cycle's name.
    """

    watched: Float[Array, " watched"]
    values: dict[str, Any]
    solves: dict[str, Solve]


@partial(jax.jit, static_argnums=0)
def analyse(analysis: Analysis, design: Array, fixed: Values, guesses: Values) -> Point:
    """Returns the values at `design`.

    Args:
        fixed: the program's other inputs, by name.
        guesses: where the unknowns of the solves start.
    """
    watched, (values, solves) = _watched(analysis, design, fixed, guesses)
    return Point(watched, values, solves)


@partial(jax.jit, static_argnums=0)
def differentiate(
    analysis: Analysis, design: Array, fixed: Values, solutions: Values
) -> Float[Array, "watched size"]:
    """Returns the Jacobian of what is watched, at a point that was analysed.

    It is made of columns or of rows, whichever are fewer: tangents of the design variables, or adjoints of
    the objective and the constraints. Of rows in any case where a foreign code offers an adjoint alone.

    Args:
        solutions: the unknowns of the solves at that point; nothing is solved again.
    """

    def fn(at: Array) -> Array:
        return _watched(analysis.at_solution, at, fixed, solutions)[0]

    return _jacobian(fn, design)


def _jacobian(fn: Callable[[Array], Array], at: Array) -> Array:
    """Returns the Jacobian of `fn` by the cheaper mode; backwards where a code is exact backwards alone."""
    count = jax.eval_shape(fn, at).size
    backwards = at.size > count or any(code.is_exact_backwards_alone for code in counted_in(fn, at))
    return jax.jacrev(fn)(at) if backwards else jax.jacfwd(fn)(at)


@partial(jax.jit, static_argnums=0)
def hessian(
    analysis: Analysis, design: Array, fixed: Values, solutions: Values, weights: Array
) -> Float[Array, "size size"]:
    """Returns the second derivatives of `weights` times what is watched: of the Lagrangian, say."""

    def weighted(at: Array) -> Array:
        return weights @ _watched(analysis.at_solution, at, fixed, solutions)[0]

    return jax.hessian(weighted)(design)


def _watched(analysis: Analysis, design: Array, fixed: Values, guesses: Values) -> tuple[Array, Any]:
    """Returns what is watched, and beside it every value and how the solves went."""
    given = {**fixed, **unravel(analysis.design, design)}
    read = {name: given[name] for name in analysis.program.inputs}
    values, solves = evaluate(analysis.program, read, dict(guesses))
    known = {**given, **values}
    return ravel(known[name] for name in (analysis.objective, *analysis.constraints)), (values, solves)


@partial(jax.jit, static_argnums=(0, 1))
def curvature(
    analysis: Analysis,
    parameters: Layout,
    numbers: tuple[Array, Array],
    fixed: Values,
    solutions: Values,
    weights: Array,
) -> tuple[Float[Array, "watched both"], Float[Array, "size both"]]:
    """Returns first derivatives of what is watched, and second ones of `weights` times it.

    Both are with respect to the design and, after it, the parameters; the second ones of the slopes with
    respect to the design.

    Args:
        numbers: the design and the parameters.
    """
    size = numbers[0].size

    def watched(both: Array) -> Array:
        given = {**fixed, **unravel(parameters, both[size:])}
        return _watched(analysis.at_solution, both[:size], given, solutions)[0]

    both = jnp.concatenate(numbers)
    _, push = jax.linearize(jax.grad(lambda at: weights @ watched(at)), both)
    return _jacobian(watched, both), jax.vmap(push)(jnp.eye(size, both.size, dtype=both.dtype))


@partial(jax.jit, static_argnums=(0, 1, 2))
def total(
    program: Program,
    design: Layout,
    parameters: Layout,
    numbers: tuple[Array, Array],
    fixed: Values,
    solutions: Values,
    directions: tuple[Array, Array],
) -> dict[str, Any]:
    """Returns the derivatives of the program's values along directions of the design and the parameters.

    Args:
        numbers: the design and the parameters.
        directions: one column for each direction, of the design and of the parameters.
    """

    def values(at: Array, given: Array) -> dict[str, Any]:
        known = {**fixed, **unravel(parameters, given), **unravel(design, at)}
        read = {name: known[name] for name in program.inputs}
        found, _ = evaluate(at_solution(program), read, dict(solutions))
        return {name: value for name, value in found.items() if _is_smooth(value)}

    _, push = jax.linearize(values, *numbers)
    return jax.vmap(push, in_axes=1, out_axes=-1)(*directions)


def _is_smooth(value: Any) -> bool:
    """Returns whether a value is made of numbers that have derivatives."""
    return all(jnp.issubdtype(jnp.result_type(leaf), jnp.floating) for leaf in jax.tree.leaves(value))
