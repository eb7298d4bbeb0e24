"""A linear problem of as many disciplines, of as many numbers each, as one asks for.

Discipline i writes y_i = a_i - D_i0 x_0 - D_ii x_i + sum over j of C_ij y_j; wanted is the least |x_0|^2 +
sum of |y_i|^2 with no element of y below a threshold. Solved for y the disciplines are y = alpha + beta x,
which makes of the whole a quadratic program. Source: Aziz-Alaoui, Roustant and De Lozzo (2024), A scalable
problem to benchmark robust multidisciplinary design optimization techniques, Optimization and Engineering 25.
GEMSEO's `scalable.parametric` draws the same coefficients from the same seed.
"""

import inspect
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import block_diag

import couplax as cpx

jax.config.update("jax_enable_x64", True)


class Coefficients(NamedTuple):
    """A problem: for each discipline a_i, D_i0, D_ii and the C_ij by j; and the threshold of y."""

    offset: list
    shared: list
    local: list
    others: list
    threshold: float


def draw(sizes=(1, 1), size_shared=1, seed=1, samples=100_000):
    """Returns a problem whose y_i and x_i have `sizes`; half of all x keep above the threshold."""
    generator = np.random.default_rng(seed)
    offset, shared, local, others = [], [], [], []
    for i, size in enumerate(sizes):
        shared.append(generator.random((size, size_shared)))
        local.append(generator.random((size, size)))
        others.append({j: generator.random((size, sizes[j])) for j in range(len(sizes)) if j != i})
        offset.append(generator.random(size))
    alpha, beta = eliminated(Coefficients(offset, shared, local, others, np.nan))
    y = alpha + generator.random((samples, beta.shape[1])) @ beta.T
    return Coefficients(offset, shared, local, others, np.quantile(y.min(axis=1), 0.5))


def eliminated(problem):
    """Returns alpha and beta, such that the y of all disciplines is alpha + beta x for all x, x_0 first."""
    each = range(len(problem.offset))
    coupling = np.block(
        [[np.eye(len(problem.offset[i])) if i == j else -problem.others[i][j] for j in each] for i in each]
    )
    right = np.hstack(
        [np.concatenate(problem.offset)[:, None], -np.vstack(problem.shared), -block_diag(*problem.local)]
    )
    solved = np.linalg.solve(coupling, right)
    return solved[:, 0], solved[:, 1:]


def reading(*names):
    """Returns a decorator: the function, which takes any names, is said to take these."""

    def give(fn):
        fn.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
        )
        return fn

    return give


def discipline(problem, i):
    own, others = f"x_{i + 1}", {f"y_{j + 1}": matrix for j, matrix in problem.others[i].items()}

    @reading("x_0", own, *others)
    def respond(**values):
        moved = problem.shared[i] @ values["x_0"] + problem.local[i] @ values[own]
        return problem.offset[i] - moved + sum(matrix @ values[name] for name, matrix in others.items())

    guess = jnp.full(len(problem.offset[i]), 0.5)
    return cpx.component(respond, cpx.output(f"y_{i + 1}", guess=guess), name=f"discipline_{i + 1}")


def coupled(problem):
    """Returns the problem as a model that is not closed yet: f is the objective, c_i > 0 is forbidden."""
    names = [f"y_{i + 1}" for i in range(len(problem.offset))]
    limits = [
        cpx.component(
            lambda y: problem.threshold - y,
            "c",
            rename={"y": f"y_{i + 1}", "c": f"c_{i + 1}"},
            name=f"limit_{i + 1}",
        )
        for i in range(len(names))
    ]

    @cpx.component("f")
    @reading("x_0", *names)
    def objective(**values):
        return sum(jnp.sum(value**2) for value in values.values())

    disciplines = [discipline(problem, i) for i in range(len(names))]
    return cpx.Model(*disciplines, objective, *limits)


def wanted(problem):
    """Returns what `couplax.minimise` takes besides the model and the name of the objective."""
    indices = range(len(problem.offset))
    sizes = {"x_0": problem.shared[0].shape[1], **{f"x_{i + 1}": problem.local[i].shape[1] for i in indices}}
    return {
        "design": dict.fromkeys(sizes, (0.0, 1.0)),
        "constraints": {f"c_{i + 1}": (None, 0.0) for i in indices},
        "start": {name: jnp.full(size, 0.5) for name, size in sizes.items()},
    }


def main():
    problem = draw()
    model = coupled(problem).close(cpx.Newton(rtol=1e-12, atol=1e-12))
    point = {"x_0": jnp.zeros(1), "x_1": jnp.array([0.829885179]), "x_2": jnp.array([0.890597393])}
    result = model.run(**point)
    print(result)
    assert abs(result["f"] - 0.0697908617220032) < 1e-8

    least = cpx.minimise(coupled(problem), "f", architecture=cpx.IDF(), **wanted(problem))
    print(least)
    assert abs(least["f"] - 0.0697908617220032) < 1e-12


if __name__ == "__main__":
    main()
