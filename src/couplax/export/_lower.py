"""The interpreter: a staged jaxpr, equation by equation, into nodes."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.extend.core as jec
import numpy as np
import onnx_ir as ir

from couplax._errors import ExportError, MissingRuleError, quoted
from couplax._sizes import symbols_in
from couplax._source import user_line, where
from couplax.export._builder import Builder
from couplax.export._context import Context
from couplax.export._table import Entry, OnnxRules
from couplax.export._types import (
    TensorType,
    broadcast_shapes,
    describe_aval,
    is_bfloat16,
    is_plain,
    tensor_type,
    type_of,
)
from couplax.foreign._primitives import FOREIGN_PRIMITIVES


def lower(
    builder: Builder, rules: OnnxRules, closed: jec.ClosedJaxpr, inputs: Sequence[ir.Value]
) -> list[ir.Value]:
    """Returns the outputs of `closed` on `inputs`, written into `builder` by `rules`, at full size.

    Raises:
        MissingRuleError: a primitive has no rule.
        ExportError: a rule cannot write its equation.
    """
    jaxpr = closed.jaxpr
    constants = [builder.constant(_smallest(np.asarray(value))) for value in closed.consts]
    env: dict[jec.Var, ir.Value] = dict(zip(jaxpr.constvars, constants, strict=True))
    env.update(zip(jaxpr.invars, inputs, strict=True))

    def read(atom: Any) -> ir.Value:
        if isinstance(atom, jec.Literal):
            return builder.constant(np.asarray(atom.val, tensor_type(atom.aval).dtype))
        return env[atom]

    for eqn in jaxpr.eqns:
        entry = _entry(rules, eqn)
        context = Context(
            eqn=eqn, builder=builder, lower=partial(lower, builder, rules), place=user_line(eqn)
        )
        values = [_taken(context, entry, read(atom), atom.aval) for atom in eqn.invars]
        outputs = _written(context, entry, values)
        env.update(zip(eqn.outvars, _checked(context, entry, outputs), strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _entry(rules: OnnxRules, eqn: jec.JaxprEqn) -> Entry:
    avals = [atom.aval for atom in (*eqn.invars, *eqn.outvars)]
    casts = eqn.primitive.name == "convert_element_type" or eqn.primitive in FOREIGN_PRIMITIVES
    odd = next((aval for aval in avals if not is_plain(aval) and not (casts and is_bfloat16(aval))), None)
    inputs = ", ".join(map(describe_aval, (atom.aval for atom in eqn.invars)))
    reached = f"JAX primitive `{eqn.primitive.name}` on ({inputs}), reached at {where(eqn)}"
    if eqn.primitive in FOREIGN_PRIMITIVES and eqn.primitive.name not in rules:
        code = eqn.params["host"].code.name
        raise MissingRuleError(
            f"Foreign code `{code}`, called at {where(eqn)} on ({inputs}), cannot go into an ONNX file.\n"
            "Pair it with a JAX function that stands for it there, couplax.paired(fast, reference); or let "
            'the runtime supply it as a custom operator, foreign="custom_op".'
        )
    if eqn.primitive.name not in rules:
        advice = "Rewrite that call, or register a rule with `couplax.export.rule_for`."
        raise MissingRuleError(f"No ONNX rule for {reached}.\n{advice}")
    if odd is not None:
        raise ExportError(
            f"ONNX Runtime computes nothing in {describe_aval(odd)}: {reached}.\nRewrite that call."
        )
    return rules[eqn.primitive.name]


def _taken(context: Context, entry: Entry, value: ir.Value, aval: Any) -> ir.Value:
    return value if entry.broadcasts else context.full(value, aval.shape)


def _written(context: Context, entry: Entry, values: Sequence[ir.Value]) -> Sequence[ir.Value]:
    """Returns what the rule gives; where an open size stops it, the error says so."""
    eqn = context.eqn
    try:
        outputs = entry.rule(context, *values, **eqn.params)
    except ExportError:
        raise
    except _OPEN_SIZE_ERRORS as error:
        names = open_names(eqn)
        if not names:
            raise
        raise context.refuse(
            f"the open size {quoted(names)} is in the way ({_why(error)}); an integer is not"
        ) from error
    return outputs if eqn.primitive.multiple_results else [outputs]


def _why(error: BaseException) -> str:
    """Returns what JAX or Python says, in one line and without JAX's own word for a size."""
    line = str(error.__cause__ or error).partition("\n")[0]
    return "an integer is wanted" if "_DimExpr" in line else line.rstrip(".")


_OPEN_SIZE_ERRORS = (
    jax.errors.InconclusiveDimensionOperation,
    IndexError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""What Python, numpy, JAX and couplax raise where a size has to be an integer and is not."""


def open_names(eqn: jec.JaxprEqn) -> list[str]:
    """Returns the names of the sizes of `eqn` that are open, in order."""
    shapes = [getattr(atom.aval, "shape", ()) for atom in (*eqn.invars, *eqn.outvars)]
    sizes = [*(size for shape in shapes for size in shape), eqn.params.get("dim", 0)]
    return sorted({name for size in sizes for name in symbols_in(size)})


def _checked(context: Context, entry: Entry, outputs: Sequence[ir.Value]) -> Sequence[ir.Value]:
    for output, wanted in zip(outputs, context.outs, strict=True):
        came = type_of(output)
        if came.dtype != wanted.dtype or not _fits(came, wanted, entry.broadcasts):
            raise context.refuse(
                f"its rule gave {came.dtype.name}{list(came.shape)} for "
                f"{wanted.dtype.name}{list(wanted.shape)}, a fault of the rule"
            )
    return outputs


def _fits(came: TensorType, wanted: TensorType, broadcasts: bool) -> bool:
    if came.shape == wanted.shape or not broadcasts:
        return came.shape == wanted.shape
    return len(came.shape) <= len(wanted.shape) and broadcast_shapes(came.shape, wanted.shape) == wanted.shape


def _smallest(array: np.ndarray) -> np.ndarray:
    """Returns the one number that `array` holds everywhere, bit for bit, else `array`."""
    if array.size < 2:
        return array
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat[0].reshape(()) if _is_uniform(flat[:_FIRST]) and _is_uniform(flat) else array


_FIRST = 1024
"""Where so many numbers at the start are not the same, those behind them need not be looked at."""


def _is_uniform(flat: np.ndarray) -> bool:
    rows = flat.view(np.uint8).reshape(flat.size, -1)
    return bool((rows == rows[0]).all())
