"""Values in the types of others: plain Python and numpy, and a table of pandas."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from couplax._errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd


def plain(value: Any) -> Any:
    """Returns `value`, a pytree, with numpy arrays for arrays and Python numbers for scalars."""
    return jax.tree.map(_plain_leaf, value)


def _plain_leaf(leaf: Any) -> Any:
    array = np.asarray(leaf)
    return array.item() if array.ndim == 0 else array


def frame(values: Mapping[str, Any], lanes: tuple[int, ...]) -> "pd.DataFrame":
    """Returns a table with a row for each lane and a column for each number.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    if find_spec("pandas") is None:
        raise MissingExtraError(
            "to_pandas() needs `pandas`, not installed here. Install it with: pip install pandas"
        )
    import pandas

    columns = dict(pair for name, value in values.items() for pair in _columns(name, value, lanes))
    return pandas.DataFrame(columns, index=_index(pandas, lanes))


def _columns(name: str, value: Any, lanes: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yields a label and a column for each number in `value`."""
    for path, leaf in jax.tree.leaves_with_path(value):
        label, array = name + jax.tree_util.keystr(path), np.asarray(leaf)
        if array.shape[: len(lanes)] != lanes:
            # What a `vmap` leaves as it was is the same in each lane.
            array = np.broadcast_to(array, (*lanes, *array.shape))
        rest = array.shape[len(lanes) :]
        flat = array.reshape(-1, *rest)
        for index in np.ndindex(rest):
            place = f"[{','.join(map(str, index))}]" if index else ""
            yield label + place, flat[(slice(None), *index)]


def _index(pandas: Any, lanes: tuple[int, ...]) -> Any:
    """Returns the labels of the rows: a number for each lane, several where `vmap`s are nested."""
    if len(lanes) < 2:
        return pandas.RangeIndex(lanes[0] if lanes else 1, name="lane" if lanes else None)
    axes = [range(size) for size in lanes]
    return pandas.MultiIndex.from_product(axes, names=[f"lane_{k}" for k in range(len(lanes))])
