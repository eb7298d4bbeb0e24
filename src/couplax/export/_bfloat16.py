"""The pass that computes bfloat16 as JAX does on a CPU: in float32, each result rounded to bfloat16.

ONNX has the type, and ONNX Runtime has next to no kernels for it but those that cast. So what comes in, goes
out and stands in constants is bfloat16, and what lies between is float32 that bfloat16 could hold.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import COMPOSITIONS
from couplax.export._types import is_bfloat16
from couplax.foreign._primitives import FOREIGN_PRIMITIVES
from couplax.stage import Value, bind, finalise, interpret, simplify, specialise, trace

_BFLOAT16, _FLOAT32 = np.dtype(jnp.bfloat16), np.dtype(np.float32)

_EXACT = frozenset(
    "abs argmax argmin broadcast_in_dim ceil clamp concatenate cond copy cummax cummin dynamic_slice "
    "dynamic_update_slice empty floor gather max min neg pad reduce_max reduce_min reduce_precision "
    "reduce_window_max reduce_window_min reshape rev round scan scatter scatter-max scatter-min "
    "select_and_gather_add select_n sign slice sort split squeeze stack tile top_k transpose unstack "
    "while".split()
)
"""Primitives whose results are numbers that went in, or are rounded inside."""


def widened(closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    """Returns `closed`, bfloat16 only where it goes in and out; a program without it as it is."""
    if not holds_bfloat16(closed.jaxpr):
        return closed

    def run(*inputs: Value) -> list[Value]:
        outputs = _run(closed, list(map(_wide, inputs)))
        return [_narrow(value, aval) for value, aval in zip(outputs, closed.out_avals, strict=True)]

    return simplify(specialise(finalise(trace(run, closed.in_avals))))


def holds_bfloat16(jaxpr: Any) -> bool:
    """Returns whether a value of `jaxpr`, or of a jaxpr inside it, is bfloat16."""
    atoms = (*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars)
    return any(is_bfloat16(atom.aval) for atom in atoms) or any(map(_is_touched, jaxpr.eqns))


def _is_touched(eqn: jec.JaxprEqn) -> bool:
    return any(is_bfloat16(atom.aval) for atom in (*eqn.invars, *eqn.outvars)) or any(
        holds_bfloat16(getattr(sub, "jaxpr", sub)) for sub in jec.jaxprs_in_params(eqn.params)
    )


def _wide(value: Value) -> Value:
    """Returns `value`, in float32 where it is bfloat16."""
    return lax.convert_element_type(value, _FLOAT32) if is_bfloat16(jax.typeof(value)) else value


def _narrow(value: Value, aval: Any) -> Value:
    return lax.convert_element_type(value, _BFLOAT16) if is_bfloat16(aval) else value


def _run(closed: jec.ClosedJaxpr, inputs: Sequence[Value]) -> list[Value]:
    return list(map(_wide, interpret(closed, inputs, _handle)))


def _handle(eqn: jec.JaxprEqn, inputs: list[Value]) -> Sequence[Value]:
    values = [_wide(value) for value in inputs]
    if not _is_touched(eqn):
        return bind(eqn, values)
    if eqn.primitive.name == "bitcast_convert_type":
        return [_bits(eqn, *values, **eqn.params)]
    if eqn.primitive.name == "nextafter":
        return _run(trace(COMPOSITIONS["nextafter"], [atom.aval for atom in eqn.invars]), values)
    if eqn.primitive in FOREIGN_PRIMITIVES:
        narrow = [_narrow(value, atom.aval) for value, atom in zip(values, eqn.invars, strict=True)]
        return list(map(_wide, bind(eqn, narrow)))
    outputs = bind(eqn, values, **{name: _changed(item) for name, item in eqn.params.items()})
    return [_rounded(eqn, *pair) for pair in zip(outputs, eqn.outvars, strict=True)]


def _rounded(eqn: jec.JaxprEqn, output: Value, var: Any) -> Value:
    """Returns `output`, rounded where bfloat16 is asked for and it may be another number."""
    if not is_bfloat16(var.aval) or eqn.primitive.name in _EXACT:
        return output
    limits = jnp.finfo(_BFLOAT16)
    return lax.reduce_precision(output, limits.nexp, limits.nmant)


def _changed(item: Any) -> Any:
    """Returns a param with float32 in place of bfloat16: a dtype, a jaxpr, or several branches."""
    match item:
        case tuple() if all(isinstance(each, jec.ClosedJaxpr) for each in item):
            return tuple(map(_inner, item))
        case jec.ClosedJaxpr():
            return _inner(item)
        case jec.Jaxpr():
            return _inner(jec.ClosedJaxpr(item, ())).jaxpr
        case np.dtype() | type():
            return _FLOAT32 if item == _BFLOAT16 else item
        case _:
            return item


def _inner(closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    """Returns a jaxpr inside an equation, of float32 in place of bfloat16."""
    if not holds_bfloat16(closed.jaxpr):
        return closed
    wide = [
        jax.ShapeDtypeStruct(aval.shape, _FLOAT32) if is_bfloat16(aval) else aval for aval in closed.in_avals
    ]
    return trace(lambda *inputs: _run(closed, inputs), wide)


def _bits(eqn: jec.JaxprEqn, value: Value, new_dtype: Any) -> Value:
    """Returns bits read as another type, bfloat16 being the upper half of float32."""
    if is_bfloat16(eqn.invars[0].aval):
        upper = lax.bitcast_convert_type(value, np.uint32) >> np.uint32(16)
        value = upper.astype(np.uint16)
    if np.dtype(new_dtype) != _BFLOAT16:
        return lax.bitcast_convert_type(value, new_dtype)
    upper = lax.bitcast_convert_type(value, np.uint16).astype(np.uint32)
    return lax.bitcast_convert_type(upper << np.uint32(16), _FLOAT32)
