"""What staging did, in words: how much was known, what each pass left, which loops remain."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.extend.core as jec

from couplax._compat import scan_counts
from couplax._source import where
from couplax.stage._binding_times import count_known
from couplax.stage._interpret import count_equations


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one pass left, all of it counted with what is inside loops and branches.

    Attributes:
        name: of the pass.
        equations: how many there are; `known`: those that depend on no input; `loops`: those that are loops.
    """

    name: str
    equations: int
    known: int
    loops: int

    @property
    def line(self) -> str:
        """One row of the summary."""
        known = f", {self.known} of them known before it runs" if self.known else ""
        return f"{self.name:<12} {self.equations:>7} equations{known}, {_counted(self.loops, 'loop')}"


def stage_of(name: str, closed: jec.ClosedJaxpr) -> Stage:
    """Returns what the pass `name` left in `closed`."""
    jaxpr = closed.jaxpr
    return Stage(
        name=name,
        equations=count_equations(jaxpr),
        known=count_known(jaxpr, [True] * len(jaxpr.invars)),
        loops=sum(1 for _ in _loops(jaxpr, 0)),
    )


def summarise(stages: Sequence[Stage], closed: jec.ClosedJaxpr) -> str:
    """Returns the rows of `stages`, then a line for each loop that remains."""
    loops = [f"{'  ' * depth}{_loop(eqn)}" for depth, eqn in _loops(closed.jaxpr, 0)]
    return "\n".join([*(stage.line for stage in stages), *(loops or ["no loop remains"])])


def _loops(jaxpr: Any, depth: int) -> Iterator[tuple[int, jec.JaxprEqn]]:
    """Yields the loops of `jaxpr`, each with how many others it stands in."""
    for eqn in jaxpr.eqns:
        is_loop = eqn.primitive.name in {"while", "scan"}
        if is_loop:
            yield depth, eqn
        for sub in jec.jaxprs_in_params(eqn.params):
            yield from _loops(sub, depth + is_loop)


def _loop(eqn: jec.JaxprEqn) -> str:
    trips, body, carried = _trips(eqn)
    size = _counted(count_equations(body), "equation")
    return f"a loop {trips}, {size} a trip, carries {_types(carried)}, from {where(eqn)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _types(variables: Sequence[jec.Var]) -> str:
    """Returns the types of `variables`, each with how often it occurs."""
    avals: list[Any] = [var.aval for var in variables]
    found = Counter(f"{aval.dtype.name}[{','.join(map(str, aval.shape))}]" for aval in avals)
    return (
        ", ".join(name if number == 1 else f"{number} {name}" for name, number in found.items()) or "nothing"
    )


def _trips(eqn: jec.JaxprEqn) -> tuple[str, Any, Sequence[jec.Var]]:
    """Returns how many trips a loop makes, its body, and what it carries."""
    if eqn.primitive.name == "scan":
        count = scan_counts(eqn.params)[1]
        return f"of {eqn.params['length']} trips", eqn.params["jaxpr"].jaxpr, eqn.outvars[:count]
    return "until its condition fails", eqn.params["body_jaxpr"].jaxpr, eqn.outvars
