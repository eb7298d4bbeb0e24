"""Branches and loops that carry keys or complex numbers, traced again with what stands for those."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax.extend.core as jec
from jax import lax

from couplax._compat import scan_counts
from couplax.export._plain._table import PlainContext, plain_rule
from couplax.export._plain._values import Value


@plain_rule("cond")
def _cond(
    context: PlainContext, index: Value, *operands: Value, branches: Sequence[jec.ClosedJaxpr], **unused: Any
) -> Sequence[Value]:
    index, *given = context.typed([index, *operands])
    return lax.switch(index, [partial(_run, context, branch) for branch in branches], *given)


def _run(context: PlainContext, closed: jec.ClosedJaxpr, *inputs: Value) -> list[Value]:
    return context.run(closed, inputs)


@plain_rule("while")
def _while(
    context: PlainContext,
    *inputs: Value,
    cond_jaxpr: jec.ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: jec.ClosedJaxpr,
    body_nconsts: int,
) -> Sequence[Value]:
    given, both = context.typed(inputs), cond_nconsts + body_nconsts
    of_cond, of_body, start = given[:cond_nconsts], given[cond_nconsts:both], given[both:]
    return lax.while_loop(
        lambda carries: context.run(cond_jaxpr, [*of_cond, *carries])[0],
        lambda carries: context.run(body_jaxpr, [*of_body, *carries]),
        start,
    )


@plain_rule("scan")
def _scan(
    context: PlainContext,
    *inputs: Value,
    jaxpr: jec.ClosedJaxpr,
    length: int,
    reverse: bool,
    unroll: Any = 1,
    **layout: Any,
) -> Sequence[Value]:
    first, carried = scan_counts(context.eqn.params)
    given = context.typed(inputs)
    constants, start, stacks = given[:first], given[first : first + carried], given[first + carried :]

    def turn(carries: list[Value], slices: list[Value]) -> tuple[list[Value], list[Value]]:
        outputs = context.run(jaxpr, [*constants, *carries, *slices])
        return outputs[:carried], outputs[carried:]

    carries, stacked = lax.scan(turn, start, stacks, length=length, reverse=reverse)
    return [*carries, *stacked]
