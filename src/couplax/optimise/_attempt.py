"""From where a method ended to what the user gets."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from couplax._errors import OptimiseError

from ._conditions import Solved
from ._evaluator import Evaluations
from ._history import Recorder
from ._layout import Layout
from ._method import Outcome
from ._optimality import STATIONARY, Optimality, optimality, unknown
from ._optimum import Optimum, Report, Sensitivities
from ._prepared import Prepared
from ._problem import Problem, Scaled, Stop
from ._sensitivity import sensitivities
from ._values import in_users_terms, values_at

Vector = np.ndarray[Any, Any]

# The most by which a point may violate a scaled constraint and count as feasible.
_FEASIBLE = 1e-6
# A method that stops by its own test where more slope than this is left has stopped too early.
_FLAT = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A problem, and how a method ended with it."""

    prepared: Prepared
    scaled: Scaled
    problem: Problem
    recorder: Recorder
    outcome: Outcome


def optimum_of(attempt: Attempt, report: Report, names: tuple[str, ...], calls: dict[str, int]) -> Optimum:
    """Returns what the user gets.

    Args:
        names: of the variables of the user's model.
        calls: of foreign codes.
    """
    prepared, scaled, outcome = attempt.prepared, attempt.scaled, attempt.outcome
    design = scaled.evaluator.inside(scaled.unscaled(outcome.x))
    conditions = _conditions(attempt.problem, design / scaled.scaling.design)
    evaluated = scaled.evaluator.at(design)
    converged = _converged(outcome, conditions)
    multipliers, active = _by_name(attempt, conditions)
    solved = Solved(
        prepared=prepared,
        scaling=scaled.scaling,
        design=design,
        optimality=conditions,
        guesses={**prepared.guesses, **prepared.analysis.solutions(evaluated.point.solves)},
    )
    return Optimum(
        converged=converged,
        status=_status(outcome, conditions, scaled.evaluator.counts, converged=converged),
        multipliers=multipliers,
        active=active,
        stationarity=conditions.stationarity,
        infeasibility=conditions.infeasibility,
        iterations=outcome.iterations,
        history=attempt.recorder.history(prepared.space.layout),
        evaluations=scaled.evaluator.counts,
        calls=calls,
        report=report,
        named=in_users_terms(names, values_at(prepared, evaluated, design)),
        differentiate=partial(_differentiated, solved, names, converged),
    )


def _conditions(problem: Problem, x: Vector) -> Optimality:
    """Returns how well the conditions of optimality hold; unknown where there are no derivatives."""
    try:
        return optimality(problem, x)
    except Stop:
        return unknown(problem, x)


def _converged(outcome: Outcome, conditions: Optimality) -> bool:
    """Returns whether the point is feasible and stationary; nearly so is enough where the method says so."""
    enough = _FLAT if outcome.succeeded else STATIONARY
    return conditions.infeasibility <= _FEASIBLE and conditions.stationarity <= enough


def _status(outcome: Outcome, conditions: Optimality, counts: Evaluations, *, converged: bool) -> str:
    """Returns why it ended, in words."""
    own = outcome.message
    if converged and outcome.succeeded:
        return f"converged ({own})"
    if converged:
        return f"converged: the optimality conditions hold to {conditions.stationarity:.0e} ({own})"
    parts: list[str] = [f"stopped by its own test, too early ({own})" if outcome.succeeded else own]
    if conditions.infeasibility > _FEASIBLE:
        parts.append(f"a limit is violated by {conditions.infeasibility:.1e}, scaled")
    if STATIONARY < conditions.stationarity < np.inf:
        parts.append(f"a slope of {conditions.stationarity:.1e} is left, scaled")
    if counts.failures:
        parts.append(f"{counts.failures} of {counts.analyses} analyses failed")
    if not jax.config.read("jax_enable_x64"):
        parts.append('JAX computes in single precision: jax.config.update("jax_enable_x64", True)')
    return f"not converged: {'; '.join(parts)}"


def _by_name(attempt: Attempt, conditions: Optimality) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the multipliers in the model's units, and the active limits, by name."""
    prepared, scaling = attempt.prepared, attempt.scaled.scaling
    multipliers = conditions.multipliers * scaling.objective / scaling.constraints
    of_bounds = conditions.bound_multipliers * scaling.objective / scaling.design
    space = prepared.space.layout
    return (
        {**_plain(prepared.constraints, multipliers), **_plain(space, of_bounds)},
        _only_active(
            {**_plain(prepared.constraints, conditions.active), **_plain(space, conditions.active_bounds)}
        ),
    )


def _plain(layout: Layout, vector: Vector) -> dict[str, Any]:
    """Returns the values by name, Python's numbers where they are scalars."""
    return jax.tree.map(lambda leaf: leaf if leaf.ndim else leaf.item(), layout.named(vector))


def _only_active(active: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in active.items() if any(np.any(leaf) for leaf in jax.tree.leaves(value))
    }


def _differentiated(
    solved: Solved, names: tuple[str, ...], converged: bool, parameters: tuple[str, ...]
) -> Sensitivities:
    """Returns the derivatives of the user's values.

    Raises:
        OptimiseError: the optimisation did not converge.
    """
    if not converged:
        raise OptimiseError("This optimisation did not converge, and only an optimum has sensitivities.")
    found = sensitivities(solved, parameters)
    return {name: found[name] for name in names if name in found}
