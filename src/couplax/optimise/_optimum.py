"""What an optimisation gives."""

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ._evaluator import Evaluations
from ._history import History

Sensitivities = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is said of an optimum besides its values.

    Attributes:
        objective: its name; `design`: the names of the design variables; `constraints`: those of the
            constraints.
        title: the method and the architecture.
    """

    objective: str
    design: tuple[str, ...]
    constraints: tuple[str, ...]
    title: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Optimum(Mapping[str, Any]):
    """Every value of the model at the optimum, by name; prints as a table.

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
    report: Report = field(repr=False)
    named: dict[str, Any] = field(repr=False)
    differentiate: Callable[[tuple[str, ...]], Sensitivities] = field(repr=False)

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
        return self.named[name]

    def __iter__(self) -> Iterator[str]:
        """Returns an iterator over the names."""
        return iter(self.named)

    def __len__(self) -> int:
        """Returns how many names there are."""
        return len(self.named)

    def __str__(self) -> str:
        """Returns the table as text."""
        rows = [_HEADS, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self._headline, *lines, self._footline])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Returns the table for a notebook."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in _HEADS)
        body = "\n".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        return (
            f"<p>{html.escape(self._headline)}</p>\n<table>\n<tr>{head}</tr>\n{body}\n</table>\n"
            f"<p>{html.escape(self._footline)}</p>"
        )

    @property
    def _headline(self) -> str:
        return f"Optimum of `{self.report.objective}` by {self.report.title}: {self.status}"

    @property
    def _footline(self) -> str:
        return (
            f"{self.iterations} iterations, {self.evaluations}; slope left {self.stationarity:.1e}, "
            f"infeasibility {self.infeasibility:.1e}"
        )

    def _rows(self) -> Iterator[tuple[str, ...]]:
        """Yields a row for the objective, each design variable, each constraint, and each other value."""
        kinds = {
            self.report.objective: "objective",
            **dict.fromkeys(self.report.constraints, "constraint"),
            **dict.fromkeys(self.report.design, "design"),
        }
        if self.report.objective in self.report.design:
            kinds[self.report.objective] = "objective, design"
        for name in (*kinds, *(name for name in self.named if name not in kinds)):
            limit = _limit(self.active[name]) if name in self.active else ""
            multiplier = _short(self.multipliers[name]) if limit else ""
            yield name, kinds.get(name, ""), _short(self.named[name]), limit, multiplier


_HEADS = ("name", "what", "value", "at its limit", "multiplier")
_SAID = {1: "upper", -1: "lower", 0: "-"}


def _limit(active: Any) -> str:
    """Returns which limits are active, for each number of a short value."""
    flat = [int(each) for leaf in jax.tree.leaves(active) for each in np.ravel(leaf)]
    if len(flat) <= 6:
        return ", ".join(_SAID[each] for each in flat)
    return f"{sum(each != 0 for each in flat)} of {len(flat)}"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_short(part)}" for name, part in value.items())
    array = np.asarray(value)
    return np.array2string(array, threshold=6, precision=10, edgeitems=2).replace("\n", "")
