"""How often a foreign code has been called, and for what."""

from collections.abc import Callable
from dataclasses import dataclass, field


def _nothing() -> None:
    """Does nothing: there is no memo to forget, and there are no counts to collect."""


@dataclass(slots=True)
class Tally:
    """Counts of calls of a foreign code since the last `reset`.

    Attributes:
        values: calls for a value that the program asked for.
        probes: calls at a displaced point, for a finite difference.
        tangents: calls of the code's own tangent routine.
        adjoints: calls of the code's own adjoint routine.
        memo_hits: values and probes that were remembered, so that no call was needed.
        failures: calls that raised, where failures make NaN.
        nonfinite: per output the calls for a value or a probe that returned an infinity or NaN in it.
        forget: clears what is remembered.
        collect: adds what was counted elsewhere, by programs that call a routine without Python.
    """

    values: int = 0
    probes: int = 0
    tangents: int = 0
    adjoints: int = 0
    memo_hits: int = 0
    failures: int = 0
    nonfinite: dict[str, int] = field(default_factory=dict[str, int])
    forget: Callable[[], None] = field(default=_nothing, repr=False, compare=False)
    collect: Callable[[], None] = field(default=_nothing, repr=False, compare=False)

    @property
    def calls(self) -> int:
        """All calls: values, probes, tangents and adjoints."""
        return self.values + self.probes + self.tangents + self.adjoints

    def reset(self) -> None:
        """Sets every count to zero and forgets all points, so that the next call is a call."""
        self.forget()
        self.values = self.probes = self.tangents = self.adjoints = self.memo_hits = self.failures = 0
        self.nonfinite.clear()

    def __str__(self) -> str:
        """Returns the counts in one line."""
        return (
            f"{self.calls} calls ({self.values} values, {self.probes} probes, {self.tangents} tangents, "
            f"{self.adjoints} adjoints), {self.memo_hits} remembered"
        )
