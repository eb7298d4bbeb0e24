"""What is raised where a solve does not converge: at once, or inside the user's own program when it runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from couplax._errors import SolveError
from couplax.solve._check import AbstractReport, Array, Lane, passed, tied
from couplax.solve._closure import Closure
from couplax.solve._diagnosis import diagnosis
from couplax.solve._explain import explain
from couplax.solve._solve import Solve

Values = Mapping[str, Any]


def check(
    values: Values,
    solves: Mapping[str, Solve],
    closures: Iterable[Closure] = (),
    known: Values | None = None,
) -> dict[str, Any]:
    """Returns `values` where every solve converged.

    Outside compiled programs a failure raises here, under `grad` and `vmap` too; inside one a check is left
    in the program, which raises when it runs.

    Args:
        closures: the cycles that were solved, those inside others included, for the diagnosis.
        known: the values of the model's inputs, where `values` does not hold them.

    Raises:
        SolveError: a solve did not converge.
    """
    if not solves or all(_has_converged(solve) for solve in solves.values()):
        return dict(values)
    read = {**(known or {}), **values}
    inputs = {closure.name: _inputs_of(closure, read) for closure in closures}
    failed = reduce(jnp.logical_or, [jnp.logical_not(solve.converged) for solve in solves.values()])
    told = {name: _without_traced_history(solve) for name, solve in solves.items()}
    leaves, tree = jax.tree.flatten((told, inputs))
    arrays = [jnp.asarray(jax.lax.stop_gradient(leaf)) for leaf in leaves]
    return tied(dict(values), passed(failed, arrays, _Report(tree, tuple(closures))))


def _has_converged(solve: Solve) -> bool:
    """Returns whether the solve is known to have converged; inside a transformation nothing is known."""
    return not solve.is_traced and bool(np.all(solve.converged))


def _without_traced_history(solve: Solve) -> Solve:
    """Returns the record as it is told of: in a program a history costs time in every step, failed or not."""
    return replace(solve, history=None) if isinstance(solve.history, jax.core.Tracer) else solve


def _inputs_of(closure: Closure, values: Values) -> dict[str, Any]:
    """Returns what the cycle read, as far as it is numbers."""
    read = (item.name for item in closure.inputs)
    return {name: values[name] for name in read if name in values and _is_numeric(values[name])}


def _is_numeric(value: Any) -> bool:
    return all(jnp.result_type(leaf).kind in "biufc" for leaf in jax.tree.leaves(value))


@dataclass(frozen=True)
class _Report(AbstractReport):
    """Tells of solves.

    Attributes:
        tree: the structure of the solves and of what each cycle read.
        closures: the cycles.
    """

    tree: Any
    closures: tuple[Closure, ...]

    def error(self, leaves: Sequence[Array], lane: Lane, *, compiled: bool) -> SolveError:
        """Returns the exception for the first solve that did not converge."""
        solves, inputs = jax.tree.unflatten(self.tree, leaves)
        name = next(name for name, solve in solves.items() if not solve.converged)
        solve, read = solves[name], inputs.get(name, {})
        closure = next((closure for closure in self.closures if closure.name == name), None)
        guesses = {unknown: value for each in solves.values() for unknown, value in each.values.items()}
        found = "" if compiled or closure is None else diagnosis(closure, read, solve, guesses)
        message = explain(name, solve, read, lane=lane, diagnosis=found)
        return SolveError(message, cycle=name, solve=solve, inputs=read)
