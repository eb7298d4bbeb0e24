"""A foreign code as a value: the user's routines and how they are to be called."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from couplax.foreign._declaration import Outputs
from couplax.foreign._differences import AbstractDifferences

Routine = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """The parts of a foreign code; codes of equal parts are equal, and share their memo and tally.

    Attributes:
        name: what messages call it.
        fn: the routine for the value.
        out: what it is declared to return.
        tangent: `(primals, tangents) -> tangents of the outputs`, the code's own, if any.
        adjoint: `(primals, cotangents) -> cotangents of the inputs`, the code's own, if any.
        differences: what stands in for a derivative that the code does not offer.
        memo: how many points are remembered.
        precision: the dtype that the code computes with inside, where that is coarser than its arrays.
        scale: typical magnitude of the inputs, one number for all or one per leaf.
        thread_safe: whether several threads may be in the code at once.
        inplace: whether the code writes to its inputs, so that it needs copies of its own.
    """

    name: str
    fn: Routine
    out: Outputs | Routine
    tangent: Routine | None
    adjoint: Routine | None
    differences: AbstractDifferences
    memo: int
    precision: Any
    scale: Any
    thread_safe: bool
    inplace: bool
