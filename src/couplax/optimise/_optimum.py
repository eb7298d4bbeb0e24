"""What an optimisation gives."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from couplax._model import Drawing
from couplax.graph import value_of
from couplax.solve import About

from ._evaluator import Evaluations
from ._history import History
from ._shown import Row, page, row, text

Sensitivities = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is told of an optimum beside its numbers.

    Attributes:
        objective: its name; `design`: those of the design variables; `constraints`: those of the constraints.
        title: the method and the architecture.
        about: what the model says of its variables.
        draw: returns the model as the optimiser runs it.
    """

    objective: str
    design: tuple[str, ...]
    constraints: tuple[str, ...]
    title: str
    about: About
    draw: Callable[[], Drawing]

    @property
    def parts(self) -> dict[str, str]:
        """The part that each variable has in the problem, in the order of the table."""
        parts = {**dict.fromkeys(self.design, "design"), **dict.fromkeys(self.constraints, "constraint")}
        own = "objective, design" if self.objective in self.design else "objective"
        return {self.objective: own, **{name: part for name, part in parts.items() if name != self.objective}}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Optimum(Mapping[str, Any]):
    """Every value of the model at the optimum, by name; prints as a table, in a notebook too.

    Attributes:
        converged: whether the point is feasible and the method's test or the optimality conditions hold.
        status: why the method ended, in words.
        multipliers: of each constraint, and of each design variable's bounds, in the shape of the value and
            in the units of the objective per unit of the value; positive where an upper limit is active,
            negative where a lower one is. The optimal objective changes by minus the multiplier where the
            limit is moved by one. An IDF or SAND problem has those of its consistency constraints too, as
            `y - target(y)`.
        active: of those, the ones with an active limit: 1 at an upper limit or an equality, -1 at a lower
            limit, 0 where none is active.
        stationarity: what is left of the Lagrangian's gradient, scaled and relative to its terms.
        infeasibility: by how much the most violated limit is, scaled.
        iterations: how many steps the method took; `history`: what happened in each.
        evaluations: how often the model was evaluated.
        calls: how often each foreign code was called meanwhile, by its name.
    """

    converged: bool
    status: str
    multipliers: dict[str, Any]
    active: dict[str, Any]
    stationarity: float
    infeasibility: float
    iterations: int
    history: History
    evaluations: Evaluations
    calls: dict[str, int]
    report: Report = field(repr=False)
    named: dict[str, Any] = field(repr=False)
    differentiate: Callable[[tuple[str, ...]], Sensitivities] = field(repr=False)

    def xdsm(self) -> Drawing:
        """Returns the problem drawn as an extended design structure matrix, optimiser and model."""
        return self.report.draw()

    def sensitivity(self, parameters: str | Sequence[str]) -> Sensitivities:
        """Returns d value / d parameter of the optimum, by the name of the value and that of the parameter.

        The values are all those of the model, the optimal design and the objective among them; the shape is
        that of the value followed by that of the parameter. The optimality conditions are differentiated
        implicitly, with second derivatives by JAX: exact at an optimum where the active limits keep active,
        and no optimisation is repeated.

        Args:
            parameters: inputs that were fixed.

        Raises:
            ModelError: a name is no fixed input of the problem.
            OptimiseError: the optimum is not regular, so that it has no derivative; the message says why.
        """
        return self.differentiate((parameters,) if isinstance(parameters, str) else tuple(parameters))

    def __getitem__(self, name: str) -> Any:
        """Returns the value of `name`."""
        return value_of(self.named, name)

    def __iter__(self) -> Iterator[str]:
        """Returns an iterator over the names."""
        return iter(self.named)

    def __len__(self) -> int:
        """Returns how many names there are."""
        return len(self.named)

    def __repr__(self) -> str:
        """Returns the table as text."""
        return text(self._headline, self._rows(), self._footlines)

    def _repr_html_(self) -> str:
        """Returns the table for a notebook."""
        return page(self._headline, self._rows(), self._footlines, good=self.converged)

    @property
    def _headline(self) -> str:
        return f"Optimum of `{self.report.objective}` by {self.report.title}: {self.status}"

    @property
    def _footlines(self) -> list[str]:
        line = (
            f"{self.iterations} iterations, {self.evaluations}; slope left {self.stationarity:.1e}, "
            f"infeasibility {self.infeasibility:.1e}"
        )
        calls = ", ".join(f"{name}: {count} calls" for name, count in self.calls.items())
        return [line, calls] if calls else [line]

    def _rows(self) -> Iterator[Row]:
        """Yields a row for the objective, each design variable, each constraint, and each other value."""
        parts = self.report.parts
        for name in (*parts, *(name for name in self.named if name not in parts)):
            units = self.report.about.label(name).units
            limits = self.active.get(name), self.multipliers.get(name)
            yield row(name, parts.get(name, ""), self.named[name], units, *limits)
