"""What a run of a model gives."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from couplax._calls import Count
from couplax.graph import value_of
from couplax.solve._about import About, Station
from couplax.solve._frame import frame, plain
from couplax.solve._numbers import is_finite
from couplax.solve._page import page
from couplax.solve._solve import Solve
from couplax.solve._table import table

if TYPE_CHECKING:
    import pandas as pd

Ranks = tuple[int, ...]
Structure = tuple[tuple[str, ...], tuple[str, ...], Ranks, About]

_NOTHING = About()


@jax.tree_util.register_pytree_with_keys_class
class Results(Mapping[str, Any]):
    """The values of a model by name, inputs and outputs, in the model's order; a mapping and a JAX pytree.

    It prints as a table, in a terminal and in a notebook. Units, descriptions and ranks are structure of the
    pytree; the counts of calls are not in it: what comes out of a transformation has none.

    Attributes:
        solves: how each cycle's solve went, by the cycle's name.
        counts: by the name of each foreign code that was called what was counted, in a run outside
            transformations.
        about: what the model says of its variables.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        solves: Mapping[str, Solve],
        about: About = _NOTHING,
        counts: Mapping[str, Count] | None = None,
    ) -> None:
        self._values = dict(values)
        self._ranks: Ranks | None = None
        self.about = about
        self.counts = {} if counts is None else dict(counts)
        calls = self.calls
        self.solves = {name: solve.called(calls) for name, solve in solves.items()}

    @property
    def calls(self) -> dict[str, int]:
        """How often each foreign code was called, by its name; codes of one name are counted together."""
        return {name: count.calls for name, count in self.counts.items()}

    @property
    def lanes(self) -> tuple[int, ...]:
        """The axes that `vmap` put in front of the values: none outside of one."""
        leaves = jax.tree.leaves(self._values)
        if self._ranks is None or len(leaves) != len(self._ranks):
            return ()
        pairs = zip(leaves, self._ranks, strict=True)
        return max(
            (np.shape(leaf)[: max(np.ndim(leaf) - rank, 0)] for leaf, rank in pairs), key=len, default=()
        )

    @property
    def nonfinite(self) -> tuple[str, ...]:
        """The names of the values that hold NaN or an infinity."""
        return tuple(name for name, value in self._values.items() if not is_finite(value))

    @property
    def first_nonfinite(self) -> str | None:
        """The component that first gave NaN or an infinity from finite values; None where none did.

        A cycle stands for its components where none of them can be told from the others.
        """
        return _culprit(self.about.stations, frozenset(self.nonfinite))

    def to_dict(self) -> dict[str, Any]:
        """Returns the values by name, arrays as numpy's and numbers as Python's."""
        return {name: plain(value) for name, value in self._values.items()}

    def to_pandas(self) -> "pd.DataFrame":
        """Returns a table with a row for the run, or for each lane of a `vmap`, and a column for each number.

        Arrays take a column for each element, `w[0]`, `w[1]`, and so on.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return frame(self._values, self.lanes)

    def __getitem__(self, name: str) -> Any:
        """Returns the value of `name`."""
        return value_of(self._values, name)

    def __iter__(self) -> Iterator[str]:
        """Returns an iterator over the names."""
        return iter(self._values)

    def __len__(self) -> int:
        """Returns how many names there are."""
        return len(self._values)

    def __repr__(self) -> str:
        """Returns a table of the values, and a line for each solve."""
        return table(self)

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        return page(self)

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], Structure]:
        """Returns the values and the solves as pytree children, and the rest as structure."""
        children, structure = self.tree_flatten()
        solves = (jax.tree_util.GetAttrKey(f"solves[{name!r}]") for name in self.solves)
        keys = [*map(jax.tree_util.DictKey, self._values), *solves]
        return list(zip(keys, children, strict=True)), structure

    def tree_flatten(self) -> tuple[list[Any], Structure]:
        """Returns the same without keys.

        How many axes each array has before a transformation is structure: those that it adds are lanes.
        """
        if self._ranks is None:
            self._ranks = tuple(np.ndim(leaf) for leaf in jax.tree.leaves(self._values))
        children = [*self._values.values(), *self.solves.values()]
        return children, (tuple(self._values), tuple(self.solves), self._ranks, self.about)

    @classmethod
    def tree_unflatten(cls, structure: Structure, children: list[Any]) -> "Results":
        """Returns the results that `tree_flatten` took apart."""
        names, solved, ranks, about = structure
        values, solves = children[: len(names)], children[len(names) :]
        results = cls.__new__(cls)
        results._values = dict(zip(names, values, strict=True))
        results._ranks, results.about = ranks, about
        results.solves, results.counts = dict(zip(solved, solves, strict=True)), {}
        return results


def _culprit(stations: tuple[Station, ...], nonfinite: frozenset[str]) -> str | None:
    """Returns the name of the first of `stations` that writes what is not finite, and reads nothing such."""
    for station in stations:
        if nonfinite.intersection(station.writes) and not nonfinite.intersection(station.reads):
            return _culprit(station.inside, nonfinite) or station.node
    return None
