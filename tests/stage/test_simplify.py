"""Simplifying: dead and repeated code goes, loops carry what they must, identities are exact."""

from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from couplax.stage import count_equations, simplify
from couplax.stage._identities import IDENTITIES


def simplified(fn: Callable[..., Any], *args: Any) -> jec.ClosedJaxpr:
    """Returns the jaxpr of `fn` simplified, once it is seen to give what it gave, and to stay so."""
    closed = jax.make_jaxpr(fn)(*args)
    once = simplify(closed)
    flat = [jnp.asarray(value) for value in jax.tree.leaves(args)]
    for came, wanted in zip(jec.jaxpr_as_fun(once)(*flat), jec.jaxpr_as_fun(closed)(*flat), strict=True):
        assert came.dtype == wanted.dtype
        # To the last bit, the sign of zero included: nothing is computed otherwise than before.
        assert np.asarray(came).tobytes() == np.asarray(wanted).tobytes()
    assert count_equations(simplify(once).jaxpr) == count_equations(once.jaxpr)
    return once


def names(closed: jec.ClosedJaxpr) -> list[str]:
    return [eqn.primitive.name for eqn in closed.jaxpr.eqns]


# XLA on a CPU flushes what is below the smallest normal number, so that one comes last.
EDGES = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, np.finfo(float).tiny])
INTEGERS = np.array([0, 1, -7, np.iinfo(np.int64).min])
FLAGS = np.array([True, False])


def same_shape_update(x: Any) -> Any:
    return lax.dynamic_update_slice(jnp.ones_like(x), x, (3,))


CASES: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "convert_element_type": (
        lambda x: lax.convert_element_type_p.bind(x, new_dtype=x.dtype, weak_type=False, sharding=None),
        EDGES,
    ),
    "copy": (lambda x: lax.copy_p.bind(x), EDGES),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (2,), x.shape), EDGES),
    "slice": (lambda x: lax.slice_p.bind(x, start_indices=(0,), limit_indices=x.shape, strides=None), EDGES),
    "concatenate": (lambda x: lax.concatenate_p.bind(x, dimension=0), EDGES),
    "reshape": (lambda x: jnp.reshape(jnp.reshape(x, (2, 4)), (8,)), EDGES),
    "squeeze": (lambda x: lax.squeeze(lax.expand_dims(x, (0,)), (0,)), EDGES),
    "expand_dims": (lambda x: lax.expand_dims(lax.squeeze(lax.expand_dims(x, (0,)), (0,)), (0,))[0], EDGES),
    "broadcast_in_dim": (lambda x: jnp.reshape(lax.broadcast_in_dim(x, (1, 8), (1,)), (8,)), EDGES),
    "reduce_sum": (lambda x: lax.reduce_sum(x, ()), EDGES),
    "reduce_prod": (lambda x: lax.reduce_prod(x, ()), EDGES),
    "reduce_max": (lambda x: lax.reduce_max(x, ()), EDGES),
    "reduce_min": (lambda x: lax.reduce_min(x, ()), EDGES),
    "reduce_or": (lambda x: lax.reduce_or(x, ()), FLAGS),
    "reduce_and": (lambda x: lax.reduce_and(x, ()), FLAGS),
    "neg": (lambda x: lax.neg(lax.neg(x)), EDGES),
    "not": (lambda x: lax.bitwise_not(lax.bitwise_not(x)), INTEGERS),
    "and": (lambda x: x & x, INTEGERS),
    "or": (lambda x: x | x, INTEGERS),
    "max": (lambda x: lax.max(x, x), EDGES),
    "min": (lambda x: lax.min(x, x), EDGES),
    "dynamic_update_slice": (same_shape_update, EDGES),
    "transpose": (lambda x: lax.transpose_p.bind(x, permutation=(0,)), EDGES),
    "select_n": (lambda x: lax.select(x > 0, x, x), EDGES),
    "mul": (lambda x: (x * np.ones(8)) * 1.0, EDGES),
    "div": (lambda x: x / np.ones(8), EDGES),
    "sub": (lambda x: x - np.zeros(8), EDGES),
    "add": (lambda x: (x + 0) + np.zeros(4, int), INTEGERS),
    "integer_pow": (lambda x: lax.integer_pow_p.bind(x, y=1), EDGES),
}


def test_every_identity_has_a_case() -> None:
    assert set(CASES) >= set(IDENTITIES)


@pytest.mark.parametrize("name", sorted(IDENTITIES))
def test_an_identity_gives_back_what_is_there(name: str) -> None:
    fn, x = CASES[name]
    assert name not in names(simplified(fn, x))


NOT_IDENTITIES: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "x + 0 at -0": (lambda x: x + 0.0, EDGES),
    "x - (-0) at -0": (lambda x: x - np.full(8, -0.0), EDGES),
    "x * 0": (lambda x: x * 0.0, EDGES),
    "x - x at inf": (lambda x: x - x, EDGES),
    "1 / x": (lambda x: 1.0 / x, EDGES),
    "0 - x": (lambda x: 0.0 - x, EDGES),
    "a product of complex numbers with 1": (lambda x: x * (1 + 0j), EDGES.astype(complex)),
    "ones of a larger shape": (lambda x: jnp.broadcast_to(x, (2, 8)) * np.ones((2, 8)), EDGES),
    "a mask that is not all ones": (lambda x: x * np.array([1.0] * 7 + [2.0]), EDGES),
    "another dtype": (lambda x: x.astype(np.float32), EDGES),
    "an update of a part": (lambda x: lax.dynamic_update_slice(x, x[:2], (1,)), EDGES),
    "a transposed square": (lambda x: x.reshape(2, 2, 2).transpose(0, 2, 1), EDGES),
    "a reversal there alone": (lambda x: lax.rev(x, (0,)), EDGES),
}


@pytest.mark.parametrize("name", NOT_IDENTITIES)
def test_what_is_no_identity_is_still_computed(name: str) -> None:
    fn, x = NOT_IDENTITIES[name]
    assert names(simplified(fn, x)) != []


def test_a_complex_zero_is_taken_away_exactly() -> None:
    assert names(simplified(lambda x: x - 0j, np.array([1 - 0j, complex(-0.0, -0.0)]))) == []


def test_dead_code_goes() -> None:
    def fn(x: Any) -> Any:
        unused = jnp.exp(jnp.sin(x))
        del unused
        return x * 2

    assert names(simplified(fn, 0.5)) == ["mul"]


def test_what_is_computed_twice_is_computed_once() -> None:
    assert names(simplified(lambda x: jnp.sin(x) * jnp.exp(jnp.sin(x)), 0.5)) == ["sin", "exp", "mul"]


def test_equal_operations_of_other_params_or_signs_of_zero_stay_apart() -> None:
    def fn(x: Any) -> Any:
        return jnp.cumsum(x), jnp.cumsum(x[::-1]), x + 0.0, x + -0.0

    assert names(simplified(fn, EDGES[:4])).count("add") == 2


def test_effects_are_kept_twice() -> None:
    def fn(x: Any) -> Any:
        jax.debug.callback(lambda _: None, x)
        jax.debug.callback(lambda _: None, x)
        return x

    assert len(simplify(jax.make_jaxpr(fn)(1.0)).jaxpr.eqns) == 2


def loop_of(closed: jec.ClosedJaxpr, name: str) -> jec.JaxprEqn:
    (loop,) = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive.name == name]
    return loop


def test_invariants_leave_a_while() -> None:
    def fn(x: Any, a: Any) -> Any:
        return lax.while_loop(lambda c: c < 10, lambda c: c + jnp.exp(jnp.sin(a)), x)

    closed = simplified(fn, 0.5, 0.25)
    assert names(closed) == ["sin", "exp", "while"]
    assert len(loop_of(closed, "while").params["body_jaxpr"].jaxpr.eqns) == 1


def test_invariants_leave_a_scan_inside_a_while() -> None:
    def fn(x: Any, a: Any) -> Any:
        def body(c: Any) -> Any:
            return c + lax.scan(lambda d, s: (d * jnp.sin(a) + s, None), c, jnp.arange(3.0))[0]

        return lax.while_loop(lambda c: c < 10, body, x)

    assert "sin" in names(simplified(fn, 0.5, 0.25))


def test_unchanging_and_unused_carries_go() -> None:
    def fn(x: Any, a: Any) -> Any:
        def body(c: Any) -> Any:
            counted, kept, unused, value = c
            return counted + 1, kept, unused * value, value * kept

        ends = lax.while_loop(lambda c: c[3] < 100, body, (0, a, x, x))
        return ends[3], ends[1]

    closed = simplified(fn, 1.5, 2.0)
    assert len(loop_of(closed, "while").outvars) == 1


def test_unused_stacked_outputs_and_slices_go() -> None:
    def fn(x: Any) -> Any:
        def turn(c: Any, s: Any) -> Any:
            return c * s[0], (c, jnp.sin(s[1]), s[1])

        ends, outputs = lax.scan(turn, 1.0, (x, x * 2))
        return ends, outputs[0]

    loop = loop_of(simplified(fn, np.array([0.5, 2.0, 3.0])), "scan")
    assert len(loop.outvars) == 2
    assert [eqn.primitive.name for eqn in loop.params["jaxpr"].jaxpr.eqns] == ["mul"]


def test_carries_that_need_each_other_alone_go_together() -> None:
    def fn(x: Any) -> Any:
        return lax.fori_loop(0, 5, lambda _, c: (c[1] + 1, c[0] * 2, c[2] * x), (x, x, x))[2]

    # One counter, one value.
    assert len(loop_of(simplified(fn, 1.5), "scan").outvars) <= 2


def test_unused_outputs_and_operands_of_a_branch_go() -> None:
    def fn(x: Any, y: Any) -> Any:
        return lax.cond(x > 0, lambda a, b: (a, jnp.sin(b)), lambda a, b: (-a, jnp.cos(b)), x, y)[0]

    branch = loop_of(simplified(fn, 0.5, 2.0), "cond")
    assert (len(branch.outvars), len(branch.invars)) == (1, 2)


def test_what_all_branches_compute_is_computed_before_the_choice() -> None:
    def fn(n: Any, x: Any) -> Any:
        branches = [
            lambda y: jnp.exp(jnp.sin(y) * 2.5),
            lambda y: jnp.sin(y) * 2.5 + y,
            lambda y: jnp.tanh(jnp.sin(y) * 2.5) * jnp.sin(y),
        ]
        return lax.switch(n, branches, x)

    closed = simplified(fn, 1, 0.5)
    assert names(closed).count("sin") == 1
    inside = [eqn.primitive.name for each in loop_of(closed, "cond").params["branches"] for eqn in each.eqns]
    assert sorted(inside) == ["add", "exp", "mul", "tanh"]


def test_what_one_branch_alone_computes_stays_in_it() -> None:
    def fn(x: Any, y: Any) -> Any:
        return lax.cond(x > 0, lambda: jnp.sin(y) * 2, lambda: jnp.sin(y + 1) * 2)

    closed = simplified(fn, 0.5, 2.0)
    assert "sin" not in names(closed)


def test_constants_of_other_bits_are_not_the_same() -> None:
    def fn(x: Any) -> Any:
        return lax.cond(x[0] > 0, lambda: x + np.array([0.0, 1.0]), lambda: x + np.array([-0.0, 1.0]))

    assert "add" not in names(simplified(fn, np.array([-0.0, 1.0])))


def test_constant_arrays_of_the_same_bits_are_the_same() -> None:
    def fn(x: Any) -> Any:
        return lax.cond(x[0] > 0, lambda: jnp.sin(x * np.array([2.0, 3.0])), lambda: x * np.array([2.0, 3.0]))

    assert names(simplified(fn, np.array([1.0, 1.0]))).count("mul") == 1
