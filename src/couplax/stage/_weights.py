"""How much an equation weighs where a loop is written out: one, and what is inside it; some weigh more."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import jax.extend.core as jec

RANDOM = 120
"""The operations of one block of Threefry-2x32."""

WEIGHTS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("random_bits", "random_split", "random_fold_in", "threefry2x32"), RANDOM),
        "erf_inv": 40,
    }
)
"""Primitives that every target writes in many operations, by name."""


def weight(equations: Iterable[jec.JaxprEqn]) -> int:
    """Returns how many operations `equations` are, those of the jaxprs inside them included."""
    return sum(
        WEIGHTS.get(eqn.primitive.name, 1)
        + sum(weight(inner.eqns) for inner in jec.jaxprs_in_params(eqn.params))
        for eqn in equations
    )
