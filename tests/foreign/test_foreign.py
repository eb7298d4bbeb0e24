"""Foreign codes as JAX functions: what goes in and out, and where they may stand."""

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from foreign_codes import OUT, ROUTES, X, Y, wave, wave_jax

pytestmark = pytest.mark.long_table(2)

each_route = pytest.mark.parametrize("run", ROUTES.values(), ids=ROUTES.keys())
Run = Callable[[Any], Any]


@each_route
def test_a_code_returns_what_it_computes(run: Run) -> None:
    np.testing.assert_array_equal(run(cpx.foreign(wave, OUT))(X, Y), wave(np.float64(X), Y))


@each_route
def test_trees_go_in_and_come_out(run: Run) -> None:
    def nested(state: Any, gain: Any) -> Any:
        low, (high, flags) = state["low"], state["high"]
        return {"sum": low + high, "both": (gain * low, np.where(flags, high, 0.0))}

    def twin(state: Any, gain: Any) -> Any:
        low, (high, flags) = state["low"], state["high"]
        return {"sum": low + high, "both": (gain * low, jnp.where(flags, high, 0.0))}

    three = jax.ShapeDtypeStruct((3,), np.float64)
    code = cpx.foreign(nested, {"sum": three, "both": (three, three)})
    state = {"low": np.arange(3.0), "high": (np.ones(3), np.array([True, False, True]))}
    assert jax.tree.all(jax.tree.map(np.array_equal, run(code)(state, 2.0), twin(state, 2.0)))
    found = run(jax.grad(lambda s: jnp.sum(code(s, 2.0)["both"][0]), allow_int=True))(state)
    np.testing.assert_allclose(found["low"], 2.0, rtol=1e-6)


@each_route
def test_outputs_declared_by_a_function_follow_the_inputs(run: Run) -> None:
    code = cpx.foreign(lambda x: np.outer(x, x), lambda x: jax.ShapeDtypeStruct((x.size, x.size), x.dtype))
    assert run(code)(jnp.ones(2)).shape == (2, 2)
    assert run(code)(jnp.ones(5, jnp.float32)).dtype == jnp.float32
    assert run(code)(jnp.ones(5)).shape == (5, 5)


@each_route
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32", "int64", "bool"])
def test_every_dtype_passes_unchanged(run: Run, dtype: str) -> None:
    values = np.array([0, 1, 1]).astype(dtype)
    came = run(cpx.foreign(lambda x: x, lambda x: x))(values)
    assert came.dtype == dtype
    np.testing.assert_array_equal(came, values)


@each_route
def test_integers_and_booleans_are_not_differentiated(run: Run) -> None:
    def code_of(x: Any, n: Any, flag: Any) -> Any:
        return (x**n if flag else x), n + 1

    code = cpx.foreign(code_of, (jnp.float64, jnp.int64))
    found = run(jax.grad(lambda x: code(x, 3, True)[0]))(2.0)
    np.testing.assert_allclose(found, 12.0, rtol=1e-6)
    _, (moved, of_integer) = jax.jvp(lambda x: code(x, 3, True), (2.0,), (1.0,))
    assert of_integer.dtype == jax.dtypes.float0
    np.testing.assert_allclose(moved, 12.0, rtol=1e-6)


@each_route
def test_empty_arrays_pass(run: Run) -> None:
    code = cpx.foreign(lambda x, y: (x * 2, y.sum()), lambda x, y: (x, jnp.float64))
    empty, total = run(code)(np.zeros((0, 3)), np.ones(2))
    assert empty.shape == (0, 3)
    assert total == 2.0
    found = run(jax.grad(lambda x, y: code(x, y)[1], (0, 1)))(np.zeros((0, 3)), np.ones(2))
    assert found[0].shape == (0, 3)
    np.testing.assert_allclose(found[1], 1.0, rtol=1e-6)
    assert run(jax.vmap(code))(np.zeros((0, 2)), np.zeros((0, 2)))[1].shape == (0,)


@each_route
def test_nested_vmaps_map_each_axis(run: Run, rng: np.random.Generator) -> None:
    code = cpx.foreign(wave, OUT)
    xs, ys = rng.uniform(size=3), rng.uniform(size=(4, 2))
    for axes in (((0, None), (None, 0)), ((None, 0), (0, None))):
        nested = jax.vmap(jax.vmap(code, axes[0]), axes[1])
        twin = jax.vmap(jax.vmap(wave_jax, axes[0]), axes[1])
        np.testing.assert_allclose(run(nested)(xs, ys), twin(xs, ys), rtol=1e-14)
    last = jax.vmap(code, (0, 1), out_axes=1)
    np.testing.assert_allclose(
        run(last)(xs, ys[:3].T), jax.vmap(wave_jax, (0, 1), 1)(xs, ys[:3].T), rtol=1e-14
    )


@each_route
def test_derivatives_and_vmap_mix(run: Run, rng: np.random.Generator) -> None:
    code = cpx.foreign(wave, OUT, differences=cpx.Central())
    xs, ys = rng.uniform(0.5, 1.0, size=3), rng.uniform(0.5, 1.0, size=(3, 2))

    def mixes(f: Any) -> list[Any]:
        return [
            jax.vmap(jax.grad(lambda x, y: jnp.sum(f(x, y))))(xs, ys),
            jax.grad(lambda x: jnp.sum(jax.vmap(f, (None, 0))(x, ys)))(X),
            jax.jacrev(jax.vmap(f))(xs, ys),
            jax.vmap(jax.jacfwd(f, 1), (0, None))(xs, Y),
            jax.linearize(lambda x: f(x, Y), X)[1](2.0),
        ]

    for came, want in zip(run(lambda: mixes(code))(), mixes(wave_jax), strict=True):
        np.testing.assert_allclose(came, want, rtol=1e-8, atol=1e-8)


@each_route
def test_a_code_stands_in_loops_and_branches(run: Run) -> None:
    code = cpx.foreign(lambda x: np.cos(x), jnp.float64, name="cosine")

    def program(f: Any, x: Any) -> Any:
        x = jax.lax.fori_loop(0, 3, lambda _, c: f(c), x)
        x, traced = jax.lax.scan(lambda c, a: (f(c) + a, c), x, jnp.arange(3.0) / 10)
        x = jax.lax.while_loop(lambda c: c > 0.5, lambda c: f(c) - 0.4, x)
        return jax.lax.cond(x > 0, f, lambda c: c, x) + jnp.sum(jax.lax.map(f, traced))

    np.testing.assert_allclose(run(functools.partial(program, code))(0.3), program(jnp.cos, 0.3), rtol=1e-14)
    moved = run(lambda x: jax.jvp(functools.partial(program, code), (x,), (1.0,))[1])(0.3)
    want = jax.jvp(functools.partial(program, jnp.cos), (0.3,), (1.0,))[1]
    np.testing.assert_allclose(moved, want, rtol=1e-5)


@each_route
def test_a_code_stands_under_checkpoint_and_in_a_scan_in_reverse(run: Run) -> None:
    code = cpx.foreign(lambda x: np.sin(x), jnp.float64, differences=cpx.Central())

    def program(f: Any, x: Any) -> Any:
        step = jax.checkpoint(lambda c: f(c) * c)
        return jax.lax.scan(lambda c, _: (step(c), None), x, length=4)[0]

    found = run(jax.grad(functools.partial(program, code)))(1.3)
    np.testing.assert_allclose(found, jax.grad(functools.partial(program, jnp.sin))(1.3), rtol=1e-8)


@each_route
def test_a_code_stands_in_optimistix_and_lineax(run: Run) -> None:
    code = cpx.foreign(lambda y: np.array([y[0] ** 3 + y[1], y[1] - np.cos(y[0])]), lambda y: y)

    def root(p: Any) -> Any:
        found = optx.root_find(lambda y, p: code(y) - p, optx.Newton(rtol=1e-9, atol=1e-9), jnp.ones(2), p)
        return found.value

    def twin(p: Any) -> Any:
        f = lambda y, p: jnp.array([y[0] ** 3 + y[1], y[1] - jnp.cos(y[0])]) - p  # noqa: E731
        return optx.root_find(f, optx.Newton(rtol=1e-9, atol=1e-9), jnp.ones(2), p).value

    p = jnp.array([1.2, 0.1])
    np.testing.assert_allclose(run(root)(p), twin(p), rtol=1e-8)
    np.testing.assert_allclose(run(jax.jacrev(root))(p), jax.jacrev(twin)(p), rtol=1e-5)
    operator = lx.JacobianLinearOperator(lambda y, _: code(y), jnp.ones(2))
    solved = run(lambda b: lx.linear_solve(operator, b).value)(p)
    np.testing.assert_allclose(solved, np.linalg.solve([[3.0, 1.0], [np.sin(1.0), 1.0]], p), rtol=1e-5)


def test_arguments_may_be_given_by_name() -> None:
    code = cpx.foreign(wave, OUT)
    np.testing.assert_array_equal(code(y=Y, x=X), code(X, Y))


def test_a_code_is_a_value() -> None:
    def made(**options: Any) -> cpx.Foreign:
        return cpx.foreign(
            wave, OUT, scale=(1.0, 2.0), bounds=((0.0, None), None), sparsity=np.ones((2, 3)), **options
        )

    assert made() == made()
    assert hash(made()) == hash(made())
    assert made() != made(differences=cpx.Central())
    assert made() != cpx.foreign(wave, OUT)
    assert made().tally is made().tally


def test_an_equal_code_rebuilt_is_not_traced_again() -> None:
    traces: list[None] = []

    @functools.partial(jax.jit, static_argnums=0)
    def program(code: Any, x: Any) -> Any:
        traces.append(None)
        return code(x, Y)

    for _ in range(3):
        program(cpx.foreign(wave, OUT), X)
    assert len(traces) == 1


def test_equal_calls_in_one_program_are_one_call() -> None:
    code = cpx.foreign(wave, OUT)
    code.tally.reset()
    jax.jit(lambda x: code(x, Y) + code(x, Y))(X).block_until_ready()
    assert code.tally.calls == 1


def test_the_memo_keeps_the_last_points_and_forgets_at_a_reset() -> None:
    code = cpx.foreign(lambda x: x**2, jnp.float64, memo=2)
    code.tally.reset()
    for x in (1.0, 2.0, 1.0, 3.0, 2.0):
        assert code(x) == x**2
    assert (code.tally.values, code.tally.memo_hits) == (4, 1)
    code.tally.reset()
    assert code(3.0) == 9.0
    assert (code.tally.values, code.tally.memo_hits) == (1, 0)


def test_a_memo_of_none_remembers_nothing() -> None:
    code = cpx.foreign(lambda x: x**2, jnp.float64, memo=0)
    code.tally.reset()
    assert code(1.0) == code(1.0) == 1.0
    assert code.tally.values == 2


def test_what_a_code_returns_is_copied() -> None:
    buffer = np.zeros(3)

    def reused(x: Any) -> Any:
        buffer[:] = x
        return buffer

    code = cpx.foreign(reused, jax.ShapeDtypeStruct((3,), np.float64))
    first = code(1.0)
    second = code(2.0)
    np.testing.assert_array_equal(first, 1.0)
    np.testing.assert_array_equal(second, 2.0)
    np.testing.assert_array_equal(code(1.0), 1.0)


def test_arrays_that_a_code_keeps_stay_as_they_were() -> None:
    kept: list[Any] = []

    def keeper(x: Any) -> Any:
        kept.append(x)
        return x * 2

    code = cpx.foreign(keeper, lambda x: x, memo=0)
    for k in range(20):
        np.asarray(code(jnp.full(1000, float(k))))
    assert all((x == x[0]).all() for x in kept)
    assert sorted({float(x[0]) for x in kept}) == [float(k) for k in range(20)]


@each_route
def test_inplace_codes_get_copies_of_their_own(run: Run) -> None:
    def doubling(x: Any) -> Any:
        x *= 2
        return x

    x = jnp.arange(3.0)
    with pytest.raises(Exception, match="read-only"):
        run(cpx.foreign(doubling, lambda x: x))(x)
    np.testing.assert_array_equal(
        run(cpx.foreign(doubling, lambda x: x, inplace=True))(x), 2 * np.arange(3.0)
    )
    np.testing.assert_array_equal(x, np.arange(3.0))


def test_one_lock_guards_a_code_that_is_not_thread_safe() -> None:
    inside: list[int] = []
    most: list[int] = []

    def slow(x: Any) -> Any:
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.002)
        inside.pop()
        return x * 1.0

    code = cpx.foreign(slow, jnp.float64, memo=0)
    threads = [threading.Thread(target=lambda k=k: code(float(k))) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1


def test_counts_and_points_of_a_thread_safe_code_are_kept_by_one_thread_at_a_time() -> None:
    code = cpx.foreign(lambda x: x * 2.0, jnp.float64, memo=3, thread_safe=True, name="many threads")
    code.tally.reset()

    def work(seed: int) -> bool:
        points = np.random.default_rng(seed).integers(0, 6, 300)
        return all(code(float(x)) == 2.0 * x for x in points)

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(work, range(8)))
    assert code.tally.values + code.tally.memo_hits == 8 * 300


def test_a_mapped_code_is_called_once_with_a_leading_axis_where_it_says_so() -> None:
    shapes: list[Any] = []

    def batched(x: Any) -> Any:
        shapes.append(np.shape(x))
        return np.sum(np.square(x), axis=-1)

    code = cpx.foreign(batched, jnp.float64, batched=True)
    np.testing.assert_array_equal(jax.vmap(code)(jnp.arange(6.0).reshape(2, 3)), [5.0, 50.0])
    assert shapes == [(2, 3)]
    shapes.clear()
    np.testing.assert_allclose(jax.grad(code)(jnp.ones(3)), 2.0, rtol=1e-6)
    assert shapes == [(3,), (3, 3)]


def test_a_component_reads_the_names_of_a_codes_arguments() -> None:
    component = cpx.component(cpx.foreign(wave, OUT), "z")
    assert [item.name for item in component.inputs] == ["x", "y"]


def test_the_host_side_sees_numpy_alone() -> None:
    seen: list[type] = []

    def looking(x: Any, y: Any) -> Any:
        seen.extend((type(x), type(y)))
        return x + y.sum()

    code = cpx.foreign(looking, jnp.float64)
    jax.jit(jax.value_and_grad(code))(1.0, jnp.ones(2))
    assert set(seen) == {np.float64, np.ndarray}
