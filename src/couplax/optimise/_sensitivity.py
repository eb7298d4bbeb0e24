"""The optimum as a function of what was fixed: derivatives of all its values."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ModelError, OptimiseError, close_matches, original_errors, quoted
from couplax.graph import shortened

from ._analysis import total
from ._conditions import Solved, conditions_at, irregular, moves
from ._layout import Block, Layout, block_of, ravel
from ._prepared import Prepared
from ._values import whole

Vector = np.ndarray[Any, Any]


def sensitivities(solved: Solved, parameters: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns d value / d parameter, by the name of the value and that of the parameter.

    Raises:
        ModelError: a name is no fixed input.
        OptimiseError: the optimum is not regular.
    """
    prepared = solved.prepared
    layout = _parameters(prepared, parameters)
    numbers = (jnp.asarray(solved.design), ravel(prepared.given[name] for name in layout.names))
    conditions = conditions_at(solved, layout, numbers)
    faults = list(irregular(solved, conditions))
    if faults:
        raise OptimiseError("The optimum has no derivative: " + "; ".join(faults) + ".")
    moved = moves(solved, conditions)
    found = _of_values(solved, layout, numbers, moved)
    for block in prepared.space.layout.blocks:
        found[block.name] = _rows(block, moved[prepared.space.layout.slices[block.name]])
    return {name: _by_parameter(value, layout) for name, value in found.items()}


def _of_values(solved: Solved, layout: Layout, numbers: tuple[Any, Any], moved: Vector) -> dict[str, Any]:
    """Returns the derivatives of what the model computes, the parameters along the last axis."""
    prepared, run = solved.prepared, whole(solved.prepared)
    read = {name: value for name, value in prepared.given.items() if name in run.inputs}
    directions = (jnp.asarray(moved), jnp.eye(layout.size))
    with original_errors():
        return total(run, prepared.space.layout, layout, numbers, read, solved.guesses, directions)


def _parameters(prepared: Prepared, names: Sequence[str]) -> Layout:
    """Returns the layout of the parameters.

    Raises:
        ModelError: a name is no fixed input, or one of whole numbers.
    """
    faults: list[str] = []
    for name in names:
        if name not in prepared.given:
            close = close_matches(name, prepared.given)
            hint = f" Close: {quoted(close)}." if close else ""
            faults.append(
                f"parameter `{name}` is no input that the optimisation held fixed.{hint} Those are "
                f"{shortened(list(prepared.given))}."
            )
        elif any(
            np.asarray(leaf).dtype.kind in "biu" and not isinstance(leaf, int)
            for leaf in jax.tree.leaves(prepared.given[name])
        ):
            faults.append(f"parameter `{name}` is of whole numbers, between which there are no others.")
    if faults:
        raise ModelError(faults)
    return Layout(tuple(_block(name, prepared.given[name]) for name in dict.fromkeys(names)))


def _block(name: str, value: Any) -> Block:
    floats = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf, float)), value)
    return block_of(name, floats)


def _rows(block: Block, moves: Vector) -> Any:
    """Returns the derivatives of a design variable, the parameters along the last axis."""
    ends = list(accumulate(struct.size for struct in block.structs))
    parts = np.split(moves, ends[:-1])
    leaves = [part.reshape(*struct.shape, -1) for part, struct in zip(parts, block.structs, strict=True)]
    return jax.tree.unflatten(block.tree, leaves)


def _by_parameter(value: Any, layout: Layout) -> dict[str, Any]:
    """Returns derivatives along the last axis by parameter, that axis in the parameter's shape."""
    return {
        block.name: jax.tree.map(partial(_shaped, block, layout.slices[block.name]), value)
        for block in layout.blocks
    }


def _shaped(block: Block, part: slice, leaf: Any) -> Any:
    """Returns what belongs to one parameter: an array, or where the parameter is a tree, a tree of them."""
    array = np.asarray(leaf)[..., part]
    ends = list(accumulate(struct.size for struct in block.structs))
    pieces = np.split(array, ends[:-1], axis=-1)
    shapes = [(*array.shape[:-1], *struct.shape) for struct in block.structs]
    leaves = [np.reshape(piece, shape)[()] for piece, shape in zip(pieces, shapes, strict=True)]
    return jax.tree.unflatten(block.tree, leaves)
