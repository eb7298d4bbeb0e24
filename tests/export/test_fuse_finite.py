"""Loops that are rewritten for finite numbers give what JAX gives for others too."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from jax import lax

from couplax.export import to_onnx
from fused import START, fused, is_rerun, lorenz, rk4, runs

STEP = 0.01


def stepped(field: Callable[[Any], Any], count: int = 100) -> Callable[[Any], Any]:
    """Returns steps of one length, in a counted loop."""
    return lambda y: lax.fori_loop(0, count, lambda _, y: rk4(field, y, STEP), y)


def stacked(field: Callable[[Any], Any], count: int = 100) -> Callable[[Any], Any]:
    """Returns the same with all states on the way."""
    return lambda y: lax.scan(lambda y, _: (rk4(field, y, STEP),) * 2, y, length=count)


def watched(field: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns steps that are taken until the state is small or no number, or there are many."""

    def goes_on(state: Any) -> Any:
        y, count = state
        return (jnp.max(jnp.abs(y)) > 0.5) & (count < 60)

    return lambda y: lax.while_loop(goes_on, lambda it: (rk4(field, it[0], STEP), it[1] + 1), (y, 0))


def apart(y: Any) -> Any:
    """Returns a field of which one number runs away and the others do not know."""
    return jnp.stack([y[0] * y[0] * 40, (y[1] - 2.0) * y[2] - y[1], 0.5 * y[2] - y[1]])


def linear(y: Any) -> Any:
    """Returns sums of three summands, and one number as it is."""
    return jnp.stack([y[0] - 2 * y[1] + y[2], -y[2], y[0]])


def nested(y: Any) -> Any:
    """Returns products of sums of products."""
    inner = (y[0] * y[1] - y[2]) * (1 - y[2] * y[0])
    return jnp.stack([inner - y[0], 0.1 * (y[1] + y[2]) * y[1] - y[1], 3 - (y[2] * y[2] + y[0]) * y[2]])


FIELDS = {"lorenz": lorenz, "apart": apart, "linear": linear, "nested": nested}
LOOPS = {"counted": stepped, "stacked": stacked, "watched": watched}


def choices(proto: onnx.ModelProto) -> int:
    """Returns how many loops would be run again."""
    return sum(map(is_rerun, proto.graph.node))


def agree(proto: onnx.ModelProto, fn: Callable[..., Any], *args: Any) -> None:
    """Compares a file with JAX, to rounding, and to the sign of infinity."""
    for came, wanted in zip(runs(proto, *args), jax.tree.leaves(jax.jit(fn)(*args)), strict=True):
        np.testing.assert_allclose(came, wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("loop", LOOPS)
def test_numbers_are_those_of_jax_finite_or_not(field: str, loop: str) -> None:
    fn = LOOPS[loop](FIELDS[field])
    proto = to_onnx(fn, START, verify=False)
    agree(proto, fn, START * 0.05)
    for place in range(3):
        for odd in (np.nan, np.inf, -np.inf, 1e200):
            start = START * 0.05
            start[place] = odd
            agree(proto, fn, start)
    assert choices(proto) == (field != "nested")


def test_one_number_runs_away_and_the_others_go_on() -> None:
    fn = stepped(apart)
    (came,) = runs(to_onnx(fn, START, verify=False), np.array([1.0, 0.5, 0.2]))
    assert not np.isfinite(came[0])
    assert np.isfinite(came[1:]).all()


def test_each_number_is_computed_in_the_order_in_which_it_stands() -> None:
    """Where sums were taken apart, this would overflow, or lose what is left of the difference."""

    def turn(_: Any, y: Any) -> Any:
        return jnp.stack([0.25 * (y[0] - y[1]) + 0.0, 0.25 * (y[1] + y[2]), y[2] * (y[1] - y[0])])

    fused(lambda y: lax.fori_loop(0, 3, turn, y), np.array([1e300, -1.7e308, -1e307]))
    fused(lambda y: lax.fori_loop(0, 3, turn, y), np.array([1.0, 1.0 - 2**-50, 1e3]))


def test_what_would_not_be_seen_is_left_as_it_is() -> None:
    """The slope's infinity goes into a number that forgets it."""

    def turn(_: Any, y: Any) -> Any:
        return jnp.tanh(lorenz(y))

    def fn(y: Any) -> Any:
        return lax.fori_loop(0, 3, turn, y)

    proto = to_onnx(fn, START, verify=False)
    assert choices(proto) == 0
    agree(proto, fn, np.array([np.inf, 1.0, 1.0]))


def test_what_reads_more_than_one_row_is_left_as_it_is() -> None:
    def turn(_: Any, both: Any) -> Any:
        x, y = both
        return jnp.stack([x[0] * y[1], x[1] - y[0]]), jnp.stack([y[1] - x[0], y[0] * 0.5])

    fused(lambda x, y: lax.fori_loop(0, 20, turn, (x, y)), START[:2], START[1:])


def test_a_loop_inside_a_branch_is_rewritten_where_it_stands() -> None:
    def fn(y: Any) -> Any:
        return lax.cond(y[0] > 0, stepped(lorenz), lambda y: jnp.sin(y), y)

    proto = to_onnx(fn, START, verify=False)
    for start in (START, -START, np.array([np.inf, 1.0, 2.0]), np.array([1.0, np.nan, 2.0])):
        agree(proto, fn, start)


def scaled_stages(table: Any, weights: Any) -> Callable[[Any], Any]:
    """Returns steps as long as a table says, whose stages stand in a buffer."""

    def step(y: Any, h: Any) -> Any:
        slopes = jnp.zeros((3, 3)).at[0].set(h * lorenz(y + 0.0))
        slopes = slopes.at[1].set(h * lorenz(y + np.array([0.5, 0.0, 0.0]) @ slopes))
        slopes = slopes.at[2].set(h * lorenz(y + np.array([0.0, 0.75, 0.0]) @ slopes))
        return y + weights @ slopes, None

    return lambda y: lax.scan(step, y, table)[0]


@pytest.mark.parametrize("longest", [0.01, 1.5])
@pytest.mark.parametrize("first", [0.0, 0.2])
def test_stages_of_a_table_of_steps_are_few_nodes(longest: float, first: float) -> None:
    table = np.random.default_rng(3).uniform(1e-3, 1e-2, 40)
    table[7] = longest
    fn = scaled_stages(table, np.array([first, 0.3, 0.5]))
    proto = to_onnx(fn, START, verify=False)
    for start in (START * 0.1, np.array([1.0, np.inf, 2.0]), np.array([1e160, 1.0, 1e160])):
        agree(proto, fn, start)
    # A longest step above 1 stays with each slope, and nothing tells of a slope that has no weight.
    assert choices(proto) == (first != 0.0 or longest < 1)


def test_what_is_tested_for_nan_is_decided_where_all_is_finite() -> None:
    """As Diffrax's controllers do: an error that is NaN is infinite, a state that is NaN is not taken."""

    def goes_on(state: Any) -> Any:
        return (state[1] < 60) & (jnp.max(state[0]) < 1e3)

    def turn(state: Any) -> Any:
        y, count = state
        slope = lorenz(y)
        error = jnp.where(jnp.isnan(slope), jnp.inf, slope)
        trial = y + STEP * slope
        trial = jnp.where(jnp.isnan(trial).any(), y * 0.5, trial)
        return jnp.where(jnp.max(jnp.abs(error)) < 1e2, trial, 0.9 * y), count + 1

    def fn(y: Any) -> Any:
        return lax.while_loop(goes_on, turn, (y, 0))

    proto = to_onnx(fn, START, verify=False)
    assert choices(proto) == 1
    for start in (START, START * 1e2, np.array([1e200, -1e200, 1.0]), np.array([1.0, np.nan, np.inf])):
        agree(proto, fn, start)
    fast = next(node for node in proto.graph.node if node.op_type == "Loop").attribute[0].g
    compared = [node.input[0] for node in fast.node if node.op_type == "Equal"]
    assert len(compared) == 1
