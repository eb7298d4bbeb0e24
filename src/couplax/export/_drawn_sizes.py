"""The sizes at which a file of open axes is compared with its function."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import jax

from couplax._errors import VerificationError
from couplax._sizes import shape_at, symbols_in

_TRIALS = 2
_SMALLEST, _LARGEST, _STEP = 3, 99, 2


def at_drawn_sizes(args: Sequence[Any]) -> list[tuple[str, Any]]:
    """Returns `args` with numbers for their open sizes, twice, each with words for the numbers.

    Arguments without open sizes are returned once, with no words.

    Raises:
        VerificationError: no small numbers give every axis a size of 1 at least.
    """
    shapes = [leaf.shape for leaf in jax.tree.leaves(args) if isinstance(leaf, jax.ShapeDtypeStruct)]
    names = sorted({name for shape in shapes for size in shape for name in symbols_in(size)})
    if not names:
        return [("", args)]
    found = list(islice(_fitting(names, shapes), _TRIALS))
    if not found:
        raise VerificationError(
            f"No sizes up to {_LARGEST} were found at which each axis of ({', '.join(map(str, shapes))}) has "
            "an element. Pass arrays to `couplax.verify`."
        )
    return [(_words(symbols), _at(symbols, args)) for symbols in found]


def _fitting(names: Sequence[str], shapes: Sequence[Sequence[Any]]) -> Iterator[dict[str, int]]:
    """Yields numbers for `names`, all different, at which every axis has an element."""
    for start in range(_SMALLEST, _LARGEST, _STEP):
        symbols = {name: start + place for place, name in enumerate(names)}
        if all(size > 0 for shape in shapes for size in shape_at(shape, symbols)):
            yield symbols


def _at(symbols: Mapping[str, int], args: Sequence[Any]) -> Any:
    def known(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        return jax.ShapeDtypeStruct(shape_at(leaf.shape, symbols), leaf.dtype)

    return jax.tree.map(known, tuple(args))


def _words(symbols: Mapping[str, int]) -> str:
    return " at " + ", ".join(f"{name}={number}" for name, number in symbols.items())
