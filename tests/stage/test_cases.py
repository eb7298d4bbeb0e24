"""Values that are one of a few known ones: what is decided with them, and loops that start from them."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import couplax as cpx
from couplax.stage import Budget, specialise

X = 0.75


def equations(jaxpr: Any) -> Iterator[jec.JaxprEqn]:
    """Yields the equations of `jaxpr` and of the jaxprs inside it."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in jec.jaxprs_in_params(eqn.params):
            yield from equations(inner)


def names(closed: jec.ClosedJaxpr) -> list[str]:
    return [eqn.primitive.name for eqn in equations(closed.jaxpr)]


def same_in_each_case(fn: Callable[..., Any], choices: list[Any]) -> jec.ClosedJaxpr:
    """Returns `fn` staged as a jaxpr, once it is seen to give the same bits for each choice."""
    staged = cpx.stage(fn, choices[0], X)
    for choice in choices:
        for came, wanted in zip(
            jax.tree.leaves(staged(choice, X)), jax.tree.leaves(fn(choice, X)), strict=True
        ):
            # Not jitted: the same operations one by one, so the same bits.
            assert np.asarray(came).tobytes() == np.asarray(wanted).tobytes()
    return staged.jaxpr


FLAGS = [np.bool_(False), np.bool_(True)]


def pick(flag: Any, true: Any, false: Any) -> Any:
    return lax.select(flag, jnp.asarray(true), jnp.asarray(false))


DECIDED: dict[str, Callable[[Any, Any], Any]] = {
    "a comparison that holds in both cases": lambda b, x: jnp.where(pick(b, 2, 3) + 1 < 7, x, -x),
    "the choice read back": lambda b, x: pick(b, 5, 4) == 5,
    "the choice turned twice": lambda b, x: ~(pick(b, 0, 1) == 1) & True,
    "a difference that is the same": lambda b, x: x * (pick(b, 2.0, 3.0) - pick(b, 1.0, 2.0)),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_comes_out_the_same_in_each_case_is_known(name: str) -> None:
    assert names(same_in_each_case(DECIDED[name], FLAGS)) == []


def test_a_select_on_what_the_choice_decides_is_one_on_the_choice() -> None:
    closed = same_in_each_case(lambda b, x: jnp.where(pick(b, 4, 5) == 5, x, x * 2), FLAGS)
    assert names(closed) == ["mul", "select_n"]
    assert closed.jaxpr.eqns[-1].invars[0] is closed.jaxpr.invars[0]


def test_two_choices_decide_nothing_together() -> None:
    def fn(x: Any, y: Any) -> Any:
        return pick(x > 0, 1, 2) + pick(y > 0, 1, 2) == 3

    staged = cpx.stage(fn, 1.0, 1.0)
    for x in (-1.0, 1.0):
        for y in (-1.0, 1.0):
            assert bool(staged(x, y)) == ((x > 0) != (y > 0))


def test_a_branch_knows_what_made_it_be_taken() -> None:
    def fn(b: Any, x: Any) -> Any:
        start = pick(b, 1, 0)
        return lax.cond(
            b, lambda k, y: jnp.where(k == 1, jnp.sin(y), jnp.exp(y)), lambda k, y: y * k, start, x
        )

    closed = same_in_each_case(fn, FLAGS)
    assert "exp" not in names(closed)
    assert "select_n" not in names(closed)


def test_branches_that_a_choice_brings_to_one_are_that_one() -> None:
    closed = same_in_each_case(lambda b, x: lax.switch(pick(b, 2, 7), [jnp.sin, jnp.cos, jnp.tan], x), FLAGS)
    assert names(closed) == ["tan"]


def test_an_index_from_a_choice_takes_the_branches_of_the_choice() -> None:
    closed = same_in_each_case(lambda b, x: lax.switch(pick(b, 2, 0), [jnp.sin, jnp.cos, jnp.tan], x), FLAGS)
    assert "cos" not in names(closed)


def counted(start: Any, end: int, x: Any) -> Any:
    rows = jnp.arange(1.0, end + 1)
    return lax.while_loop(
        lambda c: c[0] < end,
        lambda c: (c[0] + 1, jnp.sin(c[1]) * lax.dynamic_index_in_dim(rows, c[0], keepdims=False)),
        (start, x),
    )


def other_ends(b: Any, x: Any) -> Any:
    """Two counters, so that the ends differ, and the rows of no trip are the same."""
    return lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + 1, c[2] * c[1]), (pick(b, 1, 0), pick(b, 5, 2), x)
    )


def buffered(b: Any, x: Any) -> Any:
    """As Diffrax goes through its stages: a table by the counter, a buffer written at it."""

    def turn(c: Any) -> Any:
        k, calls, buffer = c
        return k + 1, calls + 1, buffer.at[k].set(jnp.sin(jnp.sum(buffer)) * k)

    start = pick(b, 1, 0)
    return lax.while_loop(lambda c: (c[0] < 4) & (c[1] < 4), turn, (start, 0, jnp.full(4, x)))


GUARDED: dict[str, tuple[Callable[[Any, Any], Any], list[Any]]] = {
    "a start by a select": (lambda b, x: counted(pick(b, 1, 0), 4, x), FLAGS),
    "a start far off": (lambda b, x: counted(pick(b, 9, 0), 4, x), FLAGS),
    "a start by a branch": (lambda b, x: counted(lax.cond(b, lambda: 2, lambda: 1), 5, x), FLAGS),
    "a start by a switch": (
        lambda k, x: counted(lax.switch(k, [lambda: 0, lambda: 3, lambda: 2]), 5, x),
        [np.int32(k) for k in (-1, 0, 1, 2, 5)],
    ),
    "a start by the choice itself": (lambda b, x: counted(b.astype(int), 3, x), FLAGS),
    "a loop or none": (
        lambda b, x: lax.while_loop(lambda c: c[0], lambda c: (False, c[1] * 2), (b, x))[1],
        FLAGS,
    ),
    "other ends": (other_ends, FLAGS),
    "a buffer written at the counter": (buffered, FLAGS),
}


@pytest.mark.parametrize("name", GUARDED)
def test_a_loop_that_is_known_in_each_case_comes_apart(name: str) -> None:
    fn, choices = GUARDED[name]
    assert not {"while", "scan"} & set(names(same_in_each_case(fn, choices)))


def test_trips_that_the_cases_have_in_common_stand_outside_the_choice() -> None:
    closed = same_in_each_case(lambda b, x: counted(pick(b, 1, 0), 4, x)[1], FLAGS)
    assert names(closed).count("sin") == 4
    assert [eqn.primitive.name for eqn in closed.jaxpr.eqns].count("sin") == 3


def test_a_guarded_loop_is_mapped_and_differentiated() -> None:
    def fn(b: Any, x: Any) -> Any:
        return counted(pick(b, 1, 0), 3, x)[1]

    staged = cpx.stage(fn, True, X)
    b, x = jnp.array([True, False, True]), jnp.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(jax.vmap(staged)(b, x), jax.vmap(fn)(b, x), rtol=1e-15)
    for flag in FLAGS:
        want = jax.jvp(lambda x, flag=flag: fn(flag, x), (X,), (1.0,))[1]
        np.testing.assert_allclose(jax.grad(staged, argnums=1)(flag, X), want, rtol=1e-14)


def test_a_case_that_never_ends_leaves_the_loop_as_it_is() -> None:
    def fn(b: Any, x: Any) -> Any:
        return lax.while_loop(lambda c: c[0] != 3, lambda c: (c[0] + 1, c[1] * 2), (pick(b, 4, 0), x))[1]

    staged = cpx.stage(fn, True, X)
    assert names(staged.jaxpr).count("while") == 1
    assert float(staged(False, X)) == 8 * X


def test_trips_beyond_the_budget_leave_the_loop_as_it_is() -> None:
    def fn(b: Any, x: Any) -> Any:
        return counted(lax.select(b, 1, 0), 6, x)

    closed = jax.make_jaxpr(fn)(True, X)
    left = specialise(closed, budget=Budget(equations=10))
    assert names(left).count("while") == 1
    for flag in FLAGS:
        np.testing.assert_allclose(jec.jaxpr_as_fun(left)(flag, X)[1], fn(flag, X)[1], rtol=1e-15)
