"""Sparsity found by trying: which elements of a result change as each element of the inputs moves."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse


def detect_sparsity(
    f: Callable[..., Any], *args: Any, samples: int = 2, seed: int = 0
) -> "scipy.sparse.csr_array":
    """Returns which flat outputs of `f` depend on which flat inputs, as a boolean SciPy array.

    Each element of the floating inputs is moved in turn, and what changes is looked at: `samples` times one
        call for each
    element, and one more. A dependence that shows at none of the samples is missed, for instance beyond a
    branch not taken, so choose `args` where the code does all that it does.

    Args:
        f: a Foreign or any other function of arrays.
        args: a typical point; each sample is a random one within a few per cent of it.
        samples: how many points are tried.
        seed: of the random numbers, so that the result is the same every time.
    """
    generator = np.random.default_rng(seed)
    leaves, tree = jax.tree.flatten(args)
    arrays = [np.asarray(jnp.asarray(leaf)) for leaf in leaves]
    total: Any = None
    for _ in range(samples):
        found = _changes(f, tree, [_jittered(array, generator) for array in arrays], generator)
        total = found if total is None else total + found
    return scipy.sparse.csr_array(total, dtype=bool)


def _changes(f: Callable[..., Any], tree: Any, arrays: list[Any], generator: np.random.Generator) -> Any:
    here = _flat(f(*jax.tree.unflatten(tree, arrays)))
    columns: list[Any] = []
    for place, array in enumerate(arrays):
        for index in range(array.size):
            if array.dtype.kind not in "fc":
                columns.append(scipy.sparse.csc_array((here.size, 1), dtype=bool))
                continue
            moved = np.array(array)
            moved.reshape(-1)[index] += _step(moved.reshape(-1)[index]) * generator.uniform(0.5, 1.0)
            there = _flat(f(*jax.tree.unflatten(tree, [*arrays[:place], moved, *arrays[place + 1 :]])))
            differs = (there != here) & ~(np.isnan(there) & np.isnan(here))
            columns.append(scipy.sparse.csc_array(differs.reshape(-1, 1)))
    return scipy.sparse.hstack(columns, format="csr")


def _step(value: Any) -> float:
    return 1e-3 * max(abs(value), 1.0)


def _jittered(array: Any, generator: np.random.Generator) -> Any:
    if array.dtype.kind not in "fc":
        return array
    return (array + 0.02 * np.maximum(np.abs(array), 1e-3) * generator.standard_normal(array.shape)).astype(
        array.dtype
    )


def _flat(result: Any) -> Any:
    return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in jax.tree.leaves(result)])
