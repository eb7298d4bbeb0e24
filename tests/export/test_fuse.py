"""Loops come down to few nodes, and give what JAX gives: to rounding, NaN and infinity where JAX has them."""

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from couplax.export import to_onnx
from fused import START, fused, lorenz, rk4, runs
from programs import PROGRAMS


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_of_lorenz_is_twenty_four_nodes(dtype: Any) -> None:
    fn = lambda y: lax.fori_loop(0, 100, lambda _, y: rk4(lorenz, y, 0.01), y)  # noqa: E731
    assert fused(fn, START.astype(dtype)).total() == 24


def test_steps_that_are_stacked_cost_one_node_more() -> None:
    def fn(y: Any) -> Any:
        return lax.scan(lambda y, _: (rk4(lorenz, y, 0.01),) * 2, y, length=100)

    assert fused(fn, START).total() == 25


def layers(*sizes: int) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(1)
    return [(rng.normal(size=(m, n)) / n, rng.normal(size=m)) for n, m in pairwise(sizes)]


def test_a_layer_of_a_network_is_one_product() -> None:
    first, second = layers(2, 8, 2)

    def field(y: Any) -> Any:
        return second[0] @ jnp.tanh(first[0] @ y + first[1]) + second[1]

    counts = fused(lambda y: lax.fori_loop(0, 50, lambda _, y: rk4(field, y, 0.01), y), START[:2])
    assert counts == {"Gemm": 8 + 6, "Tanh": 4, "Add": 1, "Identity": 1}


def test_a_subtracted_product_is_one_node_on_both_sides() -> None:
    def turn(_: Any, both: Any) -> Any:
        x, y = both
        return x - 0.25 * y, 0.5 * x - y

    counts = fused(lambda x, y: lax.fori_loop(0, 200, turn, (x, y)), START, START[::-1].copy())
    assert counts == {"Gemm": 2, "Identity": 1}


def test_a_product_that_is_read_twice_stays() -> None:
    def turn(_: Any, x: Any) -> Any:
        product = 0.5 * x
        return jnp.sin(product) + (x - product)

    assert fused(lambda x: lax.fori_loop(0, 200, turn, x), START)["Mul"] == 1


def test_whole_numbers_are_not_fused() -> None:
    counts = fused(lambda n: lax.fori_loop(0, 5, lambda _, n: n + 3 * n[::-1], n), np.arange(3))
    assert counts["Gemm"] == 0


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(3))
def test_what_is_not_finite_stays_where_jax_has_it(odd: float, place: int) -> None:
    def turn(_: Any, y: Any) -> Any:
        return y + 0.1 * jnp.stack([y[1] * 0.5, jnp.sin(y[1]), y[2] - y[1]])

    def fn(y: Any) -> Any:
        return lax.fori_loop(0, 2, turn, y)

    start = START.copy()
    start[place] = odd
    (came,) = runs(to_onnx(fn, START, verify=False), start)
    np.testing.assert_allclose(came, jax.jit(fn)(start), rtol=1e-14)


def test_branches_and_loops_inside_loops_take_rows() -> None:
    def turn(state: Any) -> Any:
        y, count, total = state
        y = lax.cond(total > 0.5, lambda y: y + 0.1 * y[::-1], lambda y: y - 0.2 * jnp.cos(y), y)
        y = lax.while_loop(lambda y: jnp.max(y) > 3, lambda y: y - 0.25 * jnp.abs(y), y)
        return y + 0.125 * y, count + 1, jnp.sum(y) * 0.25 + total

    def fn(y: Any, total: Any) -> Any:
        return lax.while_loop(lambda state: state[1] < 200, turn, (y, 0, total))

    for total in (-2.0, 2.0):
        assert fused(fn, START, total)["Gemm"] >= 4


def test_what_has_no_form_for_rows_gets_vectors() -> None:
    matrix = np.random.default_rng(2).normal(size=(3, 3))

    def turn(carry: Any, row: Any) -> Any:
        x, y = carry
        x = x + 0.1 * (jnp.sort(x) + row) + 0.5 * y
        y = y - 0.1 * lax.cumsum(y)
        return (x, y), (x, jnp.dot(x, y), jnp.outer(x, y) @ matrix)

    def fn(x: Any, y: Any, rows: Any) -> Any:
        return lax.scan(turn, (x, y), rows, reverse=True)

    rows = np.random.default_rng(3).normal(size=(6, 3))
    fused(fn, START / 20, START[::-1] / 20, rows)


def test_a_loop_of_dozens_of_numbers_takes_them_from_one_split() -> None:
    def turn(_: Any, y: Any) -> Any:
        return y + 0.1 * jnp.stack([y[1], -y[0], y[3], -y[2], jnp.sin(y[5]) * y[4], y[0]])

    counts = fused(lambda y: lax.fori_loop(0, 200, turn, y), np.linspace(0, 1, 6))
    assert (counts["Split"], counts["Gather"], counts["Slice"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("weight", "dtype", "muls"), [(0.25, float, 0), (0.3, float, 1), (0.3, np.float32, 0)]
)
def test_a_second_weight_is_an_attribute_where_float32_holds_it(weight: Any, dtype: Any, muls: int) -> None:
    def turn(y: Any, length: Any) -> tuple[Any, None]:
        return y + weight * (length * jnp.cos(y)), None

    lengths = np.linspace(0.01, 0.02, 400).astype(dtype)
    counts = fused(lambda y: lax.scan(turn, y, lengths)[0], START.astype(dtype))
    assert counts == {"Cos": 1, "Gemm": 1, **({"Mul": 1} if muls else {})}


def test_a_reshape_that_a_branch_gives_is_a_row_too() -> None:
    # Anderson's loop has one, in the branch that mixes what it remembers.
    (program,) = (each for each in PROGRAMS if each.name == "Sellar, Anderson")
    (came, *_), wanted = runs(to_onnx(program.fn, *program.args), *program.args), program.fn(*program.args)
    np.testing.assert_allclose(came, jax.tree.leaves(wanted)[0], rtol=1e-10)
