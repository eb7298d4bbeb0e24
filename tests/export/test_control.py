"""Branches and loops, alone and inside each other: exported, run in ONNX Runtime, compared with JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest
from jax import lax

from couplax.export import to_onnx


def run(proto: onnx.ModelProto, *args: Any) -> list[np.ndarray]:
    """Returns what ONNX Runtime gives for `args`."""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    return [
        np.asarray(out) for out in session.run(None, dict(zip(names, map(np.asarray, args), strict=True)))
    ]


def operators(graph: onnx.GraphProto) -> list[str]:
    """Returns the operators of a graph and of those inside it."""
    inner = [a.g for node in graph.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return [node.op_type for node in graph.node] + [op for each in inner for op in operators(each)]


def agree(fn: Callable[..., Any], example: tuple[Any, ...], *trials: tuple[Any, ...]) -> onnx.ModelProto:
    """Returns the file of `fn` at `example`, compared with JAX there and at `trials`, to rounding."""
    proto = to_onnx(fn, *example)
    for args in (example, *trials):
        wanted = jax.tree.leaves(jax.jit(fn)(*args))
        for came, want in zip(run(proto, *jax.tree.leaves(args)), wanted, strict=True):
            np.testing.assert_allclose(came, want, rtol=1e-13, atol=1e-13)
            assert came.dtype == want.dtype
    return proto


def test_a_cond_takes_the_branch_that_jax_takes() -> None:
    def fn(x: Any) -> Any:
        return lax.cond(x > 0, lambda y: (y, jnp.sin(y)), lambda y: (-y, y), x)

    proto = agree(fn, (1.0,), (-2.0,), (0.0,), (np.nan,))
    assert operators(proto.graph).count("If") == 1
    assert "Cast" not in operators(proto.graph)


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 3, 99])
def test_a_switch_clamps_its_index(index: int) -> None:
    branches = [jnp.sin, jnp.cos, lambda x: x * x, lambda x: x]
    agree(lambda k, x: lax.switch(k, branches, x), (np.int32(0), 0.3), (np.int32(index), 0.3))


def test_a_branch_may_return_what_lies_outside_and_the_same_value_twice() -> None:
    def fn(x: Any, y: Any) -> Any:
        z = x * y
        return lax.cond(x > 0, lambda: (z, z, y), lambda: (y, x, 2.0))

    agree(fn, (1.0, 2.0), (-1.0, 2.0))


def test_a_while_loop_runs_as_long_as_in_jax_zero_trips_included() -> None:
    def fn(x: Any, limit: Any) -> Any:
        return lax.while_loop(lambda c: c[1] < limit, lambda c: (c[0] * 1.5 + limit, c[1] + c[0]), (x, x))

    agree(fn, (1.0, 50.0), (3.0, 1.0), (0.5, 1e3))


def test_a_loop_passes_on_carries_and_gives_one_value_twice() -> None:
    def fn(x: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < 9, lambda c: (c[1] + 1, c[0], c[0], c[3]), (x, x, x, -x))

    agree(fn, (1.0,), (20.0,))


def test_a_scan_carries_stacks_and_reads_constants() -> None:
    def fn(x: Any, table: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return carry * x + row.sum(), (carry, row * 2)

        return lax.scan(step, x, table)

    proto = agree(fn, (0.5, np.linspace(0.0, 1.0, 600).reshape(200, 3)))
    assert operators(proto.graph).count("Scan") == 1


@pytest.mark.parametrize("length", [0, 1, 5, 300])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_runs_backwards_and_over_any_length(length: int, reverse: bool) -> None:
    def fn(x: Any, rows: Any) -> Any:
        return lax.scan(lambda c, row: (c * 0.9 + row, c + row), x, rows, reverse=reverse)

    agree(fn, (1.0, np.linspace(0.0, 1.0, length)))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_over_nothing_repeats(reverse: bool) -> None:
    def fn(x: Any) -> Any:
        return lax.scan(lambda c, _: (c * 1.1 + jnp.sin(c), c), x, None, length=200, reverse=reverse)

    proto = agree(fn, (1.0,))
    assert operators(proto.graph).count("Loop") == 1


def test_a_loop_to_a_bound_that_is_an_input() -> None:
    agree(
        lambda n, x: lax.fori_loop(0, n, lambda i, c: c + x / (i + 1), x),
        (np.int32(3), 1.0),
        (np.int32(0), 1.0),
        (np.int32(40), 2.0),
    )


def test_loops_and_branches_inside_each_other() -> None:
    def inner(total: Any, row: Any) -> Any:
        grown = lax.while_loop(lambda c: c < total + 1, lambda c: c + jnp.abs(row).sum() + 0.1, total)
        return lax.cond(row[0] > 0, lambda: (grown, row), lambda: (total, -row))

    def fn(x: Any, rows: Any) -> Any:
        total, out = lax.scan(inner, x, rows)
        return lax.cond(
            total > 3, lambda: lax.fori_loop(0, out.shape[0], lambda i, c: c + out[i].sum(), total), lambda: x
        )

    agree(fn, (0.3, np.array([[0.5, -1.0], [-2.0, 0.25], [1.0, 1.0]])), (9.0, -np.ones((3, 2))))


def test_newton_finds_the_cube_root() -> None:
    def root(a: Any) -> Any:
        def go_on(state: Any) -> Any:
            x, step = state
            return jnp.abs(step) > 1e-14 * jnp.abs(x)

        def improve(state: Any) -> Any:
            x, _ = state
            step = (x**3 - a) / (3 * x**2)
            return x - step, step

        return lax.while_loop(go_on, improve, (a, a))[0]

    proto = to_onnx(root, 2.0)
    np.testing.assert_allclose(run(proto, np.float64(27.0))[0], 3.0, rtol=1e-15)
    assert operators(proto.graph).count("Loop") == 1


def test_constants_are_in_the_file_once() -> None:
    table = np.linspace(0.0, 1.0, 7)

    def fn(x: Any) -> Any:
        return lax.fori_loop(0, 300, lambda i, c: jnp.sin(c) * table + table, x) + table

    proto = agree(fn, (np.ones(7),))
    assert sum(list(initializer.dims) == [7] for initializer in proto.graph.initializer) == 1
