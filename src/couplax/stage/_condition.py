"""The condition of a `while` whose carries are partly known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax.extend.core as jec

from couplax.stage._binding_times import binding_times, unknown_atom
from couplax.stage._counted import CountedLoop, compiled_later, interleave
from couplax.stage._fold import fold_known
from couplax.stage._interpret import UNKNOWN, Value, interpret


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What decides whether a loop goes on: `closed`, from (unknown `constants`, carries) to a boolean."""

    closed: jec.ClosedJaxpr
    constants: Sequence[Value]

    def is_known_in(self, loop: CountedLoop) -> bool:
        """Returns whether it reads none of the loop's unknown carries, so is known at every turn."""
        jaxpr = self.closed.jaxpr
        (result,) = jaxpr.outvars
        times = binding_times(jaxpr, self._unknown(loop))
        # One that is known without the carries never changes: the loop runs not at all, or for ever.
        moves = not isinstance(result, jec.Literal) and result not in jaxpr.constvars
        return moves and not unknown_atom(result, times)

    def trips(self, loop: CountedLoop) -> Callable[[int, Sequence[Value]], Sequence[Value] | None]:
        """Returns the function that says, from the known carries, whether another trip follows."""
        decide = compiled_later(self._decision(loop))
        return lambda trip, carries: () if bool(decide(trip)(carries)) else None

    def _decision(self, loop: CountedLoop) -> Callable[[Sequence[Value]], Value]:
        unknown = self._unknown(loop)
        times = binding_times(self.closed.jaxpr, unknown)
        equations = [
            eqn for eqn in self.closed.jaxpr.eqns if not any(unknown_atom(atom, times) for atom in eqn.invars)
        ]

        def decide(known: Sequence[Value]) -> Value:
            carries = interleave(loop.unknown_carries, None, known)
            inputs = [*[UNKNOWN] * len(self.constants), *carries]
            return interpret(self.closed, inputs, fold_known, equations=equations)[0]

        return decide

    def _unknown(self, loop: CountedLoop) -> list[bool]:
        return [*[True] * len(self.constants), *loop.unknown_carries]
