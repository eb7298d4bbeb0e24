"""The shortest way from a program to a code's value: what can be decided once is decided once."""

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from couplax.foreign._signature import Signature

Array = np.ndarray[Any, Any]
Accepts = Callable[[Any], bool]


def is_plain(signature: Signature) -> bool:
    """Returns whether the code takes its arrays one by one and returns a single one."""
    places = range(len(signature.arguments.structs))
    return signature.arguments.tree == jax.tree.structure(tuple(places)) and signature.out.tree == _LEAF


_LEAF = jax.tree.structure(0)


def as_declared(struct: jax.ShapeDtypeStruct) -> Accepts:
    """Returns a quick test of whether a result is as declared and finite; a closer look follows a failure."""
    dtype = np.dtype(struct.dtype)
    if struct.shape == ():
        # A Python float is a double too; of the others numpy's own scalars alone are as declared.
        scalar, finite = (float if dtype == np.float64 else dtype.type), _FINITE.get(dtype.kind)
        return lambda result: isinstance(result, scalar) and (finite is None or finite(result))

    def accepts(result: Any) -> bool:
        if type(result) is not np.ndarray or result.dtype != dtype or result.shape != struct.shape:
            return False
        return dtype.kind not in "fc" or _is_finite(result)

    return accepts


_FINITE: dict[str, Callable[[Any], bool]] = {"f": math.isfinite, "c": cmath.isfinite}


def _is_finite(array: Array) -> bool:
    # A sum of squares is finite only where all terms are. One that overflows fails: a closer look follows.
    flat = array.reshape(-1)
    total = flat.dot(flat)
    return bool(total - total == 0)


def key_bytes(structs: Sequence[Any]) -> bytes:
    """Returns the part of a point's key that says what its arrays are."""
    return "".join(f"{np.dtype(struct.dtype).str}{struct.shape}" for struct in structs).encode()
