"""What a drawing shows of a graph: blocks in the order in which they run, and loops with what drives them."""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


class Role(enum.Enum):
    """What drives a loop."""

    SOLVER = "solver"
    INTEGRATION = "integration"
    OPTIMISER = "optimiser"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A component, or several that are drawn as one.

    Attributes:
        components: the names of those that it stands for.
        reads: the names that it takes from others.
        writes: the names whose values it gives.
        residuals: the unknowns whose residuals it gives.
        rates: the states whose rates of change it gives.
        tooltip: what it is, in words.
    """

    name: str
    components: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    residuals: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()
    tooltip: str

    @property
    def gives(self) -> tuple[str, ...]:
        """All names for which it gives a value, a residual or a rate."""
        return (*self.writes, *self.residuals, *self.rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What drives a loop: it gives values to what it drives, and gets others back.

    Attributes:
        finds: the names whose values it gives to what it drives.
        wants: the names of what it gets back: values, residuals or rates.
        reads: what it takes from others for itself.
        writes: the names that others have from it, not from what it drives.
        hides: whether others have nothing but `writes` from the loop.
        settings: how it works, such as its tolerances.
        tooltip: what it does, in words.
    """

    role: Role
    name: str
    finds: tuple[str, ...]
    wants: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hides: bool = False
    settings: str = ""
    tooltip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Steps that run again and again: a cycle, or all that an integration or an optimiser evaluates.

    Attributes:
        control: what drives them; None for a cycle that nothing closes.
        body: in the order in which they run.
    """

    name: str
    control: Control | None
    body: "tuple[Step, ...]"


Step = Block | Loop


def blocks(steps: Sequence[Step]) -> Iterator[Block]:
    """Yields every block, in the order in which they run."""
    for step in steps:
        if isinstance(step, Block):
            yield step
        else:
            yield from blocks(step.body)


def loops(steps: Sequence[Step]) -> Iterator[Loop]:
    """Yields every loop, each before those inside it."""
    for step in steps:
        if isinstance(step, Loop):
            yield step
            yield from loops(step.body)


def stations(steps: Sequence[Step]) -> int:
    """Returns how many stand on the diagonal: the blocks, and what drives their loops."""
    return sum(1 for _ in blocks(steps)) + sum(1 for loop in loops(steps) if loop.control)
