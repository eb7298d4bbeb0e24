"""What happened from iteration to iteration."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ._evaluator import Evaluator
from ._layout import Layout
from ._limits import Limits

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One entry for the start, and one for the point after each iteration.

    Attributes:
        objective: its values, NaN where the model could not be evaluated.
        infeasibility: by how much the most violated constraint is outside its limits.
        design: the values of each design variable, the iterations along the first axis.
        analyses: how many analyses there had been.
    """

    objective: Vector
    infeasibility: Vector
    design: dict[str, Any]
    analyses: Vector

    def __len__(self) -> int:
        """Returns how many entries there are."""
        return len(self.objective)


@dataclass(frozen=True, slots=True)
class Iteration:
    """The point that an iteration came to.

    Attributes:
        number: 0 for the start.
        design: flat, in the model's units.
        analyses: how many there had been.
    """

    number: int
    design: Vector
    objective: float
    infeasibility: float
    analyses: int


@dataclass(slots=True, kw_only=True)
class Recorder:
    """Keeps the iterations, and tells of each.

    Attributes:
        told: called with each iteration.
    """

    evaluator: Evaluator
    limits: Limits
    told: Callable[[Iteration], None]
    iterations: list[Iteration] = field(default_factory=list[Iteration])

    def record(self, design: Vector) -> None:
        """Keeps the point that an iteration came to."""
        known = self.evaluator.at(design)
        iteration = Iteration(
            number=len(self.iterations),
            design=np.array(design),
            objective=known.objective if known.ok else np.nan,
            infeasibility=float(np.max(self.limits.violation(known.constraints), initial=0.0)),
            analyses=self.evaluator.counts.analyses,
        )
        self.iterations.append(iteration)
        self.told(iteration)

    def history(self, layout: Layout) -> History:
        """Returns the iterations as arrays."""
        designs = np.array([iteration.design for iteration in self.iterations])
        each = [layout.named(design) for design in designs]
        return History(
            objective=np.array([iteration.objective for iteration in self.iterations]),
            infeasibility=np.array([iteration.infeasibility for iteration in self.iterations]),
            design={name: _stacked([one[name] for one in each]) for name in layout.names},
            analyses=np.array([iteration.analyses for iteration in self.iterations]),
        )


def _stacked(values: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *values)
