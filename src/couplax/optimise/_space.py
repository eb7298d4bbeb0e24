"""The design space: what the optimiser changes, between which bounds, and from where."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ModelError
from couplax._tree import Struct, describe
from couplax.graph import Graph, Input

from ._architecture import State
from ._layout import Block, Layout, block_of
from ._limits import Limits, LimitsFault, free, joined, limits_of
from ._request import DECLARED, Request

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Space:
    """Variables in the order of a flat vector, all in the model's units.

    Attributes:
        layout: the variables; `limits`: their bounds; `start`: where they start.
    """

    layout: Layout
    limits: Limits
    start: Vector

    def __add__(self, other: "Space") -> "Space":
        """Returns the space of the variables of both."""
        return Space(
            Layout((*self.layout.blocks, *other.layout.blocks)),
            joined([self.limits, other.limits]),
            np.concatenate([self.start, other.start]),
        )


def design_space(graph: Graph, request: Request) -> Space:
    """Returns the space of the user's design variables.

    Raises:
        ModelError: with every bound and start that cannot be.
    """

    def variable(name: str) -> Space:
        declared = graph.free[name]
        start = _array(request.start.get(name, declared.default))
        _raise(_start_faults(name, start, declared))
        block = block_of(name, _structs(start, declared))
        return _variable("design variable", block, request.design[name], declared.bounds, start)

    return _together(partial(variable, name) for name in request.design)


def state_space(graph: Graph, states: Collection[State], starts: Mapping[str, Any]) -> Space:
    """Returns the space of the variables that the architecture takes over from the solvers.

    Args:
        graph: the user's, which declares bounds.
        starts: where each state starts, by its variable's name in the user's model.

    Raises:
        ModelError: with every bound and start that cannot be.
    """

    def variable(state: State) -> Space:
        start = starts[state.variable]
        block = block_of(state.name, _floats(start))
        return _variable("coupling variable", block, DECLARED, graph.written[state.variable].bounds, start)

    return _together(partial(variable, state) for state in states)


def _together(variables: Iterable[Callable[[], Space]]) -> Space:
    """Returns the space of all the variables.

    Raises:
        ModelError: with the faults of all of them.
    """
    faults: list[str] = []
    found = Space(Layout(()), joined([]), np.zeros(0))
    for variable in variables:
        try:
            found += variable()
        except ModelError as error:
            faults += error.faults
    _raise(faults)
    return found


def _raise(faults: Iterable[str]) -> None:
    faults = tuple(faults)
    if faults:
        raise ModelError(faults)


def _variable(what: str, block: Block, given: Any, declared: Any, start: Any) -> Space:
    """Returns the space of one variable.

    Raises:
        ModelError: its bounds or its start cannot be.
    """
    try:
        limits = _bounds(given, declared, block)
    except LimitsFault as fault:
        raise ModelError([f"{what} `{block.name}` {fault}"]) from None
    numbers = block.flat(start)
    _raise(_outside(block, limits, numbers))
    return Space(Layout((block,)), limits, numbers)


def _array(start: Any) -> Any:
    """Returns a list of numbers as the array that is meant."""
    if not isinstance(start, list | tuple):
        return start
    try:
        return np.asarray(start, float)
    except (TypeError, ValueError):
        return start


def _bounds(given: Any, declared: Any, block: Block) -> Limits:
    """Returns what the user gave, else what the model declares, else none."""
    if isinstance(given, str) and given == DECLARED:
        return free(block) if declared is None else limits_of(declared, block)
    return limits_of(given, block)


def _start_faults(name: str, start: Any, declared: Input) -> Iterator[str]:
    """Yields why `start` cannot be where a design variable starts."""
    types = [*map(_type_of, jax.tree.leaves(start)), *([] if declared.dtype is None else [declared.dtype])]
    stepped = [jnp.dtype(each).name for each in types if not jnp.issubdtype(each, jnp.floating)]
    if stepped:
        yield (
            f"design variable `{name}` is of {stepped[0]}, and minimise() moves along slopes, between real "
            "numbers. Fix it, or start it at a float where the model takes any number."
        )
        return
    try:
        numbers = [np.asarray(leaf, float) for leaf in jax.tree.leaves(start)]
    except (TypeError, ValueError):
        yield f"design variable `{name}` starts at {start!r}. Wanted: a number, or an array of them."
        return
    if not all(np.isfinite(leaf).all() for leaf in numbers):
        yield f"design variable `{name}` starts at {start}, which is infinite or NaN."
    shape = declared.shape
    if shape is not None and any(leaf.shape not in ((), tuple(shape)) for leaf in numbers):
        yield f"design variable `{name}` starts at {describe(start)}, and its input takes the shape {shape}."


def _type_of(leaf: Any) -> Any:
    """Returns the dtype of a leaf; a Python integer is a number as any other."""
    if isinstance(leaf, int) and not isinstance(leaf, bool):
        return np.float64
    dtype = np.asarray(leaf).dtype
    return dtype if dtype.kind in "biufc" else np.float64


def _structs(start: Any, declared: Input) -> Any:
    """Returns the structs of a design variable: of its start, in the shape that its input declares."""
    return jax.tree.map(
        lambda struct: Struct(struct.shape if declared.shape is None else declared.shape, struct.dtype),
        _floats(start),
    )


def _floats(value: Any) -> Any:
    """Returns the structs of `value`, of numbers between which there are others."""
    default = jax.dtypes.canonicalize_dtype(float)

    def struct(leaf: Any) -> Struct:
        array = np.asarray(leaf)
        dtype = array.dtype if jnp.issubdtype(array.dtype, jnp.floating) else default
        return Struct(array.shape, jax.dtypes.canonicalize_dtype(dtype))

    return jax.tree.map(struct, value)


def _outside(block: Block, limits: Limits, start: Vector) -> Iterator[str]:
    """Yields a fault for a start that is outside its bounds."""
    for number in np.flatnonzero(limits.violation(start) > 0)[:1]:
        yield (
            f"`{block.labels[number]}` starts at {start[number]:g}, outside its bounds, "
            f"{limits.lower[number]:g} to {limits.upper[number]:g}. Start it inside."
        )
