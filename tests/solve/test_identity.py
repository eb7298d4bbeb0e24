"""Solvers as values."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
import pytest

from couplax.solve._identity import identity
from solver_cases import ALL

MAKERS: list[Callable[..., Any]] = [*ALL.values(), optx.Newton, optx.GaussNewton, optx.LevenbergMarquardt]


@pytest.mark.parametrize("make", MAKERS)
def test_solvers_of_equal_parts_are_equal_and_others_are_not(make: Callable[..., Any]) -> None:
    one, same, other = (identity(make(rtol=rtol, atol=1e-8)) for rtol in (1e-8, 1e-8, 1e-9))
    assert (one == same, hash(one) == hash(same), one == other) == (True, True, False)


def test_solvers_that_differ_in_an_array_differ() -> None:
    one = optx.GaussNewton(rtol=1e-8, atol=1e-8)
    half, whole = (
        identity(eqx.tree_at(lambda solver: solver.search, one, optx.LearningRate(jnp.asarray(rate))))
        for rate in (0.5, 1.0)
    )
    assert half != whole


def test_solvers_are_compared_inside_a_transformation() -> None:
    one, same = (optx.GaussNewton(rtol=1e-8, atol=1e-8) for _ in range(2))

    @jax.jit
    def doubled(x: Any) -> Any:
        return 2 * x if identity(one) == identity(same) else x

    assert float(doubled(1.0)) == 2
