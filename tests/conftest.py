"""What all tests share: double precision, ranks that match, checked shapes, seeded randomness."""

import gc
import sys
from collections import Counter

import jax
import jaxtyping
import numpy as np
import pytest

# The modules whose annotations say shapes are run with them checked.
SHAPED = ("anderson", "broyden", "newton", "progress", "secant", "sweeps", "tolerance")
jaxtyping.install_import_hook([f"couplax.solve._{module}" for module in SHAPED], "beartype.beartype")

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")

SEED = 20240229

# What is imported and traced stays: looking through all of it for garbage takes an eighth of the time.
gc.freeze()
gc.set_threshold(100_000, 50, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds what chooses between a part of a long table and the whole of it."""
    parser.addoption(
        "--whole-table",
        action="store_true",
        help="every row of the long tables, and every program to every target",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes of what a file marks as a long table every so many rows, of 0 none, unless all are asked for.

    Python 3.11 starts at the first row, later ones at the second: of a table of every second row the two run
    the whole. A file may be marked as one table.
    """
    if config.getoption("--whole-table"):
        return
    seen: Counter[tuple[str, int]] = Counter()
    first = int(sys.version_info >= (3, 12))
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        table = item.get_closest_marker("long_table")
        if table is None:
            kept.append(item)
            continue
        step = table.args[0]
        rows = (item.nodeid.split("::")[0], step)
        (kept if step and seen[rows] % step == first else left).append(item)
        seen[rows] += 1
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture
def key() -> jax.Array:
    """Returns a JAX key, the same for every test."""
    return jax.random.key(SEED)


@pytest.fixture
def rng() -> np.random.Generator:
    """Returns a numpy generator, the same for every test."""
    return np.random.default_rng(SEED)
