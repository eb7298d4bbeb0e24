"""The specialise rule for `while`."""

import jax
import jax.extend.core as jec

from couplax.stage._condition import Condition
from couplax.stage._context import SpecialiseContext, abstract
from couplax.stage._counted import CountedLoop, interleave, run_known, split
from couplax.stage._guarded import guarded_while
from couplax.stage._interpret import UNKNOWN, Value, interpret, is_known
from couplax.stage._loops import loop_of, steady_carries
from couplax.stage._write_out import write_out


def specialise_while(
    context: SpecialiseContext,
    *inputs: Value,
    cond_jaxpr: jec.ClosedJaxpr,
    body_jaxpr: jec.ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Value]:
    """Returns the carries at the end of a `while`: a counted loop where its condition is known."""
    cond_constants, inputs = inputs[:cond_nconsts], inputs[cond_nconsts:]
    body_constants, init = inputs[:body_nconsts], inputs[body_nconsts:]
    first = context.residual(cond_jaxpr, [abstract(value) for value in (*cond_constants, *init)]).outputs[0]
    if first is not UNKNOWN and not first:
        return list(init)
    steady, body = steady_carries(context, body_jaxpr, body_constants, init, ())
    varying = [k for k in range(len(init)) if k not in steady]
    carries = [init[k] if k in steady else jax.typeof(init[k]) for k in range(len(init))]
    cond = context.residual(cond_jaxpr, [*map(abstract, cond_constants), *carries])
    loop = loop_of(body, body_constants, [init[k] for k in varying], varying)
    rest = [value for value in cond_constants if not is_known(value)]
    condition = Condition(closed=cond.closed, constants=rest)
    ends = _known_while(context, loop, condition) or guarded_while(context, loop, condition)
    last = dict(zip(varying, ends or _residual_while(loop, condition), strict=True))
    return [last.get(k, value) for k, value in enumerate(init)]


def _known_while(context: SpecialiseContext, loop: CountedLoop, condition: Condition) -> list[Value] | None:
    """Returns the varying carries at the end where the condition is known at every turn, else None."""
    if not condition.is_known_in(loop):
        return None
    parts = split(loop)
    ran = run_known(parts, condition.trips(loop), context.budget)
    if ran is None:
        return None
    known, rows = ran
    unknown, _ = write_out(context, parts, rows)
    return interleave(loop.unknown_carries, unknown, known)


def _residual_while(loop: CountedLoop, condition: Condition) -> list[Value]:
    def go_on(carries: tuple[Value, ...]) -> Value:
        return interpret(condition.closed, [*condition.constants, *carries])[0]

    def turn(carries: tuple[Value, ...]) -> tuple[Value, ...]:
        outputs = interpret(loop.closed, [*loop.constants, *carries])
        return tuple(outputs[k] for k in loop.carries)

    return list(jax.lax.while_loop(go_on, turn, tuple(loop.init)))
