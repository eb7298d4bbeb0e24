"""What is raised where a solve does not converge: at once, or inside the user's own program when it runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import jax
import jax.core
import jax.numpy as jnp

from couplax._errors import SolveError
from couplax.graph import Node
from couplax.solve._check import AbstractReport, Array, Lane, passed, tied
from couplax.solve._closure import Closure
from couplax.solve._diagnosis import diagnosis
from couplax.solve._explain import explain
from couplax.solve._solve import Solve

Values = Mapping[str, Any]


def check(
    values: Values,
    solves: Mapping[str, Solve],
    solved: Iterable[Node] = (),
    known: Values | None = None,
) -> dict[str, Any]:
    """Returns `values` where every solve converged.

    Outside compiled programs a failure raises here, under `grad` and `vmap` too; inside one a check is left
    in the program, which raises when it runs.

    Args:
        solved: the cycles and integrals that `solves` tells of.
        known: the values of the model's inputs, where `values` does not hold them.

    Raises:
        SolveError: a solve did not converge.
    """
    if all(solve.is_known_to_converge for solve in solves.values()):
        return dict(values)
    read = {**(known or {}), **values}
    nodes = tuple(solved)
    inputs = {node.name: _inputs_of(node, read) for node in nodes}
    failed = reduce(jnp.logical_or, [jnp.logical_not(solve.converged) for solve in solves.values()])
    told = {name: _without_traced_history(solve) for name, solve in solves.items()}
    leaves, tree = jax.tree.flatten((told, inputs))
    arrays = [jnp.asarray(jax.lax.stop_gradient(leaf)) for leaf in leaves]
    return tied(dict(values), passed(failed, arrays, _Report(tree, nodes)))


def _without_traced_history(solve: Solve) -> Solve:
    """Returns the record as it is told of: in a program a history costs time in every step, failed or not."""
    return replace(solve, history=None) if isinstance(solve.history, jax.core.Tracer) else solve


def _inputs_of(node: Node, values: Values) -> dict[str, Any]:
    """Returns what the node read, as far as it is numbers."""
    read = (item.name for item in node.inputs)
    return {name: values[name] for name in read if name in values and _is_numeric(values[name])}


def _is_numeric(value: Any) -> bool:
    return all(jnp.result_type(leaf).kind in "biufc" for leaf in jax.tree.leaves(value))


@dataclass(frozen=True)
class _Report(AbstractReport):
    """Tells of solves.

    Attributes:
        tree: the structure of the solves and of what each cycle read.
        solved: the cycles and integrals.
    """

    tree: Any
    solved: tuple[Node, ...]

    @property
    def meanings(self) -> tuple[str, ...]:
        """Which solve did not converge, one after the other in the order in which they run."""
        return tuple(
            f"`{name}` did not converge" for name in self._ran(self._solves_of([0] * self.tree.num_leaves))
        )

    def which(self, leaves: Sequence[Any]) -> jax.Array:
        """Returns the place of the first solve that did not converge, in any lane."""
        solves = self._solves_of(leaves)
        failed = [jnp.any(jnp.logical_not(solves[name].converged)) for name in self._ran(solves)]
        return jnp.argmax(jnp.stack(failed))

    def _solves_of(self, leaves: Sequence[Any]) -> dict[str, Solve]:
        return jax.tree.unflatten(self.tree, leaves)[0]

    def _ran(self, solves: Mapping[str, Solve]) -> list[str]:
        # What passes through a pytree is sorted by name; the nodes are in the order in which they run.
        return [node.name for node in self.solved] or [*solves]

    def error(self, leaves: Sequence[Array], lane: Lane, *, compiled: bool) -> SolveError:
        """Returns the exception for the first solve that did not converge."""
        solves, inputs = jax.tree.unflatten(self.tree, leaves)
        name = self._origin([name for name in self._ran(solves) if not solves[name].converged])
        solve, read, node = solves[name], inputs.get(name, {}), self._node(name)
        guesses = {unknown: value for each in solves.values() for unknown, value in each.values.items()}
        found = ""
        if isinstance(node, Closure) and not compiled:
            found = diagnosis(node, read, solve, guesses)
        message = explain(name, solve, read, lane=lane, diagnosis=found)
        return SolveError(message, cycle=name, solve=solve, inputs=read)

    def _origin(self, failed: Sequence[str]) -> str:
        """Returns the first of the solves that failed, or the one inside it, which spoils the outer."""
        node = self._node(failed[0])
        inside = [name for name in failed[1:] if node is not None and name in node.solves]
        return self._origin(inside) if inside else failed[0]

    def _node(self, name: str) -> Node | None:
        return next((node for node in self.solved if node.name == name), None)
