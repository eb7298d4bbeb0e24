"""A closed cycle: its unknowns, its residual, its solution as a differentiable function of what it reads."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
import optimistix as optx
from jaxtyping import Array

from couplax._errors import GuessError
from couplax._tree import describe
from couplax.graph import order
from couplax.solve._closure import Closure
from couplax.solve._solve import Solve

Values = Mapping[str, Any]


def solve_cycle(closure: Closure, known: Values, guesses: Values) -> tuple[dict[str, Any], Solve]:
    """Returns the values that the cycle writes, at its solution, and how the solve went.

    The values are differentiable in `known` by the implicit function theorem; no iteration is unrolled.

    Args:
        known: what the cycle reads from outside, by name.
        guesses: where the unknowns start, by name.
    """
    start = _start(closure, known, guesses)
    iterates = isinstance(closure.solver, optx.AbstractFixedPointSolver)
    solve = optx.fixed_point if iterates else optx.root_find
    solution = solve(
        lambda unknowns, known: (_passed if iterates else _residual)(closure, known, unknowns),
        closure.solver,
        start,
        dict(known),
        max_steps=getattr(closure.solver, "max_steps", 256),
        adjoint=optx.ImplicitAdjoint(linear_solver=lx.AutoLinearSolver(well_posed=True)),
        tags=_structure(start),
        throw=False,
    )
    written, passed = _pass(closure, known, solution.value)
    residual = jax.lax.stop_gradient(jax.tree.map(jnp.subtract, passed, solution.value))
    record = Solve(
        cut=closure.cut,
        solver=type(closure.solver).__name__,
        converged=solution.result == optx.RESULTS.successful,
        result=solution.result,
        iterations=solution.stats["num_steps"],
        residual=residual,
        values=jax.lax.stop_gradient(solution.value),
    )
    return {**written, **solution.value}, record


def _passed(closure: Closure, known: Values, unknowns: Values) -> dict[str, Any]:
    return _pass(closure, known, unknowns)[1]


def _residual(closure: Closure, known: Values, unknowns: Values) -> dict[str, Any]:
    return jax.tree.map(jnp.subtract, _passed(closure, known, unknowns), dict(unknowns))


def _pass(closure: Closure, known: Values, unknowns: Values) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns what one pass over the cycle writes, and the new values of the unknowns apart from it.

    Every component reads the unknowns as they came, whatever its place in the pass.
    """
    values = {**known, **unknowns}
    written: dict[str, Any] = {}
    passed: dict[str, Any] = {}
    for component in order(closure.cycle, closure.cut):
        for name, value in component.evaluate(values).items():
            (passed if name in closure.cut else written)[name] = value
        values.update(written)
    return written, passed


def _start(closure: Closure, known: Values, guesses: Values) -> dict[str, Any]:
    """Returns the guesses in the shapes and dtypes in which the cycle writes the unknowns.

    Raises:
        GuessError: a guess does not have the shape of its unknown.
    """
    given = {name: jax.tree.map(_inexact, guesses[name]) for name in closure.cut}
    shapes = _own_shapes(closure, known, given)
    start = {name: _fitted(closure, name, given[name], shapes[name]) for name in closure.cut}
    try:
        passed = _abstract_pass(closure, known, start)
    except _TRACING_FAULTS as error:
        shown = ", ".join(f"`{name}`: {describe(value)}" for name, value in start.items())
        raise GuessError(
            f"Cycle `{closure.name}` cannot be run from its guesses, {shown}: {str(error).rstrip('.')}. "
            "Pass guesses of the shapes that the cycle writes; where they are, the fault is in a component."
        ) from error
    for name in closure.cut:
        _fitted(closure, name, start[name], jax.tree.map(lambda struct: struct.shape, passed[name]))
    return jax.tree.map(lambda value, struct: value.astype(struct.dtype), start, passed)


_TRACING_FAULTS = (TypeError, ValueError, IndexError, AttributeError)
"""What JAX and Python raise where shapes do not fit."""


def _own_shapes(closure: Closure, known: Values, given: Values) -> dict[str, Any]:
    """Returns the unknowns' shapes: as declared, else what the cycle makes of scalars, else the guesses'.

    A vector guess for a scalar unknown would run through many a cycle unseen, its operations being
    elementwise; so the guess has a say only where the cycle cannot be traced from scalars.
    """
    declared = {o.name: o.shape for c in closure.cycle.components for o in c.outputs if o.shape is not None}
    shapes: dict[str, Any] = {name: declared.get(name, ()) for name in closure.cut}
    dtype = jax.dtypes.canonicalize_dtype(float)
    try:
        for _ in range(len(closure.cycle.components) + 1):
            start = {name: jax.ShapeDtypeStruct(shapes[name], dtype) for name in closure.cut}
            written = {name: struct.shape for name, struct in _abstract_pass(closure, known, start).items()}
            if written == shapes:
                return shapes
            shapes = written
    except _TRACING_FAULTS:
        # The cycle takes no scalars apart, or returns trees: the guesses alone can say.
        pass
    return {name: declared.get(name, jax.tree.map(jnp.shape, given[name])) for name in closure.cut}


def _abstract_pass(closure: Closure, known: Values, start: Values) -> dict[str, Any]:
    return jax.eval_shape(lambda known, start: _pass(closure, known, start)[1], dict(known), dict(start))


def _fitted(closure: Closure, name: str, guess: Any, shape: Any) -> Any:
    """Returns `guess`, spread over `shape` where it is a scalar."""
    came = jax.tree.map(jnp.shape, guess)
    if came == shape:
        return guess
    if came == () and isinstance(shape, tuple):
        return jnp.broadcast_to(guess, shape)
    writer = next(c for c in closure.cycle.components if name in {out.name for out in c.outputs})
    raise GuessError(
        f"The guess of `{name}` has shape {came}, but `{writer.name}` ({writer.place}) writes `{name}` with "
        f"shape {shape}. "
        f"Pass a guess of that shape, guess={{{name!r}: ...}}, or a scalar; "
        "to solve for many at once use jax.vmap."
    )


def _inexact(value: Any) -> Array:
    array = jnp.asarray(value)
    return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(float)


def _structure(start: Values) -> frozenset[object]:
    """Returns the tag that makes the solve of one scalar unknown a division."""
    size = sum(leaf.size for leaf in jax.tree.leaves(start))
    return frozenset({lx.diagonal_tag}) if size == 1 else frozenset()
