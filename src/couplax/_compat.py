"""What differs between JAX 0.10 and JAX 0.12: the only file that knows."""

from collections.abc import Mapping
from typing import Any


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Returns how many constants and how many carries a `scan` equation has.

    JAX 0.10 keeps the two numbers; JAX 0.12 keeps the flat tree of (constants, carries, inputs).
    """
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carries, _ = params["ft_in"].unpack()
    return len(list(constants.vals)), len(list(carries.vals))
