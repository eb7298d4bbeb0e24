"""Every route from a program to the host: the same values, failures and guards on each."""

import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.foreign import _extension
from couplax.foreign._extension import extension
from couplax.foreign._route import lowering, route

Route = Literal["compiled", "callback"]
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(params=["compiled", "callback"])
def fastest(request: pytest.FixtureRequest) -> Route:
    if request.param == "compiled" and extension() is None:
        pytest.skip("couplax was built without its compiled route")
    return request.param


def compiled(fastest: Route, fn: Callable[..., Any], *args: Any) -> Any:
    """Returns `fn`, compiled for `args` on that route."""
    with route(fastest):
        return jax.jit(lambda *a: fn(*a)).lower(*args).compile()


DTYPES = [
    "bool",
    "int8",
    "int32",
    "int64",
    "uint8",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex128",
]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_of_every_dtype_and_shape_come_back_as_they_went(
    fastest: Route, dtype: str, shape: tuple[int, ...]
) -> None:
    x = jnp.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 + 1, dtype)
    seen: list[tuple[str, tuple[int, ...]]] = []

    def twice(a: Any) -> tuple[Any, Any]:
        seen.append((a.dtype.name, a.shape))
        return a, a

    code = cpx.foreign(twice, out=(jax.ShapeDtypeStruct(shape, dtype), jax.ShapeDtypeStruct(shape, dtype)))
    first, second = compiled(fastest, code, x)(x)
    # XLA drops calls all of whose results are empty.
    assert seen == ([(x.dtype.name, shape)] if x.size else [])
    np.testing.assert_array_equal(first, x)
    np.testing.assert_array_equal(second, x)


def test_arrays_that_are_not_contiguous_are_written_as_they_read(fastest: Route) -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    code = cpx.foreign(lambda a: a.T[::-1], out=jax.ShapeDtypeStruct((3, 2), jnp.float64))
    np.testing.assert_array_equal(compiled(fastest, code, x)(x), np.arange(6.0).reshape(2, 3).T[::-1])


def test_a_python_number_and_a_narrower_dtype_are_returned_as_declared(fastest: Route) -> None:
    code = cpx.foreign(lambda a: (2.5, np.float32(a)), out=(jnp.float64, jnp.float64))
    assert [float(part) for part in compiled(fastest, code, 1.0)(1.0)] == [2.5, 1.0]


def test_equal_calls_are_one_call(fastest: Route) -> None:
    code = cpx.foreign(lambda x: x * x, out=jnp.float64, memo=0, name=f"squared by {fastest}")
    code.tally.reset()
    assert compiled(fastest, lambda x: code(x) + code(x), 3.0)(3.0) == 18.0
    assert code.tally.values == 1


def test_a_failure_says_the_code_the_inputs_and_where_it_was_raised(fastest: Route) -> None:
    def broken(x: float) -> float:
        raise ValueError(f"no value at {x}")

    program = compiled(fastest, cpx.foreign(broken, out=jnp.float64), 2.0)
    with pytest.raises(Exception, match=r"no value at 2\.0") as caught:
        program(2.0)
    assert "`broken`" in str(caught.value)
    assert "in broken" in str(caught.value)


def test_a_program_runs_again_after_a_failure(fastest: Route) -> None:
    def picky(x: float) -> float:
        if x < 0:
            raise ValueError("negative")
        return x + 1

    program = compiled(fastest, cpx.foreign(picky, out=jnp.float64), 1.0)
    for _ in range(3):
        with pytest.raises(Exception, match="negative"):
            program(-1.0)
        assert program(1.0) == 2.0


def test_a_wrong_shape_names_the_code_and_both_shapes(fastest: Route) -> None:
    code = cpx.foreign(lambda x: np.zeros(3), out=jnp.float64, name="threefold")
    program = compiled(fastest, code, 1.0)
    with pytest.raises(Exception, match=r"`threefold` returned float64\[3\], and declares float64\[\]"):
        program(1.0)


def test_an_array_that_a_code_keeps_stays_what_it_was_on_the_callback_route() -> None:
    kept: list[Any] = []

    def keeper(x: Any) -> Any:
        kept.append(x)
        return x + 1

    x = jnp.arange(1000.0)
    code = cpx.foreign(keeper, out=jax.ShapeDtypeStruct(x.shape, x.dtype))
    program = compiled("callback", lambda x: jax.lax.fori_loop(0, 5, lambda _, c: code(c), x), x)
    program(x)
    assert [array[0] for array in kept] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_code_that_keeps_an_array_is_told_so_on_the_compiled_route() -> None:
    if extension() is None:
        pytest.skip("couplax was built without its compiled route")
    kept: list[Any] = []
    x = jnp.arange(1000.0)
    code = cpx.foreign(
        lambda x: kept.append(x) or x + 1, out=jax.ShapeDtypeStruct(x.shape, x.dtype), name="k"
    )
    with pytest.raises(Exception, match=r"`k` kept one of the arrays.*keep a copy"):
        compiled("compiled", code, x)(x)
    np.testing.assert_array_equal(kept[0], x)


def bare(call: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what the compiled route makes of `call`, with no host in between."""
    module = extension()
    if module is None:
        pytest.skip("couplax was built without its compiled route")

    def keep() -> Exception:
        return cpx.ForeignError("kept")

    float64 = np.dtype(float)
    target = module.Callback(call, (float64,), (float64,), str, keep)
    attributes = {"index": np.uint64(target.index), "mark": np.uint64(module.mark)}

    def run(x: Any) -> Any:
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.ffi.ffi_call(_extension.PYTHON_TARGET, out)(x, **attributes)

    run.target = target  # pyright: ignore[reportFunctionMemberAccess]  # lives as long as the function
    return jax.jit(run)


@pytest.mark.parametrize("keep", [lambda x: x, lambda x: x[2:], memoryview, lambda x: x.T])
def test_a_view_of_xlas_memory_that_is_kept_is_an_error(keep: Callable[[Any], Any]) -> None:
    kept: list[Any] = []

    def keeper(x: Any) -> tuple[Any]:
        kept.append(keep(x))
        return (x + 1,)

    with pytest.raises(Exception, match="kept"):
        bare(keeper)(jnp.arange(8.0)).block_until_ready()


def test_an_array_that_was_kept_has_memory_of_its_own_after_the_error() -> None:
    kept: list[Any] = []

    def keeper(x: Any) -> tuple[Any]:
        kept.append(x)
        raise ValueError("after keeping")

    with pytest.raises(Exception, match="after keeping"):
        bare(keeper)(jnp.arange(1000.0)).block_until_ready()
    gc.collect()
    np.testing.assert_array_equal(kept[0], np.arange(1000.0))


def test_a_cycle_of_garbage_that_holds_an_array_is_no_kept_reference() -> None:
    def cyclic(x: Any) -> tuple[Any]:
        cycle: list[Any] = [x]
        cycle.append(cycle)
        return (x + 1,)

    np.testing.assert_array_equal(bare(cyclic)(jnp.zeros(3)), np.ones(3))


def test_views_of_xlas_memory_are_read_only() -> None:
    def writer(x: Any) -> tuple[Any]:
        x[0] = 1.0
        return (x,)

    with pytest.raises(Exception, match="read-only"):
        bare(writer)(jnp.zeros(3)).block_until_ready()


@pytest.mark.parametrize("result", [(), (1.0, 2.0), None, "text"])
def test_a_result_of_another_form_is_an_error_of_the_program(result: Any) -> None:
    with pytest.raises(jax.errors.JaxRuntimeError):
        bare(lambda x: result)(jnp.float64(1.0)).block_until_ready()


def test_a_target_of_another_process_is_refused() -> None:
    run = bare(lambda x: (x,))
    assert run(jnp.float64(2.0)) == 2.0
    attributes = {"index": np.uint64(0), "mark": np.uint64(12345)}
    out = jax.ShapeDtypeStruct((), jnp.float64)
    foreigner = jax.jit(lambda x: jax.ffi.ffi_call(_extension.PYTHON_TARGET, out)(x, **attributes))
    with pytest.raises(jax.errors.JaxRuntimeError, match="another process"):
        foreigner(1.0)


def test_a_program_keeps_its_code_and_lets_it_go(fastest: Route) -> None:
    class Doubler:
        def __call__(self, x: float) -> float:
            return 2 * x

    doubler = Doubler()
    alive = weakref.ref(doubler)
    program = compiled(fastest, cpx.foreign(doubler, out=jnp.float64), 1.0)
    del doubler
    gc.collect()
    assert program(3.0) == 6.0
    del program
    jax.clear_caches()
    gc.collect()
    assert alive() is None


def test_many_threads_run_one_program_and_the_code_meets_one_at_a_time(fastest: Route) -> None:
    inside, most = 0, 0

    def crowded(x: float) -> float:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(1e-3)
        inside -= 1
        return x + 1

    program = compiled(fastest, cpx.foreign(crowded, out=jnp.float64, memo=0), 0.0)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda k: float(program(float(k))), range(40)))
    assert results == [k + 1.0 for k in range(40)]
    assert most == 1


def test_a_thread_state_is_kept_between_calls_on_a_thread_that_python_did_not_start(fastest: Route) -> None:
    seen = threading.local()
    first: list[bool] = []

    def remembering(x: float) -> float:
        first.append(not hasattr(seen, "here"))
        seen.here = True
        return x + 1

    code = cpx.foreign(remembering, out=jnp.float64, memo=0)
    loop = compiled(fastest, lambda x: jax.lax.fori_loop(0, 10, lambda _, c: code(c), x), 0.0)
    assert loop(0.0) == 10.0
    if fastest == "compiled":
        assert sum(first) == 1


def test_a_lowering_without_the_extension_takes_the_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["couplax.foreign._route"], "extension", lambda: None)
    code = cpx.foreign(lambda x: x + 1, out=jnp.float64, name="without the extension")
    assert "couplax_python" not in jax.jit(lambda x: code(x)).lower(1.0).as_text()
    assert jax.jit(lambda x: code(x))(1.0) == 2.0


def test_the_fastest_route_is_taken_by_itself() -> None:
    if extension() is None:
        pytest.skip("couplax was built without its compiled route")
    code = cpx.foreign(lambda x: x + 1, out=jnp.float64, name="by itself")
    assert "couplax_python" in jax.jit(lambda x: code(x)).lower(1.0).as_text()


def test_a_lowering_rule_lowers_for_a_platform_without_the_extension() -> None:
    assert callable(lowering(lambda arrays, **params: arrays))


PROGRAM = """
import sys, threading, time
import jax, jax.numpy as jnp
import couplax as cpx
from couplax.foreign._route import route

def slow(x):
    print("inside", flush=True)
    time.sleep(0.3)
    return x + 1

code = cpx.foreign(slow, out=jnp.float32, memo=0)
with route(sys.argv[1]):
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 1000, lambda _, c: code(c), x)).lower(0.0).compile()
"""

LEAVING = """
threading.Thread(target=lambda: loop(0.0), daemon=True).start()
time.sleep(0.4)
print("leaving", flush=True)
"""

INTERRUPTED = """
try:
    loop(0.0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
except jax.errors.JaxRuntimeError as error:
    print("interrupted" if "KeyboardInterrupt" in str(error) else error, flush=True)
"""


def started(fastest: Route, ending: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM + ending), fastest],
        env={"PYTHONPATH": str(SOURCE), "JAX_PLATFORMS": "cpu", "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_process_that_exits_while_a_code_is_running_ends_well(fastest: Route) -> None:
    process = started(fastest, LEAVING)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "leaving" in output
    assert output.count("inside") < 10


def test_ctrl_c_ends_a_program_that_is_in_a_code(fastest: Route) -> None:
    process = started(fastest, INTERRUPTED)
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert "interrupted" in output, errors
    assert output.count("inside") < 10
