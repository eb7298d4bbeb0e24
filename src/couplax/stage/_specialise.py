"""Specialise: what depends on no input is computed now, and what is left is a program of the inputs alone.

A *known* value depends on no input. Equations of known values run here; a `select` or `cond` on a known
predicate becomes the case it picks; a loop whose condition is known is run for its known part, and only what
depends on the inputs is left of it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import jax.extend.core as jec

from couplax.stage._branches import specialise_and, specialise_cond, specialise_or, specialise_select
from couplax.stage._cases import CaseTable, decided, fold_cases
from couplax.stage._context import Residuals, SpecialiseContext
from couplax.stage._fold import fold
from couplax.stage._interpret import Value, interpret, trace
from couplax.stage._known import Budget, is_foldable
from couplax.stage._scan import specialise_scan
from couplax.stage._while import specialise_while

SpecialiseRule = Callable[..., Sequence[Value]]
"""`rule(context, *inputs, **params) -> outputs`."""

SPECIALISE_RULES: Mapping[str, SpecialiseRule] = MappingProxyType(
    {
        "cond": specialise_cond,
        "while": specialise_while,
        "scan": specialise_scan,
        "select_n": specialise_select,
        "and": specialise_and,
        "or": specialise_or,
    }
)
"""Rules for primitives that may be decided by some known inputs, by the primitive's name."""


def specialise(
    closed: jec.ClosedJaxpr,
    *,
    budget: Budget | None = None,
    rules: Mapping[str, SpecialiseRule] = SPECIALISE_RULES,
) -> jec.ClosedJaxpr:
    """Returns `closed` with all that depends on no input computed.

    Foreign codes and callbacks are never run; arrays never become much larger than what they are made of.

    Args:
        budget: how much the program may grow; by default `Budget()`.
        rules: the table of rules.
    """
    handle = partial(
        _specialise_equation, budget=budget or Budget(), rules=rules, table=CaseTable(), residuals={}
    )
    return trace(lambda *inputs: interpret(closed, inputs, handle), closed.in_avals)


def _specialise_equation(
    eqn: jec.JaxprEqn,
    inputs: list[Value],
    *,
    budget: Budget,
    rules: Mapping[str, SpecialiseRule],
    table: CaseTable,
    residuals: Residuals,
) -> Sequence[Value]:
    if is_foldable(eqn, inputs, budget):
        return fold(eqn, inputs)
    cases = fold_cases(eqn, inputs, table, budget)
    value = decided(cases) if cases is not None else None
    if value is not None:
        return [value]
    handle = partial(_specialise_equation, budget=budget, rules=rules, table=table, residuals=residuals)
    rule = rules.get(eqn.primitive.name, _keep)
    context = SpecialiseContext(eqn=eqn, budget=budget, cases=table, residuals=residuals, handle=handle)
    outputs = rule(context, *inputs, **eqn.params)
    if cases is not None:
        table.note(outputs[0], cases)
    return outputs


def _keep(context: SpecialiseContext, *inputs: Value, **params: Any) -> Sequence[Value]:
    return context.keep(*inputs)
