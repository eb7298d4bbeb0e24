"""What differs between JAX 0.10 and JAX 0.12: the only file that knows."""

from collections.abc import Mapping
from typing import Any

import jax.extend.core as jec


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Returns how many constants and how many carries a `scan` equation has.

    JAX 0.10 keeps the two numbers; JAX 0.12 keeps the flat tree of (constants, carries, inputs).
    """
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carries, _ = params["ft_in"].unpack()
    return len(list(constants.vals)), len(list(carries.vals))


def primitives_named(*names: str) -> tuple[jec.Primitive, ...]:
    """Returns those of JAX's public primitives (`sin_p`, ...) that this JAX has."""
    found = (getattr(jec.primitives, name, None) for name in names)
    return tuple(primitive for primitive in found if primitive is not None)
