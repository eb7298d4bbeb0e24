"""What all tests share: double precision, no silent broadcasting of ranks, seeded randomness."""

import jax
import numpy as np
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")

SEED = 20240229


@pytest.fixture
def key() -> jax.Array:
    """Returns a JAX key, the same for every test."""
    return jax.random.key(SEED)


@pytest.fixture
def rng() -> np.random.Generator:
    """Returns a numpy generator, the same for every test."""
    return np.random.default_rng(SEED)
