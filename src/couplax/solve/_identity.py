"""Solvers as values: equal and hashable by their parts, arrays included."""

from collections.abc import Hashable
from typing import Any

import equinox as eqx
import jax
import numpy as np


def identity(solver: Any) -> Hashable:
    """Returns what is equal, with an equal hash, for solvers that are made of equal parts.

    An `equinox.Module` has a hash only where none of its parts is an array; some of optimistix's solvers,
    such as its Gauss-Newton, hold their step size as one. Nothing is traced, so that a model may be compared
    inside a transformation.
    """
    arrays, rest = eqx.partition(solver, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)
    numbers = [np.asarray(leaf) for leaf in leaves]
    return rest, structure, tuple((array.dtype.str, array.shape, array.tobytes()) for array in numbers)
