"""`minimise`: a model, an objective, what may change and what must hold."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from couplax._calls import counted_since, counts
from couplax._errors import OptimiseError
from couplax._model import Drawing, Driver, Model
from couplax.graph import shortened
from couplax.solve import About, as_values, check

from ._architecture import AbstractArchitecture
from ._arguments import check_arguments
from ._attempt import Attempt, optimum_of
from ._evaluator import Evaluated, Evaluator
from ._history import Iteration, Recorder
from ._layout import Layout, block_of
from ._mdf import MDF
from ._method import AbstractMethod, Outcome
from ._optimum import Optimum, Report
from ._prepared import Prepared, prepare
from ._problem import Problem, Scaled, Stop, problem_of
from ._progress import live_table
from ._request import Request, check_names, design_of
from ._scaling import Scaling, constraint_scale, design_scale, objective_scale, overridden
from ._slsqp import SLSQP

Vector = np.ndarray[Any, Any]

_MDF = MDF()
_SLSQP = SLSQP()


def minimise(
    model: Model,
    objective: str,
    *,
    design: str | Sequence[str] | Mapping[str, Any],
    constraints: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    architecture: AbstractArchitecture = _MDF,
    method: AbstractMethod = _SLSQP,
    scale: Mapping[str, Any] | None = None,
    autoscale: bool = True,
    progress: bool | None = None,
    throw: bool = True,
) -> Optimum:
    """Returns the design at which `objective` is least, within the bounds and the constraints.

    Derivatives are exact, each point is analysed once, and the model is compiled once: for another start,
    other fixed values or other limits nothing is compiled anew.

    Args:
        model: with its cycles open, for the architecture to deal with; those it has closed stay closed
            under MDF.
        objective: the name of a scalar output.
        design: inputs with their bounds, `{"x": (lower, upper)}`; a side is a number, an array, or None for
            none. None for both, or names alone, take the bounds that the model declares of its inputs.
        constraints: outputs with their limits, `{"g": (None, 0)}`; one number holds the output there.
        start: where design variables start, where their inputs have no default; and where the unknowns of
            solves and the couplings of cycles do, where their outputs declare no guess.
        fixed: values of other inputs, where they have no default.
        architecture: `couplax.MDF()`, `couplax.IDF()` or `couplax.SAND()`.
        method: `couplax.SLSQP()`, `couplax.TrustConstr()`, `couplax.IPOPT()`; for bounds alone
            `couplax.LBFGS()`, for neither `couplax.BFGS()`.
        scale: typical magnitudes of design variables, objective and constraints, by name; they go before
            what couplax finds: the range between bounds, and the slopes at the start.
        autoscale: whether what `scale` does not name is scaled at all.
        progress: whether a table of the iterations is shown while it runs; None shows it on a terminal.
        throw: whether an optimisation that does not converge raises; else `.converged` is False.

    Raises:
        ModelError: with every fault of the problem.
        SolveError: a solve does not converge at the start.
        OptimiseError: the method did not converge; the exception has the `optimum` as far as it came.
    """
    mappings = {"constraints": constraints, "start": start, "fixed": fixed, "scale": scale}
    check_arguments(model, objective, design, architecture, method, mappings)
    request = Request(
        objective=objective,
        design=design_of(design),
        constraints=dict(constraints or {}),
        start=dict(start or {}),
        fixed=as_values(fixed or {}),
        scale=dict(scale or {}),
    )
    check_names(model.graph, request, method)
    before = counts()
    prepared = prepare(model.graph, request, architecture, method)
    evaluator = _evaluator(prepared, warm=architecture.warm)
    scaling = _scaling(prepared, evaluator, request.scale, autoscale=autoscale)
    report = _report(model, request, architecture, method)
    with live_table(f"{objective} by {report.title}", wanted=progress) as told:
        attempt = _attempt(prepared, evaluator, scaling, method, told)
    calls = {name: count.calls for name, count in counted_since(before).items()}
    found = optimum_of(attempt, report, (*model.inputs, *model.outputs), calls)
    if throw and not found.converged:
        raise OptimiseError(str(found), found)
    return found


def _report(
    model: Model, request: Request, architecture: AbstractArchitecture, method: AbstractMethod
) -> Report:
    """Returns what is told beside the numbers."""
    return Report(
        objective=request.objective,
        design=tuple(request.design),
        constraints=tuple(request.constraints),
        title=f"{method.name} and {architecture.name}" if model.cycles else method.name,
        about=About.of(model.graph.nodes),
        draw=partial(_drawn, model, request, architecture, method),
    )


def _drawn(
    model: Model, request: Request, architecture: AbstractArchitecture, method: AbstractMethod
) -> Drawing:
    """Returns the model as the optimiser runs it: closed by solvers, or with targets for what is coupled."""
    targets = tuple(state.variable for state in architecture.states(model.graph))
    closed = architecture.formulate(model.graph, (), request.start).graph
    driver = Driver(
        name=method.name,
        design=tuple(request.design),
        objective=request.objective,
        constraints=tuple(request.constraints),
        targets=targets,
    )
    return Model.of(model.components if targets else closed.nodes).xdsm(driver)


def _attempt(
    prepared: Prepared,
    evaluator: Evaluator,
    scaling: Scaling,
    method: AbstractMethod,
    told: Callable[[Iteration], None],
) -> Attempt:
    """Returns how `method` ended, each iteration told of."""
    scaled = Scaled(evaluator=evaluator, scaling=scaling, labels=prepared.space.layout.labels)
    recorder = Recorder(evaluator=evaluator, limits=prepared.limits, told=told)
    problem = _problem(prepared, scaled, recorder)
    outcome = _run(method, problem, recorder, scaling)
    return Attempt(prepared=prepared, scaled=scaled, problem=problem, recorder=recorder, outcome=outcome)


def _evaluator(prepared: Prepared, *, warm: bool) -> Evaluator:
    """Returns the evaluator, the start evaluated.

    Raises:
        SolveError: a solve does not converge there.
        OptimiseError: a value is infinite or NaN there.
    """
    evaluator = Evaluator(
        analysis=prepared.analysis,
        fixed=prepared.fixed,
        guesses=prepared.guesses,
        limits=prepared.space.limits,
        warm=warm,
    )
    known = evaluator.at(prepared.space.start)
    if not known.ok:
        given = {**prepared.given, **prepared.space.layout.named(prepared.space.start)}
        check(known.point.values, known.point.solves, prepared.analysis.program.solved, given)
        raise OptimiseError(_not_finite(prepared, known))
    return evaluator


def _not_finite(prepared: Prepared, known: Evaluated) -> str:
    """Returns what is infinite or NaN at the start."""
    labels = (prepared.analysis.objective, *prepared.constraints.labels)
    numbers = np.asarray(known.point.watched)
    bad = [label for label, number in zip(labels, numbers, strict=True) if not np.isfinite(number)]
    verb = "is" if len(bad) == 1 else "are"
    return (
        f"{shortened(bad)} {verb} infinite or NaN at the start, {_said(prepared)}. "
        "Start where the model can be evaluated; model.run(...).first_nonfinite names the component at fault."
    )


def _said(prepared: Prepared) -> str:
    """Returns the start in words."""
    layout, start = prepared.space.layout, prepared.space.start
    shown = [f"{label}={number:g}" for label, number in zip(layout.labels, start, strict=True)]
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")


def _scaling(
    prepared: Prepared, evaluator: Evaluator, given: Mapping[str, Any], *, autoscale: bool
) -> Scaling:
    """Returns by what everything is divided."""
    space, limits, layout = prepared.space, prepared.limits, prepared.constraints
    design, objective, constraints = np.ones(space.start.size), 1.0, np.ones(layout.size)
    if autoscale:
        known, jacobian = evaluator.at(space.start), evaluator.jacobian(space.start)
        design = overridden(space.layout, design_scale(space.layout, space.limits, space.start), given)
        slopes = np.where(np.isfinite(jacobian), jacobian, 0.0) * design
        objective = objective_scale(known.objective, slopes[0])
        constraints = constraint_scale(layout, known.constraints, limits, slopes[1:])
    goal = Layout((block_of(prepared.analysis.objective, 0.0),))
    return Scaling(
        design=overridden(space.layout, design, given),
        objective=float(overridden(goal, np.array([objective]), given)[0]),
        constraints=overridden(layout, constraints, given),
    )


def _problem(prepared: Prepared, scaled: Scaled, recorder: Recorder) -> Problem:
    """Returns the scaled problem, the start recorded."""
    recorder.record(prepared.space.start)
    return problem_of(
        scaled,
        prepared.space.start,
        prepared.space.limits,
        prepared.limits,
        lambda x: recorder.record(scaled.unscaled(x)),
    )


def _run(method: AbstractMethod, problem: Problem, recorder: Recorder, scaling: Scaling) -> Outcome:
    """Returns how the method ended; where the model cannot be evaluated there, the last point that can be."""
    try:
        outcome = method.minimise(problem)
    except Stop as stop:
        return _last(recorder, scaling, str(stop))
    if np.isfinite(outcome.x).all() and np.isfinite(problem.objective(outcome.x)):
        return outcome
    return _last(recorder, scaling, f"the model cannot be evaluated where it stopped ({outcome.message})")


def _last(recorder: Recorder, scaling: Scaling, message: str) -> Outcome:
    """Returns the last iteration whose point could be evaluated, as the end."""
    sound = [each for each in recorder.iterations if np.isfinite(each.objective)]
    return Outcome(
        x=sound[-1].design / scaling.design,
        succeeded=False,
        message=message,
        iterations=len(recorder.iterations) - 1,
    )
