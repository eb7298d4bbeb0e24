"""Branches and loops, each branch and body a graph inside the graph."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.extend.core as jec
import numpy as np

from couplax._compat import scan_counts
from couplax.export._context import Context
from couplax.export._rules._shape import reverse as backwards
from couplax.export._table import rule_for
from couplax.export._types import TensorType, type_of

Values = Sequence[Any]


@rule_for("cond")
def _cond(context: Context, index: Any, *operands: Any, branches: Sequence[jec.ClosedJaxpr]) -> Values:
    if not context.outs:
        return []
    return _switch(context, index, operands, branches, first=0)


def _switch(
    context: Context, index: Any, operands: Values, branches: Sequence[jec.ClosedJaxpr], *, first: int
) -> Values:
    """Returns what the branch at `index - first` gives, or the nearest there is: one `If` in the other."""
    if len(branches) == 1:
        return _run(context, branches[0], operands)
    this = _branch(context, lambda: _run(context, branches[0], operands))
    rest = _branch(context, lambda: _switch(context, index, operands, branches[1:], first=first + 1))
    is_later = _is_later(context, index, first)
    return context.ops("If", is_later, outputs=context.outs, then_branch=rest, else_branch=this)


def _is_later(context: Context, index: Any, first: int) -> Any:
    """Returns whether `index` is beyond `first`; where it was made of a flag, that flag."""
    producer = index.producer()
    source = index if producer is None or producer.op_type != "Cast" else producer.inputs[0]
    if first == 0 and type_of(source).dtype == np.bool_:
        return source
    return context.op("Greater", index, context.like(index, first), dtype=bool)


def _branch(context: Context, write: Callable[[], Values]) -> Any:
    return context.graph([], write)[0]


def _run(context: Context, closed: jec.ClosedJaxpr, inputs: Values) -> list[Any]:
    """Returns the outputs of `closed`, at full size as a graph must give them."""
    outputs = context.lower(closed, inputs)
    return [context.full(value, aval.shape) for value, aval in zip(outputs, closed.out_avals, strict=True)]


@rule_for("while")
def _while(
    context: Context,
    *inputs: Any,
    cond_jaxpr: jec.ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: jec.ClosedJaxpr,
    body_nconsts: int,
) -> Values:
    both = cond_nconsts + body_nconsts
    for_cond, for_body, start = inputs[:cond_nconsts], inputs[cond_nconsts:both], inputs[both:]

    def goes_on(carries: Values) -> Any:
        return _run(context, cond_jaxpr, [*for_cond, *carries])[0]

    carries = [context.builder.value("carry", tensor) for tensor in context.outs]
    head = _loop_head(context)

    def trip() -> Values:
        after = _run(context, body_jaxpr, [*for_body, *carries])
        return [goes_on(after), *after]

    body, _ = context.graph([*head, *carries], trip)
    return context.ops("Loop", None, goes_on(start), *start, outputs=context.outs, body=body)


def _loop_head(context: Context) -> list[Any]:
    """Returns what the body of every `Loop` is given first: the number of the trip, and the condition."""
    trip, condition = TensorType(np.dtype(np.int64), ()), TensorType(np.dtype(bool), ())
    return [context.builder.value("trip", trip), context.builder.value("condition", condition)]


@rule_for("scan")
def _scan(
    context: Context,
    *inputs: Any,
    jaxpr: jec.ClosedJaxpr,
    length: int,
    reverse: bool,
    unroll: Any = 1,
    num_consts: int | None = None,
    num_carry: int | None = None,
    ft_in: Any = None,
    ft_out: Any = None,
    linear: Any = None,
    _split_transpose: bool = False,
) -> Values:
    count, carried = scan_counts(context.eqn.params)
    constants, start, stacks = inputs[:count], inputs[count : count + carried], inputs[count + carried :]
    if length == 0:
        # Nothing is stacked: a constant of size zero.
        return [
            *start,
            *(context.full(context.constant(0, out.dtype), out.shape) for out in context.outs[carried:]),
        ]

    def run(*values: Any) -> list[Any]:
        return _run(context, jaxpr, [*constants, *values])

    if stacks:
        return _scan_over(context, run, start, stacks, reverse)
    return _repeat(context, run, start, length, reverse)


def _scan_over(
    context: Context, run: Callable[..., Values], start: Values, stacks: Values, reverse: bool
) -> Values:
    """Returns the carries and stacked outputs of a loop over slices, by ONNX's `Scan`."""
    count = len(start)
    carries = [context.builder.value("carry", tensor) for tensor in context.outs[:count]]
    slices = [context.builder.value("slice", _slice_of(type_of(stack))) for stack in stacks]
    body, _ = context.graph([*carries, *slices], lambda: run(*carries, *slices))
    backwards_too: dict[str, Any] = {}
    if reverse:
        backwards_too["scan_input_directions"] = [1] * len(stacks)
        if len(context.outs) > count:
            backwards_too["scan_output_directions"] = [1] * (len(context.outs) - count)
    return context.ops(
        "Scan", *start, *stacks, outputs=context.outs, body=body, num_scan_inputs=len(stacks), **backwards_too
    )


def _slice_of(stack: TensorType) -> TensorType:
    return TensorType(stack.dtype, stack.shape[1:])


def _repeat(
    context: Context, run: Callable[..., Values], start: Values, length: int, reverse: bool
) -> Values:
    """Returns the carries and stacked outputs of a loop of `length` trips over nothing, by ONNX's `Loop`."""
    count = len(start)
    head = _loop_head(context)
    carries = [context.builder.value("carry", tensor) for tensor in context.outs[:count]]
    body, _ = context.graph([*head, *carries], lambda: [head[1], *run(*carries)])
    trips = context.size(length)
    outputs = context.ops("Loop", trips, None, *start, outputs=context.outs, body=body)
    stacked = [backwards(context, value, [0]) for value in outputs[count:]] if reverse else outputs[count:]
    return [*outputs[:count], *stacked]
