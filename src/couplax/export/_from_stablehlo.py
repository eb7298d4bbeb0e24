"""`from_stablehlo`: a function again, where there is JAX."""

import struct
from dataclasses import dataclass
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr

from couplax._errors import ExportError
from couplax._tree import describe
from couplax.export._program import structs_of


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False)
class StableHLO:
    """A function read from StableHLO; called like the function that it was made from.

    It works under `jax.jit`, and under `jax.grad` where it was written with `gradients=True`.

    Attributes:
        exported: what JAX has read.
    """

    exported: jax.export.Exported

    @property
    def inputs(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """The structs of the flat inputs."""
        return tuple(structs_of(self.exported.in_avals))

    @property
    def outputs(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """The structs of the flat outputs."""
        return tuple(structs_of(self.exported.out_avals))

    @property
    def platforms(self) -> tuple[str, ...]:
        """Where it runs."""
        return tuple(self.exported.platforms)

    @property
    def module(self) -> bytes:
        """The portable artifact of StableHLO alone, for a runtime other than JAX."""
        return bytes(self.exported.mlir_module_serialized)

    @property
    def text(self) -> str:
        """The module as text."""
        return str(self.exported.mlir_module())

    def __call__(self, *args: Any) -> Any:
        """Returns what the original function returns on `args`.

        Raises:
            ExportError: `args` do not have the structure, shapes or dtypes that were written.
        """
        paths, tree = jax.tree_util.tree_flatten_with_path((args, {}))
        if tree != self.exported.in_tree:
            raise ExportError(
                f"This StableHLO takes arguments structured as {self.exported.in_tree}, and was called with "
                f"{tree}."
            )
        pairs = zip(paths, self.inputs, strict=True)
        taken = [_taken(f"args{keystr(path[1:])}", value, wanted) for (path, value), wanted in pairs]
        return self.exported.call(*jax.tree.unflatten(tree, taken)[0])

    def __repr__(self) -> str:
        """Returns the types of what it takes and gives, and where it runs."""
        taken, given = (", ".join(map(describe, part)) for part in (self.inputs, self.outputs))
        return f"<StableHLO for {', '.join(self.platforms)}: ({taken}) -> ({given})>"


def from_stablehlo(blob: bytes) -> StableHLO:
    """Returns the function that `blob`, made by `to_stablehlo` or `jax.export`, holds.

    Raises:
        ExportError: `blob` is something else.
    """
    try:
        return StableHLO(exported=jax.export.deserialize(bytearray(blob)))
    except (struct.error, ValueError, IndexError, TypeError, AssertionError) as error:
        raise ExportError(
            f"These {len(blob)} bytes are no StableHLO that `to_stablehlo` or `jax.export` wrote: {error}"
        ) from error


def _taken(place: str, value: Any, wanted: jax.ShapeDtypeStruct) -> Any:
    """Returns `value` as the program takes it; Python's numbers take the dtype that is wanted.

    Raises:
        ExportError: its shape or dtype is another.
    """
    if jax.dtypes.issubdtype(wanted.dtype, jax.dtypes.extended):
        return value
    if jax.dtypes.canonicalize_dtype(wanted.dtype) != wanted.dtype:
        raise ExportError(
            f"This StableHLO takes `{place}` as {describe(wanted)}, and JAX is in single precision here. Run "
            "`jax.config.update('jax_enable_x64', True)` first."
        )
    if isinstance(value, bool | int | float | complex) and _is_of_kind(value, wanted.dtype):
        value = np.asarray(value, wanted.dtype)
    if not _fits(value, wanted):
        raise ExportError(f"This StableHLO takes `{place}` as {describe(wanted)}, not as {describe(value)}.")
    return value


def _fits(value: Any, wanted: jax.ShapeDtypeStruct) -> bool:
    shape = np.shape(value)
    sizes = [(have, want) for have, want in zip(shape, wanted.shape, strict=False) if isinstance(want, int)]
    alike = len(shape) == len(wanted.shape) and all(have == want for have, want in sizes)
    return alike and jnp.result_type(value) == wanted.dtype


def _is_of_kind(value: complex, dtype: Any) -> bool:
    return np.can_cast(np.asarray(value).dtype, dtype, casting="same_kind")
