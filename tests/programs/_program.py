"""A program of the table: a function, where it is tried, and how close the numbers have to be."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

ROUNDING = 1e-10
"""The largest error in float64, relative to the largest magnitude of an output.

ONNX Runtime adds in another order than XLA, so a step differs by some 1e-16; a solve of some hundred steps,
and a controller that scales the next step by an error estimate of 1e-6, make up to 1e-11 of it.
"""

SINGLE = 1e-3
"""The same in float32, where a controller that decides by rounding takes other steps: the tolerance of the
solves that are compared, ten times over.
"""

SCALE, SHIFT = 1.0625, 0.015625
"""Numbers given are moved so for the second trial, so that nothing is baked into the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that goes out and is compared with JAX.

    Attributes:
        name: what it shows, as it stands in the name of the test.
        fn: the function.
        args: where it is exported and tried, with floats in float64.
        trial: where else it is tried; by default the numbers of `args` moved.
        shows: the solver classes, of whichever library, that it runs.
        tolerance: the largest error in float64, relative to the largest magnitude of an output.
        single: whether it is compared in float32 too.
    """

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    trial: tuple[Any, ...] | None = None
    shows: tuple[type, ...] = ()
    tolerance: float = ROUNDING
    single: bool = False

    @property
    def moved(self) -> tuple[Any, ...]:
        """The arguments of the second trial."""
        return jax.tree.map(_moved, self.args) if self.trial is None else self.trial


def in_dtype(args: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    """Returns `args` as arrays, with floats in `dtype` and integers in 32 bits."""

    def array(leaf: Any) -> np.ndarray:
        value = np.asarray(leaf)
        return value.astype(dtype if np.issubdtype(value.dtype, np.floating) else np.int32)

    return jax.tree.map(array, args)


def _moved(leaf: Any) -> np.ndarray:
    value = np.asarray(leaf)
    return value * SCALE + SHIFT if np.issubdtype(value.dtype, np.floating) else value + 1
