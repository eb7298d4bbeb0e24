"""Running a program of symbolic sizes where the sizes are known."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp

from couplax._sizes import is_symbolic, shape_at, size_at
from couplax.stage._interpret import Value, bind, interpret, trace
from couplax.stage._known import SIZE_PRIMITIVE

Symbols = Mapping[str, int]
"""What each name of a size is."""


_MOST_KEPT = 32


@lru_cache(maxsize=_MOST_KEPT)
def at_sizes(closed: jec.ClosedJaxpr, symbols: frozenset[tuple[str, int]]) -> jec.ClosedJaxpr:
    """Returns `closed` with integers for its sizes, the same program for the same ones.

    Args:
        symbols: what each name of a size is, in pairs.
    """
    return _closed_at(dict(symbols), closed)


def _bind_at(symbols: Symbols, eqn: jec.JaxprEqn, inputs: list[Value]) -> Sequence[Value]:
    if eqn.primitive.name == SIZE_PRIMITIVE:
        aval: Any = eqn.outvars[0].aval
        return [jnp.asarray(size_at(eqn.params["dim"], symbols), aval.dtype)]
    return bind(eqn, inputs, **{name: _param_at(symbols, param) for name, param in eqn.params.items()})


def _param_at(symbols: Symbols, param: Any) -> Any:
    """Returns `param` with integers for symbolic sizes, in shapes and in jaxprs too."""
    match param:
        case jec.ClosedJaxpr():
            return _closed_at(symbols, param)
        case tuple() if not hasattr(param, "_fields"):
            return tuple(_param_at(symbols, part) for part in param)
        case list():
            return [_param_at(symbols, part) for part in param]
        case _:
            return size_at(param, symbols) if is_symbolic(param) else param


def _closed_at(symbols: Symbols, closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    structs = [jax.ShapeDtypeStruct(shape_at(aval.shape, symbols), aval.dtype) for aval in closed.in_avals]
    return trace(lambda *inputs: interpret(closed, inputs, partial(_bind_at, symbols)), structs)
