"""How named values lie in one flat vector."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from couplax._tree import Struct, struct_of


@dataclass(frozen=True, slots=True)
class Block:
    """A named value: an array, or a tree of arrays.

    Attributes:
        tree: the structure of the value; `structs`: the shape and dtype of each of its leaves.
    """

    name: str
    tree: Any
    structs: tuple[Struct, ...]

    @property
    def size(self) -> int:
        """How many numbers the value holds."""
        return sum(struct.size for struct in self.structs)

    def flat(self, value: Any) -> np.ndarray[Any, Any]:
        """Returns the numbers of `value`, each of whose leaves is spread over that of the block.

        Raises:
            ValueError: the value does not have the block's structure, or a leaf does not spread.
        """
        is_array = jax.tree_util.treedef_is_leaf(self.tree)
        leaves = [value] if is_array else jax.tree.leaves(value)
        if len(leaves) == 1:
            leaves = leaves * len(self.structs)
        if len(leaves) != len(self.structs):
            raise ValueError(f"{len(leaves)} values for {len(self.structs)}")
        spread = [
            np.broadcast_to(np.asarray(leaf, float), struct.shape).ravel()
            for leaf, struct in zip(leaves, self.structs, strict=True)
        ]
        return np.concatenate([np.zeros(0), *spread])

    def shaped(self, flat: Any) -> Any:
        """Returns the value whose numbers are `flat`, as float64 arrays of numpy."""
        ends = list(accumulate(struct.size for struct in self.structs))
        parts = np.split(np.asarray(flat), ends[:-1])
        leaves = [part.reshape(struct.shape) for part, struct in zip(parts, self.structs, strict=True)]
        return jax.tree.unflatten(self.tree, leaves)

    @property
    def labels(self) -> tuple[str, ...]:
        """One name for each number, such as `x`, or `x[0]` and `x[1]`."""
        if self.structs and self.structs[0].shape == () and len(self.structs) == 1:
            return (self.name,)
        if len(self.structs) == 1:
            indices = np.ndindex(*self.structs[0].shape)
            return tuple(f"{self.name}[{', '.join(map(str, index))}]" for index in indices)
        return tuple(f"{self.name}[{number}]" for number in range(self.size))


def block_of(name: str, value: Any) -> Block:
    """Returns the block that `value`, made of arrays or structs, needs."""
    leaves, tree = jax.tree.flatten(value)
    return Block(name, tree, tuple(struct_of(leaf) for leaf in leaves))


@dataclass(frozen=True)
class Layout:
    """Named values one after the other in a flat vector."""

    blocks: tuple[Block, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the blocks, in order."""
        return tuple(block.name for block in self.blocks)

    @cached_property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(block.size for block in self.blocks)

    @cached_property
    def slices(self) -> Mapping[str, slice]:
        """Where each block lies."""
        ends = list(accumulate(block.size for block in self.blocks))
        return {
            block.name: slice(end - block.size, end) for block, end in zip(self.blocks, ends, strict=True)
        }

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One name for each number."""
        return tuple(label for block in self.blocks for label in block.labels)

    def flat(self, values: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        """Returns the numbers of `values`, by numpy; scalars are spread over the shapes of their blocks."""
        return np.concatenate([np.zeros(0), *(block.flat(values[block.name]) for block in self.blocks)])

    def named(self, vector: Any) -> dict[str, Any]:
        """Returns the values by name, as float64 arrays of numpy."""
        return {block.name: block.shaped(vector[self.slices[block.name]]) for block in self.blocks}


def ravel(values: Iterable[Any]) -> Float[Array, " size"]:
    """Returns the numbers of `values`, traced, in order."""
    leaves = [jnp.ravel(leaf).astype(float) for leaf in jax.tree.leaves(list(values))]
    return jnp.concatenate([jnp.zeros(0), *leaves])


def unravel(layout: Layout, vector: Float[Array, " size"]) -> dict[str, Any]:
    """Returns the values by name, traced, in the shapes and dtypes of the layout."""
    values: dict[str, Any] = {}
    offset = 0
    for block in layout.blocks:
        leaves: list[Any] = []
        for struct in block.structs:
            part = vector[offset : offset + struct.size]
            leaves.append(part.reshape(struct.shape).astype(struct.dtype))
            offset += struct.size
        values[block.name] = jax.tree.unflatten(block.tree, leaves)
    return values
