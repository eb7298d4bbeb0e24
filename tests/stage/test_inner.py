"""Loops inside a long known loop whose trips are known too: at most one a time becomes a branch."""

from collections.abc import Callable, Iterator
from typing import Any

import diffrax
import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import couplax as cpx
from couplax.stage import Budget, simplify, specialise

X = 0.75
TRIPS = 20


def names(jaxpr: Any) -> Iterator[str]:
    """Yields the primitives of `jaxpr` and of the jaxprs inside it."""
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in jec.jaxprs_in_params(eqn.params):
            yield from names(inner)


def left(fn: Callable[..., Any]) -> list[str]:
    """Returns the primitives that are left of `fn`, its outer loop a `scan`, once it gives what it gave."""
    closed = jax.make_jaxpr(fn)(X)
    staged = simplify(specialise(closed, budget=Budget(equations=2)))
    jec.check_jaxpr(staged.jaxpr)
    for came, want in zip(jec.jaxpr_as_fun(staged)(X), jec.jaxpr_as_fun(closed)(X), strict=True):
        np.testing.assert_allclose(came, want, rtol=1e-14)
    return list(names(staged.jaxpr))


def nested(trips: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a loop with one inside, which makes as many trips as the outer counter says."""

    def turn(k: Any, c: Any) -> Any:
        inner = lax.while_loop(lambda d: d[0] < trips(k), lambda d: (d[0] + 1, jnp.sin(d[1]) + k), (0, c))
        return jnp.cos(inner[1])

    return lambda x: lax.fori_loop(0, TRIPS, turn, x)


def test_one_trip_now_and_then_is_a_branch() -> None:
    found = left(nested(lambda k: (k % 5 == 0).astype(int)))
    assert "while" not in found
    assert found.count("cond") == 1


def test_no_trip_ever_is_nothing() -> None:
    assert not {"while", "cond", "sin"} & set(left(nested(lambda k: k * 0)))


def test_one_trip_each_time_stands_in_the_outer_loop() -> None:
    found = left(nested(lambda k: k * 0 + 1))
    assert not {"while", "cond"} & set(found)
    assert found.count("sin") == 1


@pytest.mark.parametrize("most", [2, 3])
def test_more_trips_stay_a_loop(most: int) -> None:
    assert "while" in left(nested(lambda k: k % (most + 1)))


def test_a_condition_on_the_input_stays_a_loop() -> None:
    def turn(k: Any, c: Any) -> Any:
        return lax.while_loop(lambda d: d > 1, lambda d: d / 2, c + k)

    assert "while" in left(lambda x: lax.fori_loop(0, TRIPS, turn, x))


def test_a_code_in_the_loop_inside_is_not_run_while_staging() -> None:
    box = cpx.foreign(lambda x: np.sin(x), jnp.float64, name="sine_inside")

    def turn(k: Any, c: Any) -> Any:
        return lax.while_loop(lambda d: d[0] < k % 2, lambda d: (d[0] + 1, box(d[1])), (0, c))[1]

    closed = jax.make_jaxpr(lambda x: lax.fori_loop(0, TRIPS, turn, x))(X)
    staged = specialise(closed, budget=Budget(equations=2))
    assert box.tally.calls == 0
    want = X
    for _ in range(TRIPS // 2):
        want = np.sin(want)
    np.testing.assert_allclose(jec.jaxpr_as_fun(staged)(X)[0], want, rtol=1e-14)


def test_times_saved_in_fixed_steps_are_branches_of_one_loop() -> None:
    ts = jnp.linspace(0.0, 1.0, 11)

    def solve(y0: Any) -> Any:
        solution: Any = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: -y),
            diffrax.Euler(),
            t0=0,
            t1=1,
            dt0=1e-3,
            y0=y0,
            saveat=diffrax.SaveAt(ts=ts),
            max_steps=1001,
        )
        return solution.ys

    program = cpx.stage(solve, 1.0)
    found = list(names(program.jaxpr.jaxpr))
    assert "while" not in found
    assert (found.count("scan"), found.count("cond")) == (1, 1)
    # Times are sums of steps: each a few roundings off.
    np.testing.assert_allclose(program(1.0), 0.999 ** np.arange(0, 1001, 100), rtol=1e-11)
