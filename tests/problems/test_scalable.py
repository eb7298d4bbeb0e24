"""The scalable problem: the coupled disciplines against their elimination."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scalable

import couplax as cpx

NEWTON = cpx.Newton(rtol=1e-12, atol=1e-12)


def test_the_smallest_problem_is_gemseos() -> None:
    problem = scalable.draw(seed=1)
    point: dict[str, Any] = {
        "x_0": jnp.zeros(1),
        "x_1": jnp.array([0.829885179]),
        "x_2": jnp.array([0.890597393]),
    }
    result = scalable.coupled(problem).close(NEWTON).run(**point)
    # Nine decimals of x are given, of which the slopes are at most one.
    np.testing.assert_allclose(result["f"], 0.0697908617220032, rtol=0, atol=1e-9)
    np.testing.assert_allclose([result["c_1"], result["c_2"]], 0, atol=1e-9)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3, 1)], ids=str)
def test_coupled_disciplines_give_what_their_elimination_gives(sizes: Any, rng: np.random.Generator) -> None:
    problem = scalable.draw(sizes, size_shared=2, samples=10)
    names = ("x_0", *(f"x_{i + 1}" for i in range(len(sizes))))
    point = {name: rng.random(size) for name, size in zip(names, (2, *sizes), strict=True)}
    outputs = tuple(f"y_{i + 1}" for i in range(len(sizes)))
    fn = scalable.coupled(problem).close(NEWTON).function(names, outputs)
    alpha, beta = scalable.eliminated(problem)
    argnums = tuple(range(len(names)))
    slopes = jax.jit(jax.jacrev(lambda *x: jnp.concatenate(fn(*x)), argnums=argnums))(*point.values())
    np.testing.assert_allclose(
        np.concatenate(fn(*point.values())), alpha + beta @ np.concatenate([*point.values()]), rtol=1e-10
    )
    np.testing.assert_allclose(np.hstack(slopes), beta, rtol=1e-10, atol=1e-13)
