"""A foreign code as a value: the user's routines and how they are to be called."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np

from couplax.foreign._colouring import Pattern
from couplax.foreign._declaration import Outputs
from couplax.foreign._differences import AbstractDifferences

Routine = Callable[..., Any]
OnFailure = Literal["raise", "nan"]


class Frozen:
    """A value that may hold arrays, compared and hashed by what they hold."""

    def __init__(self, value: Any) -> None:
        self.value = value
        leaves, tree = jax.tree.flatten(value, is_leaf=lambda leaf: leaf is None)
        self._key = (tree, tuple(map(_bytes, leaves)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _bytes(leaf: Any) -> Any:
    if leaf is None:
        return None
    array = np.asarray(leaf)
    return array.shape, array.dtype.str, array.tobytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """The parts of a foreign code; codes of equal parts are equal, and share their memo and tally.

    Attributes:
        name: what messages call it.
        fn: the routine for the value.
        out: what it is declared to return.
        tangent: `(primals, tangents) -> tangents of the outputs`, the code's own, if any.
        adjoint: `(primals, cotangents) -> cotangents of the inputs`, the code's own, if any.
        reference: a JAX function with the same values, from which derivatives are taken, if any.
        differences: what stands in for a derivative that the code does not offer.
        batched: whether the code takes a leading axis on all of its arrays, and returns one.
        sparsity: which flat outputs depend on which flat inputs.
        executor: what runs the probes of a sweep side by side.
        memo: how many points are remembered.
        on_failure: whether an exception of the code is raised, or makes its outputs NaN.
        precision: the dtype that the code computes with inside, where that is coarser than its arrays.
        scale: typical magnitude of the inputs, one number for all or one for each flat input.
        bounds: a pair (lower, upper) for all inputs, or one for each flat input.
        thread_safe: whether several threads may be in the code at once.
        inplace: whether the code writes to its inputs, so that it needs copies of its own.
    """

    name: str
    fn: Routine
    out: Outputs | Routine
    tangent: Routine | None = None
    adjoint: Routine | None = None
    reference: Routine | None = None
    differences: AbstractDifferences
    batched: bool = False
    sparsity: Pattern | None = None
    executor: Executor | None = None
    memo: int = 8
    on_failure: OnFailure = "raise"
    precision: Any = None
    scale: Frozen
    bounds: Frozen
    thread_safe: bool = False
    inplace: bool = False
