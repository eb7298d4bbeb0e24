"""Sweeps: many vectors at one point, and how sparsity makes them few."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from couplax.foreign._colouring import colours, reached

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]
Derivative = Callable[[Sequence[Arrays]], Sequence[Arrays]]
"""From the vectors of a sweep to the derivative along each."""


def nonzero_only(derivative: Derivative, sweep: Sequence[Arrays], zero: Arrays) -> list[Arrays]:
    """Returns the derivative along each vector of the sweep, a zero one for a zero vector, at no cost."""
    places = [k for k, vectors in enumerate(sweep) if any(map(np.any, vectors))]
    found = dict(zip(places, derivative([sweep[k] for k in places]) if places else (), strict=True))
    return [found.get(k, zero) for k in range(len(sweep))]


def compressed(
    derivative: Derivative, sweep: Sequence[Arrays], pattern: "scipy.sparse.csr_array"
) -> list[Arrays]:
    """Returns the derivative along each vector, from one along the sum of all that do not overlap.

    Args:
        pattern: which flat elements of the result depend on which of a vector.
    """
    flat = np.array([np.concatenate([v.ravel() for v in vectors]) for vectors in sweep])
    supports = flat != 0
    colour = colours(pattern, supports)
    sums = [_split(flat[colour == c].sum(axis=0), sweep[0]) for c in range(int(colour.max()) + 1)]
    results = derivative(sums)
    masks = reached(pattern, supports)
    return [_masked(results[c], mask) for c, mask in zip(colour, masks, strict=True)]


def unit_vectors(like: Arrays) -> Iterator[list[Array]]:
    """Yields, for each element of the arrays in order, vectors that are 1 there and 0 elsewhere."""
    for place, array in enumerate(like):
        for index in range(array.size):
            vectors = [np.zeros_like(x) for x in like]
            vectors[place].reshape(-1)[index] = 1
            yield vectors


def contracted(columns: Sequence[Arrays], ws: Arrays, like: Arrays) -> list[Array]:
    """Returns J^T w in the shapes of `like`, from the columns of J in order."""
    flat = np.array([sum(np.sum(c * w) for c, w in zip(column, ws, strict=True)) for column in columns])
    return [
        part.astype(x.dtype) if np.iscomplexobj(x) else np.real(part).astype(x.dtype)
        for part, x in zip(_split(flat, like), like, strict=True)
    ]


def _split(flat: Array, like: Arrays) -> list[Array]:
    ends = np.cumsum([array.size for array in like])[:-1]
    return [part.reshape(x.shape) for part, x in zip(np.split(flat, ends), like, strict=True)]


def _masked(result: Arrays, mask: Array) -> list[Array]:
    parts = _split(mask, result)
    return [np.where(part, value, np.zeros_like(value)) for part, value in zip(parts, result, strict=True)]
