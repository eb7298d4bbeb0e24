"""Buffers that a long known loop only writes: what is written becomes a stacked output of the loop."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import couplax as cpx
from couplax._compat import scan_counts
from couplax.stage import Budget, finalise, simplify, specialise

TRIPS = 30
X = jnp.array([0.5, -0.25])


def staged(fn: Callable[..., Any], *args: Any) -> tuple[jec.ClosedJaxpr, jec.JaxprEqn]:
    """Returns `fn` with its loop left as a `scan`, and that `scan`, once they are seen to give the same."""
    closed = jax.make_jaxpr(fn)(*args)
    left = simplify(specialise(finalise(closed), budget=Budget(equations=4)))
    jec.check_jaxpr(left.jaxpr)
    came, wanted = jec.jaxpr_as_fun(left)(*args), jec.jaxpr_as_fun(closed)(*args)
    for ours, theirs in zip(came, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, strict=True)
    (loop,) = [eqn for eqn in left.jaxpr.eqns if eqn.primitive.name == "scan"]
    return left, loop


def carried(loop: jec.JaxprEqn) -> list[tuple[int, ...]]:
    """Returns the shapes of what the loop carries."""
    count = scan_counts(loop.params)[1]
    avals: list[Any] = [var.aval for var in loop.outvars[:count]]
    return [aval.shape for aval in avals]


def looped(write: Callable[[Any, Any, Any], Any], buffer: Any) -> Callable[[Any], Any]:
    """Returns a function whose loop moves `x` and writes it to `buffer` at every trip."""

    def fn(x: Any) -> Any:
        def turn(k: Any, c: Any) -> Any:
            return jnp.sin(c[0]) + 0.1, write(c[1], k, c[0])

        return lax.fori_loop(0, TRIPS, turn, (x, buffer))

    return fn


ROWS = jnp.full((TRIPS, 2), 7.0)

WRITTEN: dict[str, Callable[[Any], Any]] = {
    "at the counter": looped(lambda b, k, x: b.at[k].set(x), ROWS),
    "by a slice": looped(lambda b, k, x: lax.dynamic_update_index_in_dim(b, x, k, 0), ROWS),
    "from the last to the first": looped(lambda b, k, x: b.at[TRIPS - 1 - k].set(x), ROWS),
    "on another axis": looped(lambda b, k, x: b.at[:, k].set(x), ROWS.T),
    "with slots left over": looped(lambda b, k, x: b.at[k + 2].set(x), jnp.full((TRIPS + 5, 2), 7.0)),
    "past the end, where it is dropped": looped(lambda b, k, x: b.at[k + 5].set(x), ROWS),
    "past the end, where it is clamped": looped(lambda b, k, x: b.at[k + 5].set(x, mode="clip"), ROWS),
    "at negative indices": looped(lambda b, k, x: b.at[-1 - k].set(x), ROWS),
    "twice each": looped(lambda b, k, x: b.at[k % (TRIPS // 2)].set(x), ROWS[: TRIPS // 2]),
    "with what is known too": looped(lambda b, k, x: b.at[k].set(x * jnp.sin(1.0 * k)), ROWS),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_buffer_that_is_only_written_is_not_carried(name: str) -> None:
    _, loop = staged(WRITTEN[name], X)
    assert carried(loop) == [(2,)]
    body = loop.params["jaxpr"].jaxpr
    assert not {"scatter", "dynamic_update_slice"} & {eqn.primitive.name for eqn in body.eqns}


def test_a_buffer_from_the_input_keeps_its_unwritten_slots() -> None:
    def fn(x: Any, buffer: Any) -> Any:
        return looped(lambda b, k, x: b.at[k].set(x), buffer)(x)[1]

    left, loop = staged(fn, X, jnp.arange(80.0).reshape(40, 2))
    assert carried(loop) == [(2,)]
    assert [eqn.primitive.name for eqn in left.jaxpr.eqns] == ["scan", "slice", "concatenate"]


def test_slices_of_a_reversed_scan_are_written_in_its_order() -> None:
    def fn(x: Any) -> Any:
        def turn(c: Any, k: Any) -> Any:
            return (jnp.sin(c[0]), c[1].at[k].set(c[0])), None

        return lax.scan(turn, (x, ROWS), jnp.arange(TRIPS), reverse=True)[0]

    assert carried(staged(fn, X)[1]) == [(2,)]


CARRIED: dict[str, Callable[[Any], Any]] = {
    "read in the loop": looped(lambda b, k, x: b.at[k].set(x + b[k - 1]), ROWS),
    "added to": looped(lambda b, k, x: b.at[k].add(x), ROWS),
    "at an index from the input": looped(lambda b, k, x: b.at[(x[0] > 0.4).astype(int)].set(x), ROWS),
    "small against what is written": looped(lambda b, k, x: b.at[k % 3].set(x), ROWS[:3]),
    "here and there": looped(lambda b, k, x: b.at[(k * 7) % TRIPS].set(x), ROWS),
}


@pytest.mark.parametrize("name", CARRIED)
def test_any_other_buffer_stays_in_the_loop(name: str) -> None:
    _, loop = staged(CARRIED[name], X)
    assert len(carried(loop)) >= 2


def test_a_thousand_saved_steps_are_one_stacked_output() -> None:
    def solve(y0: Any) -> Any:
        solution: Any = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: -y),
            diffrax.Euler(),
            t0=0,
            t1=1,
            dt0=1e-3,
            y0=y0,
            saveat=diffrax.SaveAt(steps=True),
            max_steps=1001,
        )
        return solution.ys

    program = cpx.stage(solve, 1.0)
    assert [eqn.primitive.name for eqn in program.jaxpr.eqns] == ["scan", "concatenate"]
    (loop,) = [eqn for eqn in program.jaxpr.eqns if eqn.primitive.name == "scan"]
    assert carried(loop) == [()]
    assert len(loop.params["jaxpr"].jaxpr.eqns) == 3
    want = 0.999 ** np.arange(1, 1001)
    # The step is a difference of times: a few roundings each.
    np.testing.assert_allclose(program(1.0)[:1000], want, rtol=1e-12)
    assert np.isinf(program(1.0)[1000])
