"""Equations that give back a value that is there already, exactly, whatever the numbers are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax.stage._interpret import Value, is_known


@dataclass(frozen=True, slots=True)
class Made:
    """How a value was made: by which equation, from which inputs."""

    eqn: jec.JaxprEqn
    inputs: Sequence[Value]


Origin = Callable[[Value], Made | None]
"""From a value to how it was made, where that is known."""

Identity = Callable[[jec.JaxprEqn, Sequence[Value], Origin], Value | None]
"""From an equation and its inputs to the value that it gives back, or None where it computes."""


def existing(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    """Returns the value that `eqn` on `inputs` merely gives back, or None."""
    rule = IDENTITIES.get(eqn.primitive.name)
    value = rule(eqn, inputs, origin) if rule is not None else None
    return value if value is not None and _same_type(value, eqn.outvars[0].aval) else None


def _same_type(value: Value, aval: Any) -> bool:
    have = jax.typeof(value)
    return have.shape == aval.shape and have.dtype == aval.dtype


def _first(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    return inputs[0]


def _reshaped(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    """Follows reshapes, which keep the order of the elements, back to a value of the wanted shape."""
    value: Value | None = inputs[0]
    while value is not None and not _same_type(value, eqn.outvars[0].aval):
        made = origin(value)
        value = made.inputs[0] if made is not None and _keeps_order(made.eqn) else None
    return value if _keeps_order(eqn) else None


def _keeps_order(eqn: jec.JaxprEqn) -> bool:
    if (
        eqn.primitive.name not in {"reshape", "squeeze", "expand_dims", "broadcast_in_dim"}
        or len(eqn.invars) != 1
    ):
        return False
    before: Any = eqn.invars[0].aval
    after: Any = eqn.outvars[0].aval
    return before.size == after.size


def _update(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    # An update as large as the operand replaces it: its start is clamped to the origin.
    return inputs[1]


def _identity_permutation(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    permutation = eqn.params["permutation"]
    return inputs[0] if list(permutation) == list(range(len(permutation))) else None


def _no_axes(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    return inputs[0] if not eqn.params["axes"] else None


def _one_case(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    return inputs[1] if all(case is inputs[1] for case in inputs[2:]) else None


def _twice(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    made = origin(inputs[0])
    return made.inputs[0] if made is not None and made.eqn.primitive is eqn.primitive else None


def _same_sides(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    return inputs[0] if inputs[0] is inputs[1] else None


def _product(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    left, right = inputs
    return left if _is_one(right) else right if _is_one(left) else None


def _quotient(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    return inputs[0] if _is_one(inputs[1]) else None


def _difference(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    # x - 0 is x to the last bit; x - (-0) is not where x is -0, and neither is x + 0.
    return inputs[0] if _is_all(inputs[1], 0) and not any(np.asarray(inputs[1]).tobytes()) else None


def _sum(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    left, right = inputs
    aval: Any = eqn.outvars[0].aval
    if not jnp.issubdtype(aval.dtype, jnp.integer):
        return None
    return left if _is_all(right, 0) else right if _is_all(left, 0) else None


def _first_power(eqn: jec.JaxprEqn, inputs: Sequence[Value], origin: Origin) -> Value | None:
    return inputs[0] if eqn.params["y"] == 1 else None


def _is_one(value: Value) -> bool:
    # A complex product with 1 + 0i multiplies by the 0 too, which makes an infinity NaN.
    return _is_all(value, 1) and not jnp.iscomplexobj(value)


def _is_all(value: Value, number: int) -> bool:
    if not is_known(value) or not jnp.issubdtype(jax.typeof(value).dtype, jnp.number):
        return False
    return bool((np.asarray(value) == number).all())


IDENTITIES: Mapping[str, Identity] = MappingProxyType(
    {
        **dict.fromkeys(("convert_element_type", "dynamic_slice", "slice", "concatenate", "copy"), _first),
        **dict.fromkeys(("reshape", "squeeze", "expand_dims", "broadcast_in_dim"), _reshaped),
        **dict.fromkeys(
            ("reduce_or", "reduce_and", "reduce_sum", "reduce_prod", "reduce_max", "reduce_min"), _no_axes
        ),
        **dict.fromkeys(("neg", "not"), _twice),
        **dict.fromkeys(("and", "or", "max", "min"), _same_sides),
        "dynamic_update_slice": _update,
        "transpose": _identity_permutation,
        "select_n": _one_case,
        "mul": _product,
        "div": _quotient,
        "sub": _difference,
        "add": _sum,
        "integer_pow": _first_power,
    }
)
"""Rules by the primitive's name; each may name a value of another type, which is then not taken."""
