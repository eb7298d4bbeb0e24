"""What a run of a model gives."""

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.core
import numpy as np

from couplax.solve._solve import Solve


@jax.tree_util.register_pytree_with_keys_class
class Results(Mapping[str, Any]):
    """The values of a model by name, inputs and outputs, in the model's order; a mapping and a JAX pytree.

    Attributes:
        solves: how each cycle's solve went, by the cycle's name.
    """

    def __init__(self, values: Mapping[str, Any], solves: Mapping[str, Solve]) -> None:
        self._values = dict(values)
        self.solves = dict(solves)

    def __getitem__(self, name: str) -> Any:
        """Returns the value of `name`."""
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        """Returns an iterator over the names."""
        return iter(self._values)

    def __len__(self) -> int:
        """Returns how many names there are."""
        return len(self._values)

    def __repr__(self) -> str:
        """Returns a table of the values, and a line for each solve."""
        width = max((len(name) for name in self), default=0)
        rows = [f"{name:<{width}}  {_number(value)}" for name, value in self.items()]
        return "\n".join([*rows, *(_solve_line(name, solve) for name, solve in self.solves.items())])

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], tuple[str, ...]]:
        """Returns the values and the solves as pytree children, the names as structure."""
        children = [(jax.tree_util.DictKey(name), value) for name, value in self.items()]
        return [*children, (jax.tree_util.GetAttrKey("solves"), self.solves)], tuple(self)

    @classmethod
    def tree_unflatten(cls, names: tuple[str, ...], children: list[Any]) -> "Results":
        """Returns the results that `tree_flatten_with_keys` took apart."""
        *values, solves = children
        return cls(dict(zip(names, values, strict=True)), solves)


def _number(value: Any) -> str:
    if isinstance(value, jax.core.Tracer):
        return str(value)
    return np.array2string(np.asarray(value), threshold=8, precision=12)


def _solve_line(name: str, solve: Solve) -> str:
    # Inside a transformation there are no numbers yet, after a vmap there are many.
    if isinstance(solve.iterations, jax.core.Tracer) or np.ndim(solve.iterations) > 0:
        return f"{name}: solved by {solve.solver}"
    worst = max(float(np.max(np.abs(value), initial=0.0)) for value in solve.residual.values())
    cut = ", ".join(solve.cut)
    outcome = f"{solve.status} in {int(solve.iterations)} steps, residual {worst:.2g}"
    return f"{name}: cut at {cut}, {solve.solver}, {outcome}"
