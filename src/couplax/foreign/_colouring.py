"""Sweeps made short by sparsity: vectors whose results do not overlap share one evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sparsity pattern as a value, in compressed row form: rows are results, columns inputs."""

    shape: tuple[int, int]
    columns: bytes
    starts: bytes

    @staticmethod
    def of(matrix: Any) -> "Pattern":
        """Returns the pattern of a boolean matrix, dense or of SciPy."""
        sparse: Any = scipy.sparse.csr_array(matrix)
        sparse.sum_duplicates()
        columns, starts = sparse.indices.astype(np.int32), sparse.indptr.astype(np.int32)
        return Pattern(sparse.shape, columns.tobytes(), starts.tobytes())

    @property
    def matrix(self) -> "scipy.sparse.csr_array":
        """The pattern as a SciPy array of ones."""
        columns, starts = (np.frombuffer(part, np.int32) for part in (self.columns, self.starts))
        return scipy.sparse.csr_array((np.ones(len(columns), np.int32), columns, starts), shape=self.shape)


def colours(pattern: "scipy.sparse.csr_array", supports: Array) -> Array:
    """Returns a colour for each vector of a sweep; vectors of one colour have results in different places.

    Args:
        pattern: which elements of the result depend on which elements of a vector, results in rows.
        supports: which elements of each vector are not zero, vectors in rows.
    """
    return _coloured(Pattern.of(pattern), supports.shape, np.packbits(supports).tobytes())


def reached(pattern: "scipy.sparse.csr_array", supports: Array) -> Array:
    """Returns for each vector which elements of the result it can touch."""
    return ((scipy.sparse.csr_array(supports.astype(np.int32)) @ pattern.T) > 0).toarray()


@lru_cache(maxsize=32)
def _coloured(pattern: Pattern, shape: tuple[int, int], packed: bytes) -> Array:
    flat = np.unpackbits(np.frombuffer(packed, np.uint8), count=shape[0] * shape[1])
    touched = scipy.sparse.csr_array(flat.reshape(shape).astype(np.int32)) @ pattern.matrix.T
    overlap = (touched @ touched.T).tocoo()
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(shape[0]))
    graph.add_edges_from((a, b) for a, b in zip(overlap.row, overlap.col, strict=True) if a < b)
    found = min(
        (nx.greedy_color(graph, order) for order in _ORDERS), key=lambda c: max(c.values(), default=0)
    )
    return np.array([found[k] for k in range(shape[0])])


def _as_they_come(graph: "nx.Graph[int]", colors: dict[int, int]) -> Sequence[int]:
    return list(graph)


_ORDERS: tuple[Any, ...] = (_as_they_come, "smallest_last")
"""Greedy colouring in the vectors' own order is optimal for bands, smallest-last good for most others."""
