"""Products read the rows that were written into a buffer, not the buffer; constants meet at export."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from couplax.export import to_onnx
from fused import START, fused, operators, runs

WEIGHTS = np.array([[0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
LAST = np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6])


def stages(y: Any) -> Any:
    """Returns `y` after a step whose stages stand in a buffer."""
    slopes = jnp.zeros((4, 3)).at[0].set(0.01 * jnp.sin(y))
    for index, weights in enumerate(WEIGHTS):
        slopes = slopes.at[index + 1].set(0.01 * jnp.sin(y + weights @ slopes))
    return y + LAST @ slopes


def turned(fn: Any, count: int = 100) -> Any:
    """Returns the function that applies `fn` so often."""
    return lambda y: lax.fori_loop(0, count, lambda _, y: fn(y), y)


def test_a_buffer_of_stages_is_not_written() -> None:
    counts = fused(turned(stages), START)
    assert counts["ScatterElements"] == counts["Reshape"] == 0
    assert counts["Concat"] == 3


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_row_of_weight_zero_still_spreads_what_is_not_finite(odd: float) -> None:
    def stages(y: Any) -> Any:
        slopes = jnp.zeros((2, 3)).at[0].set(y).at[1].set(jnp.minimum(y, 1.0))
        return jnp.tanh(np.array([0.0, 2.0]) @ slopes)

    start = np.array([odd, 0.5, 1.0])
    (came,) = runs(to_onnx(turned(stages, 2), START, verify=False), start)
    np.testing.assert_allclose(came, jax.jit(turned(stages, 2))(start), rtol=1e-14)


def test_rows_that_hold_something_from_the_start_are_read_too() -> None:
    held = np.arange(9.0).reshape(3, 3)

    def step(y: Any) -> Any:
        return 0.01 * np.array([1.0, 2.0, 3.0]) @ jnp.asarray(held).at[1].set(y)

    counts = fused(turned(step), START)
    assert counts["ScatterElements"] == 0


def test_a_row_that_a_branch_chooses_is_taken_out_of_the_buffer_it_gives() -> None:
    def step(y: Any) -> Any:
        slopes = jnp.zeros((2, 3)).at[0].set(0.1 * y)
        slopes = lax.cond(y[0] > 1.5, lambda: slopes.at[0].set(-0.2 * jnp.cos(y)), lambda: slopes)
        return y + np.array([0.5, 0.25]) @ slopes.at[1].set(0.1 * y[::-1])

    fused(turned(step), START)


def test_a_buffer_that_is_read_whole_stays() -> None:
    def step(y: Any) -> Any:
        slopes = jnp.zeros((2, 3)).at[0].set(y)
        return jnp.sin(jnp.sum(slopes, 0) + np.array([0.5, 0.25]) @ slopes)

    fused(turned(step), START)


def test_what_is_written_elsewhere_than_in_a_slot_leaves_the_buffer() -> None:
    def step(y: Any) -> Any:
        slopes = jnp.zeros((2, 3)).at[0, 1:].set(0.1 * y[1:])
        return y + np.array([0.5, 0.25]) @ slopes

    fused(turned(step), START)


def test_what_reads_constants_alone_is_computed_at_export() -> None:
    proto = to_onnx(lambda y: lax.while_loop(lambda y: jnp.max(y) < 3, jnp.exp, y), START, verify=False)
    names = {constant.name for constant in proto.graph.initializer}
    assert not any(node.input and names.issuperset(node.input) for node in proto.graph.node)
    assert operators(proto)["Exp"] == 1


def test_a_product_with_one_is_no_node() -> None:
    assert fused(turned(lambda y: jnp.sin(y) * jnp.ones(())), START)["Mul"] == 0
