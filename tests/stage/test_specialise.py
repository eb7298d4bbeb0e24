"""Specialising: what is known is computed, known loops come apart, and nothing grows without bound."""

from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import couplax as cpx
from couplax.stage import Budget, specialise
from couplax.stage._specialise import SPECIALISE_RULES

X = 0.75


def names(staged: Any) -> list[str]:
    return [eqn.primitive.name for eqn in staged.jaxpr.jaxpr.eqns]


def same(fn: Callable[..., Any], *args: Any) -> Any:
    """Returns `fn` staged, once it is seen to give what `fn` gives."""
    staged = cpx.stage(fn, *args)
    # The same operations on the same numbers; XLA may fuse a product with a sum, one rounding less.
    jax.tree.map(
        lambda came, wanted: np.testing.assert_allclose(came, wanted, rtol=1e-14), staged(*args), fn(*args)
    )
    return staged


def test_what_depends_on_no_input_is_computed() -> None:
    staged = same(lambda x: x * jnp.sum(jnp.sin(jnp.arange(10.0))), X)
    assert names(staged) == ["mul"]


def countdown(x: Any) -> Any:
    return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] * x), (4, x))[1]


def swapped(x: Any) -> Any:
    return lax.fori_loop(0, 5, lambda _, c: (c[1], c[0], c[0] + c[1]), (x, 2.0, 0.0))


def becomes_known(x: Any) -> Any:
    return lax.fori_loop(0, 4, lambda k, c: (jnp.asarray(1.5), c[0] * 2), (x, x))


def stops_being_known(x: Any) -> Any:
    return lax.fori_loop(0, 4, lambda k, c: (c[1], jnp.where(k == 2, x, c[1]) + 1), (0.0, 0.0))


def nested(x: Any) -> Any:
    def outer(k: Any, c: Any) -> Any:
        return lax.fori_loop(0, 3, lambda j, d: d * 0.5 + j * k, c)

    return lax.fori_loop(0, 3, outer, x)


def partly_known(x: Any) -> Any:
    def outer(c: Any, s: Any) -> Any:
        counted, value = lax.fori_loop(0, 2, lambda _, d: (d[0] + 1, d[1] * s), (c[0], c[1]))
        return (counted, value), counted

    return lax.scan(outer, (0, x), jnp.array([1.0, 2.0, 3.0]))


def inner_by_the_outer_count(x: Any) -> Any:
    return lax.fori_loop(
        0, 4, lambda k, c: lax.while_loop(lambda d: d[0] < k, lambda d: (d[0] + 1, d[1] + x), (0, c))[1], x
    )


def stacked(x: Any, reverse: bool) -> Any:
    def turn(c: Any, s: Any) -> Any:
        return c * 0.5 + s, (c, s * 2, 0.5)

    return lax.scan(turn, x, jnp.array([1.0, -2.0, 4.0]), reverse=reverse)


def over_the_input(x: Any, reverse: bool) -> Any:
    return lax.scan(
        lambda c, s: (c + s[0] * s[1], c), 0.0, (jnp.full(3, x), jnp.arange(3.0)), reverse=reverse
    )


KNOWN_LOOPS: dict[str, Callable[[Any], Any]] = {
    "a counter": countdown,
    "carries that swap": swapped,
    "a carry that becomes known": becomes_known,
    "a carry that stops being known": stops_being_known,
    "nested": nested,
    "a partly known loop inside": partly_known,
    "trips that the outer count decides": inner_by_the_outer_count,
    "stacked outputs": lambda x: stacked(x, False),
    "stacked outputs in reverse": lambda x: stacked(x, True),
    "slices of the input": lambda x: over_the_input(x, False),
    "slices of the input in reverse": lambda x: over_the_input(x, True),
    "no trips of a while": lambda x: lax.while_loop(lambda c: c[0] < 0, lambda c: (c[0], c[1] * 2), (0, x)),
    "keys as carries": lambda x: lax.scan(
        lambda k, s: (jax.random.split(k)[0], jax.random.uniform(k) + s), jax.random.key(3), jnp.full(3, x)
    )[1],
    "a branch that the count decides": lambda x: lax.fori_loop(
        0, 4, lambda k, c: lax.cond(k % 2 == 0, jnp.sin, jnp.cos, c), x
    ),
}


@pytest.mark.parametrize("name", KNOWN_LOOPS)
def test_a_loop_of_known_trips_comes_apart(name: str) -> None:
    staged = same(KNOWN_LOOPS[name], X)
    assert not {"while", "scan", "cond"} & set(names(staged))


def test_a_scan_of_no_trips_gives_its_carry_and_empty_stacks() -> None:
    staged = same(lambda x: lax.scan(lambda c, s: (c * s, c), x, jnp.zeros(0)), X)
    assert staged(X)[1].shape == (0,)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_long_known_loop_becomes_one_counted_loop_over_tables(reverse: bool) -> None:
    def fn(x: Any) -> Any:
        def turn(c: Any, s: Any) -> Any:
            return (c[0] * jnp.cos(c[1]) + s, c[1] + 0.25), (c[0], c[1])

        return lax.scan(turn, (x, 0.0), jnp.linspace(0.0, 1.0, 400), reverse=reverse)

    staged = same(fn, X)
    (loop,) = [eqn for eqn in staged.jaxpr.eqns if eqn.primitive.name == "scan"]
    # cos(c[1]) is a table; what is left is a product and a sum.
    assert [eqn.primitive.name for eqn in loop.params["jaxpr"].jaxpr.eqns] == ["mul", "add"]


def test_a_loop_whose_condition_is_unknown_stays_without_its_known_carries() -> None:
    def fn(x: Any) -> Any:
        return lax.while_loop(lambda c: c[1] < 50, lambda c: (c[0], c[1] * c[0]), (jnp.asarray(2.0), x))[1]

    staged = same(fn, X)
    (loop,) = [eqn for eqn in staged.jaxpr.eqns if eqn.primitive.name == "while"]
    assert len(loop.outvars) == 1


@pytest.mark.parametrize("choice", [0, 1, 2, -3, 9])
def test_a_branch_of_a_known_index_is_taken_clamped(choice: int) -> None:
    staged = same(lambda x: lax.switch(choice, [jnp.sin, jnp.cos, jnp.tan], x), X)
    assert names(staged) == [["sin", "cos", "tan"][min(max(choice, 0), 2)]]


def test_a_select_of_a_known_predicate_is_the_case_it_picks() -> None:
    assert names(same(lambda x: jnp.where(jnp.full(3, True), x, x * 2), jnp.ones(3))) == []
    assert names(same(lambda x: jnp.where(jnp.array([True, False]), x, -x), jnp.ones(2))) == [
        "neg",
        "select_n",
    ]


def test_a_branch_of_an_unknown_index_shares_what_its_branches_agree_on() -> None:
    staged = same(lambda x: lax.cond(x > 0, lambda: (x, 2.0), lambda: (-x, 2.0))[1], X)
    assert names(staged) == []


def test_and_or_with_a_known_side_are_decided() -> None:
    assert names(same(lambda b: (b & False, b | True, b & True, b | False), np.bool_(True))) == []


def test_a_large_array_stays_an_operation() -> None:
    staged = cpx.stage(lambda x: (x + jnp.arange(1_000_000.0), x * jnp.ones(1_000_000)), jnp.zeros(1_000_000))
    assert "iota" in names(staged)
    assert all(np.size(const) <= 4096 for const in staged.jaxpr.consts)


@pytest.mark.parametrize("trips", [3, 2000])
def test_a_large_array_made_inside_a_loop_stays_an_operation(trips: int) -> None:
    def fn(x: Any) -> Any:
        return lax.fori_loop(0, trips, lambda k, c: c + jnp.sum(jnp.ones(50_000) * c) * 1e-9 + k, x)

    staged = same(fn, X)
    assert all(np.size(const) <= 4096 for const in staged.jaxpr.consts)


def test_a_loop_of_more_trips_than_the_budget_stays_as_it_is() -> None:
    def fn(x: Any) -> Any:
        return lax.scan(lambda c, s: (c + s, (s, 0.5)), x, jnp.arange(30.0))

    closed = jax.make_jaxpr(fn)(X)
    left = specialise(closed, budget=Budget(trips=10, equations=4))
    (loop,) = [eqn for eqn in left.jaxpr.eqns if eqn.primitive.name == "scan"]
    assert loop.params["length"] == 30
    for came, wanted in zip(jec.jaxpr_as_fun(left)(X), jax.tree.leaves(fn(X)), strict=True):
        np.testing.assert_allclose(came, wanted, rtol=1e-14)


def test_an_endless_loop_is_not_run_while_staging() -> None:
    staged = cpx.stage(lambda x: lax.while_loop(lambda c: True, lambda c: c + 1, x), X)
    assert names(staged) == ["while"]


@pytest.mark.parametrize("op", [lax.bitwise_and, lax.bitwise_or])
@pytest.mark.parametrize("flag", [False, True])
def test_a_known_flag_beside_an_array_decides_all_of_it(op: Callable[..., Any], flag: bool) -> None:
    staged = same(jax.vmap(lambda x: op(x > 0, flag)), np.array([X, -X]))
    assert not {"and", "or"} & set(names(staged))


def test_random_numbers_weigh_what_they_are_made_of() -> None:
    def walk(seed: Any) -> Any:
        return lax.fori_loop(0, 8, lambda k, key: jax.random.fold_in(key, k), jax.random.key(seed))

    staged = cpx.stage(lambda seed: jax.random.key_data(walk(seed)), np.int32(3))
    assert "scan" in names(staged)
    np.testing.assert_array_equal(staged(np.int32(5)), jax.random.key_data(walk(np.int32(5))))


def test_a_loop_inside_loops_is_specialised_once_per_guess_not_once_per_guess_of_each() -> None:
    def nest(depth: int, x: Any) -> Any:
        """Returns loops inside each other, each with carries that stop being known one turn after another."""
        if depth == 0:
            return jnp.sin(x)
        start = (x, 0.0, 0.0, 0.0)
        return lax.while_loop(
            lambda c: c[0] < 1.0, lambda c: (nest(depth - 1, c[0]) + 1.0, c[0], c[1], c[2]), start
        )[3]

    def visits(depth: int) -> int:
        count = 0

        def sine(context: Any, x: Any, **params: Any) -> Any:
            nonlocal count
            count += 1
            return context.keep(x)

        closed = jax.make_jaxpr(lambda x: nest(depth, x))(X)
        specialise(closed, rules={**SPECIALISE_RULES, "sin": sine})
        return count

    assert visits(4) == visits(1)
