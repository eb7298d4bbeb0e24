"""Solvers inside models: what they are told of the unknowns, and what they make of many and of mixed ones."""

from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from couplax import SolveError

NEWTON = cpx.Newton(rtol=1e-12, atol=1e-12)


def cosine(**said: Any) -> cpx.Component:
    return cpx.component(lambda u, a: a * jnp.cos(u), cpx.output("u", guess=0.5, **said), name="cosine")


DOTTIE = 0.7390851332151607


def test_optimistix_bisection_takes_the_bounds_of_its_unknown() -> None:
    model = cpx.Model(cosine(bounds=(0.0, 1.0))).close(optx.Bisection(rtol=1e-10, atol=1e-10))
    np.testing.assert_allclose(model.run(a=1.0)["u"], DOTTIE, rtol=1e-9)


def test_ends_that_do_not_bracket_are_told() -> None:
    model = cpx.Model(cosine()).close(cpx.Bisection(1.0, 2.0))
    with pytest.raises(SolveError, match="bracket"):
        model.run(a=1.0)


def chain(count: int) -> cpx.Model:
    """Returns a cycle of `count` implicit scalars, u_i + u_i^3 / 10 = a + u_(i-1) / 2, each an unknown."""
    parts = [
        cpx.residual(
            lambda u, v, a: u + u**3 / 10 - a - v / 2,
            cpx.output("u", guess=0.0),
            rename={"u": f"u{i}", "v": f"u{(i - 1) % count}"},
            name=f"c{i}",
        )
        for i in range(count)
    ]
    return cpx.Model(*parts).close(NEWTON)


def test_many_unknowns_are_one_array_to_the_solver() -> None:
    model = chain(30)
    result = model.run(a=1.0)
    u = float(result["u0"])
    np.testing.assert_allclose(u + u**3 / 10, 1 + u / 2, rtol=1e-12)
    np.testing.assert_allclose([result[f"u{i}"] for i in range(30)], u, rtol=1e-12)
    jaxpr = str(jax.make_jaxpr(model.function("a", "u0"))(1.0))
    # One linear system, not one block for each pair of unknowns.
    assert jaxpr.count("f64[30,30]") > 0
    slope = jax.grad(model.function("a", "u0"))(1.0)
    np.testing.assert_allclose(slope, 1 / (1 + 0.3 * u**2 - 0.5), rtol=1e-10)


def test_unknowns_of_two_precisions_are_solved_together() -> None:
    single = cpx.component(
        lambda w: (0.5 * jnp.cos(w)).astype(jnp.float32), cpx.output("u", guess=0.0), name="single"
    )
    double = cpx.residual(
        lambda u, v: v + v**3 - u.astype(float) * jnp.ones(2),
        cpx.output("v", guess=0.1, shape=(2,)),
        name="double",
    )
    first = cpx.component(lambda v: v[0], "w", name="first")
    model = cpx.Model(single, double, first).close(cpx.Newton(rtol=1e-6, atol=1e-6), cut=("u", "v"))
    result = model.run()
    assert (result["u"].dtype, result["v"].dtype) == (jnp.float32, jnp.float64)
    v = np.asarray(result["v"])
    np.testing.assert_allclose(v + v**3, 0.5 * np.cos(v), rtol=1e-6)


@pytest.mark.parametrize("linear", [lx.GMRES(rtol=1e-10, atol=1e-10), lx.BiCGStab(rtol=1e-10, atol=1e-10)])
def test_newton_needs_no_matrix(linear: Any) -> None:
    weights = jnp.linspace(0.1, 0.9, 60)
    spread = cpx.component(
        lambda w, a: a + jnp.roll(jnp.sin(w), 1), cpx.output("v", shape=(60,), guess=0.0), name="spread"
    )
    damp = cpx.component(lambda v: weights * v, cpx.output("w", shape=(60,)), name="damp")
    results = []
    for solver in (NEWTON, cpx.Newton(rtol=1e-12, atol=1e-12, linear_solver=linear)):
        model = cpx.Model(spread, damp).close(solver, cut="v")
        fn = model.function("a", "v")
        results.append((fn(1.0), jax.jacfwd(fn)(1.0), jax.grad(lambda a, fn=fn: jnp.sum(fn(a)))(1.0)))
    for dense, krylov in zip(*results, strict=True):
        np.testing.assert_allclose(krylov, dense, rtol=1e-8)
    jaxpr = str(jax.make_jaxpr(fn)(1.0))
    assert "60,60" not in jaxpr


@pytest.mark.parametrize(
    "solver",
    [cpx.Newton(), cpx.Broyden(), cpx.Anderson(), cpx.GaussSeidel(), cpx.Jacobi(), cpx.Bisection(0.0, 2.0)],
    ids=lambda solver: type(solver).__name__,
)
def test_a_hard_lane_does_not_change_another(solver: Any) -> None:
    fn = cpx.Model(cosine()).close(solver).function("a", "u")
    alone = fn(0.5)
    lanes = jax.vmap(fn)(jnp.array([0.5, 0.99, -0.7 if not isinstance(solver, cpx.Bisection) else 0.2]))
    np.testing.assert_allclose(lanes[0], alone, rtol=1e-15)
