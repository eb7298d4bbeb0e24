"""The unknowns of a cycle as a solver sees them: one array, or two where residuals are of two kinds.

A solver's every operation is compiled once for each array that it iterates on. So all unknowns whose
residuals are changes of them are one vector, and all others, whose residuals have other units, a second. A
cycle of one array keeps its shape, so that a solver for scalars gets a scalar.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Packing:
    """How unknowns by name become the arrays that a solver iterates on.

    Attributes:
        structs: the shapes and dtypes of the unknowns' leaves, in order.
        tree: the structure that they are the leaves of.
        changes: for each leaf whether its residual is its change through one pass.
        dtype: of the arrays.
    """

    structs: tuple[jax.ShapeDtypeStruct, ...]
    tree: Any
    changes: tuple[bool, ...]
    dtype: Any

    @property
    def kinds(self) -> tuple[bool, ...]:
        """What the arrays hold: changes, or residuals of other units, or first the one, then the other."""
        return tuple(kind for kind in (True, False) if kind in self.changes)

    @property
    def options(self) -> Any:
        """The solver's `changes`: a bool for each array."""
        return self.kinds[0] if len(self.kinds) == 1 else self.kinds

    def pack(self, values: Values) -> Any:
        """Returns the arrays that hold `values`, a pytree like the unknowns."""
        leaves = jax.tree.leaves(values)
        if len(leaves) == 1:
            return jnp.asarray(leaves[0], self.dtype)
        packed = tuple(self._vector(leaves, kind) for kind in self.kinds)
        return packed[0] if len(packed) == 1 else packed

    def _vector(self, leaves: Sequence[Any], kind: bool) -> Any:
        chosen = [leaf for leaf, change in zip(leaves, self.changes, strict=True) if change is kind]
        return jnp.concatenate([jnp.ravel(leaf).astype(self.dtype) for leaf in chosen])

    def unpack(self, packed: Any) -> dict[str, Any]:
        """Returns the values that `packed` holds, by name."""
        if len(self.structs) == 1:
            return jax.tree.unflatten(self.tree, [packed.astype(self.structs[0].dtype)])
        vectors = dict(zip(self.kinds, packed if len(self.kinds) > 1 else (packed,), strict=True))
        taken = dict.fromkeys(self.kinds, 0)
        leaves: list[Any] = []
        for struct, change in zip(self.structs, self.changes, strict=True):
            start, size = taken[change], int(np.prod(struct.shape))
            part = jax.lax.slice_in_dim(vectors[change], start, start + size)
            leaves.append(part.reshape(struct.shape).astype(struct.dtype))
            taken[change] += size
        return jax.tree.unflatten(self.tree, leaves)


def packing(start: Values, changes: Mapping[str, bool]) -> Packing:
    """Returns how unknowns like `start` are packed.

    Args:
        changes: for each unknown whether its residual is its change through one pass.
    """
    leaves, tree = jax.tree.flatten(dict(start))
    kinds = jax.tree.leaves(
        {name: jax.tree.map(lambda _, name=name: changes[name], start[name]) for name in start}
    )
    structs = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
    return Packing(structs, tree, tuple(kinds), jnp.result_type(*(struct.dtype for struct in structs)))
