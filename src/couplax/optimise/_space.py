"""The design space: what the optimiser changes, between which bounds, and from where."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    faults: list[str] = []
    blocks: list[Block] = []
    limits: list[Limits] = []
    starts: list[Vector] = []
    for name, given in request.design.items():
        declared = graph.free[name]
        start = _array(request.start.get(name, declared.default))
        wrong = list(_start_faults(name, start, declared))
        if wrong:
            faults += wrong
            continue
        block = block_of(name, _structs(start, declared))
        try:
            bounds = _bounds(given, declared.bounds, block)
            starts.append(block.flat(start))
        except LimitsFault as fault:
            faults.append(f"design variable `{name}` {fault}")
            continue
        faults += _outside(name, block, bounds, starts[-1])
        blocks.append(block)
        limits.append(bounds)
    if faults:
        raise ModelError(faults)
    return Space(Layout(tuple(blocks)), joined(limits), np.concatenate(starts))


def state_space(graph: Graph, states: Mapping[str, State], starts: Mapping[str, Any]) -> Space:
    """Returns the space of the variables that the architecture takes over from the solvers.

    Args:
        graph: the user's, which declares bounds.
        states: by their variable.
        starts: where each variable starts, by its name in the user's model.

    Raises:
        ModelError: with every bound and start that cannot be.
    """
    blocks = [block_of(state.name, _floats(starts[name])) for name, state in states.items()]
    limits: list[Limits] = []
    faults: list[str] = []
    for name, block in zip(states, blocks, strict=True):
        try:
            limits.append(_bounds(DECLARED, graph.written[name].bounds, block))
        except LimitsFault as fault:
            faults.append(f"coupling variable `{name}` {fault}")
            continue
        faults += _outside(name, block, limits[-1], block.flat(starts[name]))
    if faults:
        raise ModelError(faults)
    flat = [block.flat(starts[name]) for name, block in zip(states, blocks, strict=True)]
    return Space(Layout(tuple(blocks)), joined(limits), np.concatenate([np.zeros(0), *flat]))


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


def _outside(name: str, block: Block, limits: Limits, start: Vector) -> Iterator[str]:
    """Yields a fault for a start that is outside its bounds."""
    for number in np.flatnonzero(limits.violation(start) > 0)[:1]:
        yield (
            f"`{block.labels[number]}` starts at {start[number]:g}, outside its bounds, "
            f"{limits.lower[number]:g} to {limits.upper[number]:g}. Start it inside: start={{{name!r}: ...}}."
        )
