"""Calls of codes outside JAX are counted while a program runs, and found in it before it runs."""

import ctypes
import ctypes.util
import gc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx
from couplax._calls import Count, codes_in, counted_since, counts


def code(name: str) -> cpx.Foreign:
    return cpx.foreign(lambda x: np.sin(x), jnp.float64, name=name)


def test_calls_since_a_moment_are_those_of_the_codes_called_since() -> None:
    first, second = code("first"), code("second")
    first(1.0)
    before = counts()
    for x in (2.0, 3.0, 3.0):
        second(x)
    # The third is remembered.
    assert counted_since(before) == {"second": Count(calls=2)}


def test_codes_of_one_name_are_added_up() -> None:
    one, other = code("same"), code("same")
    before = counts()
    jax.grad(lambda x: one(x) + other(x))(1.0)
    # Each its value and its probe.
    assert counted_since(before) == {"same": Count(calls=4)}


def test_what_a_code_returned_that_is_not_finite_is_counted_by_output() -> None:
    def half(x: Any) -> Any:
        return {"good": x, "bad": np.where(x > 0, np.nan, 0.0)}

    out = {"good": jnp.float64, "bad": jnp.float64}
    box = cpx.foreign(half, out, name="half")
    before = counts()
    box(-1.0)
    box(1.0)
    (count,) = counted_since(before).values()
    (output,) = count.nonfinite
    assert "bad" in output
    assert (count.calls, count.nonfinite[output]) == (2, 1)


def test_codes_are_found_in_a_program_inside_its_loops_branches_and_what_was_traced_before() -> None:
    loop, branch, plain = code("in a loop"), code("in a branch"), code("in a jit")
    jitted = jax.jit(plain)
    jitted(1.0)

    def program(x: Any) -> Any:
        y = jax.lax.fori_loop(0, 3, lambda _, c: loop(c), jitted(x))
        return jax.lax.cond(x > 0, branch, jnp.cos, y)

    assert set(codes_in(program, 1.0)) == {"in a loop", "in a branch", "in a jit"}
    assert codes_in(jnp.sin, 1.0) == ()


def test_a_code_that_nobody_holds_any_more_is_forgotten() -> None:
    before = len(counts())
    code("short-lived")(1.0)
    gc.collect()
    assert len(counts()) <= before


def test_calls_that_programs_make_without_python_are_counted() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    cosine = cpx.foreign_c(library, "cos", {"x": jnp.float64}, jnp.float64, memo=0, name="cos of libm")
    program = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda _, c: cosine(c), x))
    before = counts()
    jax.block_until_ready(program(1.0))
    assert counted_since(before) == {"cos of libm": Count(calls=50)}
    np.testing.assert_allclose(program(1.0), 0.7390851332151607, rtol=1e-8)
