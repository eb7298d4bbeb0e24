"""Arrays as one real vector, with a name for each of its elements."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The elements of one array in the vector."""

    name: str
    elements: slice

    @property
    def size(self) -> int:
        """How many elements it has."""
        return self.elements.stop - self.elements.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How arrays stand in one vector of double precision; a complex number is two elements of it."""

    names: tuple[str, ...]
    structs: tuple[jax.ShapeDtypeStruct, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The elements of each array."""
        ends = np.cumsum([0, *map(_size, self.structs)])
        return tuple(
            Block(name=name, elements=slice(int(start), int(end)))
            for name, start, end in zip(self.names, ends, ends[1:], strict=False)
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each element, such as `x[0,2]`."""
        return _all_labels(self)

    @property
    def epsilon(self) -> Array:
        """Per element, the relative spacing of the numbers of its array."""
        return np.concatenate([np.full(_size(s), float(jax.numpy.finfo(s.dtype).eps)) for s in self.structs])

    def pack(self, arrays: Sequence[Any]) -> Array:
        """Returns the arrays as one vector."""
        return np.concatenate([np.zeros(0), *map(_reals, arrays)])

    def unpack(self, vector: Array) -> list[Array]:
        """Returns the vector as arrays, rounded to their dtypes."""
        blocks = zip(self.blocks, self.structs, strict=True)
        return [_array(vector[block.elements], struct) for block, struct in blocks]

    def rounded(self, vector: Array) -> Array:
        """Returns the vector as its arrays can hold it."""
        return self.pack(self.unpack(vector))


@functools.lru_cache(maxsize=8)
def _all_labels(layout: Layout) -> tuple[str, ...]:
    parts = zip(layout.names, layout.structs, strict=True)
    return tuple(label for part in parts for label in _labels(*part))


def _is_complex(struct: jax.ShapeDtypeStruct) -> bool:
    return np.dtype(struct.dtype).kind == "c"


def _size(struct: jax.ShapeDtypeStruct) -> int:
    return int(np.prod(struct.shape, dtype=int)) * (2 if _is_complex(struct) else 1)


def _reals(array: Any) -> Array:
    array = np.asarray(array)
    if array.dtype.kind == "c":
        return np.ascontiguousarray(array, np.complex128).reshape(-1).view(np.float64)
    return array.astype(np.float64).reshape(-1)


def _array(vector: Array, struct: jax.ShapeDtypeStruct) -> Array:
    numbers = np.ascontiguousarray(vector).view(np.complex128) if _is_complex(struct) else vector
    return numbers.reshape(struct.shape).astype(struct.dtype)


def _labels(name: str, struct: jax.ShapeDtypeStruct) -> Iterator[str]:
    for index in np.ndindex(*struct.shape):
        label = f"{name}[{','.join(map(str, index))}]" if index else name
        yield from (f"{label}.real", f"{label}.imag") if _is_complex(struct) else (label,)
