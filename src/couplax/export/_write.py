"""Writes a staged function as an ONNX model."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.extend.core as jec
import onnx
import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from couplax._errors import ExportError
from couplax.export._bfloat16 import holds_bfloat16, widened
from couplax.export._builder import Builder
from couplax.export._fuse import fuse
from couplax.export._given import staged_for_export
from couplax.export._half_size import register_at_half_size
from couplax.export._kernels import LOWEST_OPSET
from couplax.export._lower import lower
from couplax.export._names import Names, check_names, input_names, output_names
from couplax.export._notes import annotate, metadata
from couplax.export._operators import ForeignChoice, Operators, check_choice
from couplax.export._plain import parted, plain
from couplax.export._table import ONNX_RULES, OnnxRules
from couplax.export._types import describe_aval, is_bfloat16, is_plain, tensor_type


def written(
    fn: Callable[..., Any],
    args: Sequence[Any],
    *,
    inputs: Names,
    outputs: Names,
    opset: int | None,
    failures: Any,
    foreign: ForeignChoice,
    rules: OnnxRules | None,
) -> ir.Model:
    """Returns `fn` at `args` as a model."""
    check_choice(foreign)
    operators, table = Operators(), ONNX_RULES if rules is None else rules
    if foreign == "custom_op":
        table = {**operators.rules(), **table}
    staged = staged_for_export(fn, args, failures=failures)
    taken = parted(input_names(fn, args, inputs), staged.jaxpr.in_avals)
    names = taken, parted(output_names(fn, staged, outputs), staged.jaxpr.out_avals)
    check_names(*names)
    builder = Builder([*names[0], *names[1]])
    graph = _graph(builder, plain(widened(staged.jaxpr)), *names, table)
    fuse(builder, graph)
    if holds_bfloat16(staged.jaxpr.jaxpr):
        register_at_half_size(graph, builder.constants)
    else:
        for constant in builder.constants:
            graph.register_initializer(constant)
    annotate(graph, fn)
    said = metadata(fn, [*names[0], *names[1]], staged.statuses)
    model = _model(graph, _opset(builder, opset), said)
    operators.finish(model)
    return model


def _graph(
    builder: Builder, closed: jec.ClosedJaxpr, inputs: Sequence[str], outputs: Sequence[str], rules: OnnxRules
) -> ir.Graph:
    _check_types(closed, inputs)
    types = [tensor_type(aval) for aval in closed.in_avals]
    taken = [builder.value(name, tensor) for name, tensor in zip(inputs, types, strict=True)]
    for value, name in zip(taken, inputs, strict=True):
        value.name = name
    builder.sizes.take(taken)
    given = lower(builder, rules, closed, taken)
    given = builder.distinct(
        [builder.full(value, aval.shape) for value, aval in zip(given, closed.out_avals, strict=True)]
    )
    for value, name in zip(given, outputs, strict=True):
        value.name = name
    return ir.Graph(taken, given, nodes=builder.nodes, name="couplax")


def _check_types(closed: jec.ClosedJaxpr, inputs: Sequence[str]) -> None:
    """Returns nothing; raises where ONNX Runtime cannot compute with an input, or nothing comes out."""
    for name, aval in zip(inputs, closed.in_avals, strict=True):
        if not is_plain(aval) and not is_bfloat16(aval):
            raise ExportError(
                f"Input `{name}` is {describe_aval(aval)}, in which ONNX Runtime computes nothing. Pass "
                "real numbers or integers, such as float32."
            )
    if not closed.out_avals:
        raise ExportError("The function returns no array, and a file has an output. Return a value.")


def _model(graph: ir.Graph, opset: int, said: dict[str, str]) -> ir.Model:
    graph.opset_imports[""] = opset
    model = ir.Model(
        graph,
        ir_version=onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)]),
        producer_name="couplax",
        producer_version=said["couplax"],
        metadata_props=said,
    )
    RemoveUnusedNodesPass()(model)
    return model


def _opset(builder: Builder, wanted: int | None) -> int:
    """Returns the opset to write: the one wanted, or the lowest that serves.

    Raises:
        ExportError: the one wanted is too old for what the program needs, or too new for ONNX.
    """
    if wanted is None:
        return builder.opset
    newest = onnx.defs.onnx_opset_version()
    if wanted > newest:
        raise ExportError(
            f"opset={wanted} is beyond {newest}, the newest that onnx {onnx.__version__} knows. Leave "
            "`opset` out for the lowest that serves."
        )
    if wanted < builder.opset:
        who = "couplax itself" if builder.opset == LOWEST_OPSET else f"the primitive `{builder.opset_reason}`"
        raise ExportError(
            f"opset={wanted} is too old: {who} needs opset {builder.opset}. Leave `opset` out for the lowest "
            "that serves."
        )
    return wanted
