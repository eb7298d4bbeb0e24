"""What all tests share: double precision, ranks that match, checked shapes, seeded randomness."""

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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds what chooses between a part of a long table and the whole of it."""
    parser.addoption(
        "--whole-table",
        action="store_true",
        help="every program to TensorFlow and StableHLO, not one a family",
    )


@pytest.fixture
def key() -> jax.Array:
    """Returns a JAX key, the same for every test."""
    return jax.random.key(SEED)


@pytest.fixture
def rng() -> np.random.Generator:
    """Returns a numpy generator, the same for every test."""
    return np.random.default_rng(SEED)
