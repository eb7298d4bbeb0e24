"""What a specialise rule is given, and what is left of a jaxpr once some of its inputs are known."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core as jec

from couplax.stage._cases import CaseTable
from couplax.stage._interpret import UNKNOWN, Value, bind, interpret, is_known, trace
from couplax.stage._known import Budget, fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """What is left of a jaxpr once some of its inputs are known.

    Attributes:
        closed: from the unknown inputs to all the outputs.
        outputs: per output its value where that is known, else `UNKNOWN`.
    """

    closed: jec.ClosedJaxpr
    outputs: tuple[Value, ...]


Residuals = dict[Hashable, tuple[Any, Residual]]
"""What is left of the jaxprs met so far, each beside what its key tells apart by identity.

A loop is specialised again for every guess of what its carries keep, and so is each loop inside it: without
this the work would be multiplied at every level.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialiseContext:
    """What a specialise rule may ask for: the equation, the budget, and the pass itself for jaxprs inside.

    Attributes:
        eqn: the equation at hand.
        budget: how much the program may grow.
        cases: what the unknown numbers met so far may be.
        residuals: what is left of the jaxprs met so far.
        handle: the pass, on one equation.
    """

    eqn: jec.JaxprEqn
    budget: Budget
    cases: CaseTable
    residuals: Residuals
    handle: Callable[[jec.JaxprEqn, list[Value]], Sequence[Value]]

    def evaluate(self, closed: jec.ClosedJaxpr, inputs: Sequence[Value]) -> list[Value]:
        """Returns the outputs of `closed`, specialised, on `inputs`; known ones come out as numbers."""
        return interpret(closed, inputs, self.handle)

    def residual(self, closed: jec.ClosedJaxpr, inputs: Sequence[Value]) -> Residual:
        """Returns what is left of `closed` where `inputs` holds numbers, and avals for what is unknown."""
        key = (id(closed), *(fingerprint(value) if is_known(value) else value for value in inputs))
        if key not in self.residuals:
            self.residuals[key] = (closed, inputs), self._residual(closed, inputs)
        return self.residuals[key][1]

    def _residual(self, closed: jec.ClosedJaxpr, inputs: Sequence[Value]) -> Residual:
        outputs: list[Value] = []

        def unknown_part(*unknown: Value) -> list[Value]:
            rest = iter(unknown)
            merged = [value if is_known(value) else next(rest) for value in inputs]
            results = self.evaluate(closed, merged)
            outputs[:] = [value if is_known(value) else UNKNOWN for value in results]
            return results

        residual = trace(unknown_part, [value for value in inputs if not is_known(value)])
        return Residual(closed=residual, outputs=tuple(outputs))

    def keep(self, *inputs: Value, **changed: Any) -> list[Value]:
        """Returns the outputs of the equation's own primitive, which so stays in the program."""
        return bind(self.eqn, inputs, **changed)


def abstract(value: Value) -> Any:
    """Returns `value` where it is known, else its abstract value."""
    return value if is_known(value) else jax.typeof(value)
