"""Every value of the model at a design, whether the problem needs it or not."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from couplax._errors import original_errors
from couplax.graph import Cycle
from couplax.solve import Program, evaluate, program

from ._evaluator import Evaluated
from ._prepared import Prepared

Vector = np.ndarray[Any, Any]


def whole(prepared: Prepared) -> Program:
    """Returns the program of all that can be computed from what is given; no less than the problem needs."""
    known = {*prepared.given, *prepared.space.layout.names}
    started = set(prepared.analysis.program.unknowns)
    outputs: list[str] = []
    for step in (step for step in prepared.graph.steps if not isinstance(step, Cycle)):
        reads = {read.name for read in step.inputs}
        if known.issuperset(reads) and started.issuperset(step.unknowns):
            names = [output.name for output in step.outputs]
            outputs += names
            known.update(names)
    return program(prepared.graph, outputs)


def values_at(prepared: Prepared, evaluated: Evaluated, design: Vector) -> dict[str, Any]:
    """Returns the value of each name of the graph that runs, at a point that was evaluated."""
    given = {**prepared.given, **prepared.space.layout.named(design)}
    run = whole(prepared)
    if len(run.steps) == len(prepared.analysis.program.steps):
        return {**given, **evaluated.point.values}
    start = {**prepared.guesses, **prepared.analysis.solutions(evaluated.point.solves)}
    with original_errors():
        values, _ = evaluate(run, {name: given[name] for name in run.inputs}, start)
    return {**given, **values}


def in_users_terms(names: tuple[str, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that have one of `names`, those of the user's model, as numpy arrays."""
    return {name: jax.tree.map(_plain, values[name]) for name in names if name in values}


def _plain(leaf: Any) -> Any:
    """Returns an array of numpy; a number where it is a scalar."""
    return np.asarray(leaf)[()]
