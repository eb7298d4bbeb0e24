"""The analyses of an optimisation: each point is evaluated once, counted and remembered."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from couplax._errors import original_errors

from ._analysis import Analysis, Point, analyse, differentiate, hessian
from ._limits import Limits

Vector = np.ndarray[Any, Any]

# A line search comes back to the best of its last trials.
_REMEMBERED = 12


@dataclass(slots=True)
class Evaluations:
    """How often the model was evaluated.

    Attributes:
        analyses: points at which the values were computed.
        gradients: points at which the derivatives were, of the objective and all constraints together.
        failures: analyses that gave a number which is infinite or NaN, or a solve that did not converge.
    """

    analyses: int = 0
    gradients: int = 0
    failures: int = 0

    def __str__(self) -> str:
        """Returns the counts in one line."""
        failed = f", {self.failures} failed" if self.failures else ""
        return f"{self.analyses} analyses{failed}, {self.gradients} gradients"


@dataclass(slots=True)
class Evaluated:
    """What is known of a point.

    Attributes:
        objective: f; `constraints`: c, flat.
        ok: whether all of them are finite and every solve converged.
        point: all values; `jacobian`: of f and c, once it was asked for.
    """

    objective: float
    constraints: Vector
    ok: bool
    point: Point
    jacobian: Vector | None = None


@dataclass(slots=True, kw_only=True)
class Evaluator:
    """An analysis with its fixed values, and the last points at which it was evaluated.

    Attributes:
        limits: of the design variables; no point outside is evaluated, not even by a rounding.
        guesses: where the unknowns of the solves start at first.
        warm: whether they start at the last solution after that.
        counts: what was evaluated.
    """

    analysis: Analysis
    fixed: Mapping[str, Any]
    guesses: Mapping[str, Any]
    limits: Limits
    warm: bool = True
    counts: Evaluations = field(default_factory=Evaluations)
    _known: "OrderedDict[bytes, Evaluated]" = field(default_factory=OrderedDict[bytes, Evaluated])
    _last: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def at(self, design: Vector) -> Evaluated:
        """Returns what is known of the point `design`, evaluated where it is new."""
        inside = self.inside(design)
        key = inside.tobytes()
        if key not in self._known:
            with original_errors():
                point = jax.block_until_ready(analyse(self.analysis, inside, self.fixed, self._start))
            self._remember(key, point)
        return self._known[key]

    def jacobian(self, design: Vector) -> Vector:
        """Returns the derivatives of the objective (first row) and of the constraints at `design`."""
        known = self.at(design)
        if known.jacobian is None:
            with original_errors():
                found = differentiate(self.analysis, self.inside(design), self.fixed, self._solutions(known))
                known.jacobian = np.asarray(found, float)
            self.counts.gradients += 1
        return known.jacobian

    def hessian(self, design: Vector, weights: Vector) -> Vector:
        """Returns the second derivatives of `weights` times the objective and the constraints."""
        solutions = self._solutions(self.at(design))
        with original_errors():
            found = hessian(self.analysis, self.inside(design), self.fixed, solutions, weights)
            return np.asarray(found, float)

    def _solutions(self, known: Evaluated) -> dict[str, Any]:
        """Returns the unknowns of the solves at a point that was analysed."""
        return {**self.guesses, **self.analysis.solutions(known.point.solves)}

    def inside(self, design: Vector) -> Vector:
        """Returns the design, roundings beyond the bounds taken off."""
        return np.clip(design, self.limits.lower, self.limits.upper)

    @property
    def _start(self) -> dict[str, Any]:
        return {**self.guesses, **self._last}

    def _remember(self, key: bytes, point: Point) -> Evaluated:
        watched = np.asarray(point.watched, float)
        converged = all(bool(solve.converged) for solve in point.solves.values())
        found = Evaluated(
            objective=float(watched[0]),
            constraints=watched[1:],
            ok=converged and bool(np.isfinite(watched).all()),
            point=point,
        )
        self.counts.analyses += 1
        self.counts.failures += not found.ok
        if self.warm and converged:
            self._last = self.analysis.solutions(point.solves)
        self._known[key] = found
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found
