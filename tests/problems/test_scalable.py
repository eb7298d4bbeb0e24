"""The scalable problem: the coupled disciplines against their elimination."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scalable
from scipy.optimize import nnls

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


def optimum(problem: Any, architecture: Any) -> cpx.Optimum:
    """Returns the problem's optimum."""
    wanted: dict[str, Any] = scalable.wanted(problem)
    return cpx.minimise(scalable.coupled(problem), "f", architecture=architecture, **wanted)


@pytest.mark.parametrize("architecture", [cpx.MDF(), cpx.IDF(), cpx.SAND()], ids=lambda each: each.name)
def test_the_optimum_of_the_smallest_problem_is_the_published_one(architecture: Any) -> None:
    least = optimum(scalable.draw(), architecture)
    np.testing.assert_allclose(least["f"], 0.0697908617220032, rtol=1e-12)
    x = [least[name][0] for name in ("x_0", "x_1", "x_2")]
    np.testing.assert_allclose(x, [0, 0.829885179, 0.890597393], rtol=0, atol=1e-9)


@pytest.mark.parametrize("architecture", [cpx.MDF(), cpx.IDF()], ids=lambda each: each.name)
def test_the_optimum_of_a_larger_problem_is_that_of_its_quadratic_program(architecture: Any) -> None:
    problem = scalable.draw((2, 3, 1), size_shared=2, samples=1000)
    least = optimum(problem, architecture)
    alpha, beta = scalable.eliminated(problem)
    x = np.concatenate([least[name] for name in scalable.wanted(problem)["design"]])
    y = alpha + beta @ x
    np.testing.assert_allclose(least["f"], np.sum(x[:2] ** 2) + np.sum(y**2), rtol=1e-9)
    # The program is convex: a feasible point whose slope the active limits balance, with positive
    # multipliers, is its least.
    slope = 2 * np.concatenate([x[:2], np.zeros(x.size - 2)]) + 2 * beta.T @ y
    outward = np.vstack([-beta, np.eye(x.size), -np.eye(x.size)])
    beyond = np.concatenate([problem.threshold - y, x - 1, -x])
    assert np.max(beyond) < 1e-9
    _, left = nnls(outward[beyond > -1e-7].T, -slope)
    assert left < 1e-6
