"""What the rules for `while` and `scan` share: which carries vary, and what is left of the body."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.extend.core as jec

from couplax.stage._binding_times import settle, unknown_outputs
from couplax.stage._context import Residual, SpecialiseContext, abstract
from couplax.stage._counted import CountedLoop
from couplax.stage._interpret import UNKNOWN, Value, is_known
from couplax.stage._known import identical


def steady_carries(
    context: SpecialiseContext,
    body: jec.ClosedJaxpr,
    constants: Sequence[Value],
    init: Sequence[Value],
    slices: Sequence[Any],
) -> tuple[frozenset[int], Residual]:
    """Returns which carries keep a known value throughout, and what is left of the body then.

    All known carries are taken to be steady at first; those that a turn changes are given up, until none is.
    """
    steady = frozenset(k for k, value in enumerate(init) if is_known(value))
    while True:
        carries = [value if k in steady else jax.typeof(value) for k, value in enumerate(init)]
        residual = context.residual(body, [*map(abstract, constants), *carries, *slices])
        outputs = residual.outputs
        kept = frozenset(k for k in steady if outputs[k] is not UNKNOWN and identical(outputs[k], init[k]))
        if kept == steady:
            return steady, residual
        steady = kept


def loop_of(
    body: Residual,
    constants: Sequence[Value],
    init: Sequence[Value],
    varying: Sequence[int],
    *,
    stacks: Sequence[Value] = (),
    stacked: Sequence[int] = (),
    reverse: bool = False,
) -> CountedLoop:
    """Returns the loop of the body that is left, with the binding times of its carries settled."""
    loop = CountedLoop(
        closed=body.closed,
        constants=[value for value in constants if not is_known(value)],
        init=init,
        carries=varying,
        unknown_carries=[not is_known(value) for value in init],
        stacks=stacks,
        stacked=stacked,
        unknown_stacks=[not is_known(stack) for stack in stacks],
        reverse=reverse,
    )
    return starting(loop, init)


def starting(loop: CountedLoop, init: Sequence[Value]) -> CountedLoop:
    """Returns `loop` with other first values of its carries, their binding times settled."""

    def after(flags: list[bool]) -> list[bool]:
        inputs = [*[True] * len(loop.constants), *flags, *loop.unknown_stacks]
        outputs = unknown_outputs(loop.closed.jaxpr, inputs)
        return [outputs[k] for k in loop.carries]

    return replace(loop, init=init, unknown_carries=settle([not is_known(value) for value in init], after))
