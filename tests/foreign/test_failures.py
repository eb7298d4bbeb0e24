"""What goes wrong in a foreign code, and how it is said."""

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from foreign_codes import ROUTES


def touchy(x: Any) -> Any:
    if np.any(x > 1):
        raise ValueError("outside the table") from KeyError("row 7")
    return x * 2.0


def test_a_direct_call_raises_what_the_code_raised_with_its_cause_and_place() -> None:
    code = cpx.foreign(touchy, jnp.float64)
    with pytest.raises(ValueError, match="outside the table") as caught:
        code(2.0)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__notes__ == ["Raised by foreign code `touchy` at x=2.."]


def test_a_model_raises_what_the_code_raised_with_its_cause() -> None:
    model = cpx.Model(cpx.component(cpx.foreign(touchy, jnp.float64), "y"))
    for _ in range(2):  # compiled code reports a first failure otherwise than a later one
        with pytest.raises(ValueError, match="outside the table") as caught:
            model.run(x=2.0)
        assert isinstance(caught.value.__cause__, KeyError)
    assert model.run(x=0.5)["y"] == 1.0


def test_under_the_users_own_jit_the_message_says_all() -> None:
    program = jax.jit(cpx.foreign(touchy, jnp.float64, name="table"))
    for _ in range(2):
        with pytest.raises(Exception, match=r"(?s)`table` failed.*at x=2\..*in touchy.*outside the table"):
            program(2.0).block_until_ready()


def test_a_long_input_is_abbreviated_in_the_message() -> None:
    code = cpx.foreign(touchy, lambda x: x)
    with pytest.raises(ValueError, match="outside the table") as caught:
        code(np.arange(10_000.0))
    assert "..." in caught.value.__notes__[0]
    assert len(caught.value.__notes__[0]) < 200


@pytest.mark.parametrize("run", ROUTES.values(), ids=ROUTES.keys())
def test_a_failure_may_become_nan_and_is_counted(run: Any) -> None:
    code = cpx.foreign(lambda x: (touchy(x), 3), (jnp.float64, jnp.int64), on_failure="nan", name="nan code")
    code.tally.reset()
    value, count = run(code)(2.0)
    assert np.isnan(value)
    assert count == 0
    assert code.tally.failures == 1
    assert run(code)(0.5)[0] == 1.0


@pytest.mark.parametrize("kind", ["tangent", "adjoint"])
def test_a_failing_derivative_may_become_nan(kind: str) -> None:
    def failing(primals: Any, vectors: Any) -> Any:
        raise RuntimeError("no derivative today")

    options: dict[str, Any] = {kind: failing, "on_failure": "nan"}
    code = cpx.foreign(touchy, jnp.float64, **options)
    code.tally.reset()
    moved = jax.jvp(code, (0.5,), (1.0,))[1] if kind == "tangent" else jax.grad(code)(0.5)
    assert np.isnan(moved)
    assert code.tally.failures == 1


def test_infinities_and_nans_are_counted_by_output() -> None:
    def code_of(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return {"good": x, "bad": np.array([1.0, np.nan]) / x}

    out = {"good": jnp.float64, "bad": jax.ShapeDtypeStruct((2,), np.float64)}
    code = cpx.foreign(code_of, out)
    code.tally.reset()
    code(1.0)
    code(0.0)
    assert code.tally.nonfinite == {"['bad']": 2}


WRONG = {
    "none": (lambda x: None, "returned None, and declares float64[]"),
    "shape": (lambda x: np.ones(3), "returned float64[3], and declares float64[]"),
    "tuple": (lambda x: (x, x), "returned (float64[], float64[]), and declares float64[]"),
    "complex": (lambda x: x * 1j, "returned complex128[], and declares float64[]"),
    "text": (lambda x: "three", "declares float64[]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_result_names_the_code_what_came_and_what_was_declared(case: str) -> None:
    fn, said = WRONG[case]
    with pytest.raises(cpx.ForeignError) as caught:
        cpx.foreign(fn, jnp.float64, name="box")(1.0)
    assert "`box`" in str(caught.value)
    assert said in str(caught.value)
    assert "correct `out=`" in str(caught.value)


def test_a_dict_is_matched_by_name_and_never_by_position() -> None:
    out = {"b": jnp.float64, "a": jnp.float64}
    code = cpx.foreign(lambda x: {"a": x, "b": 2 * x}, out)
    assert code(1.0) == {"a": 1.0, "b": 2.0}
    with pytest.raises(
        cpx.ForeignError, match=r"returned \{a: float64\[\], c: float64\[\]\}, and declares \{a:"
    ):
        cpx.foreign(lambda x: {"a": x, "c": 2 * x}, out)(1.0)
    with pytest.raises(cpx.ForeignError, match=r"declares \(float64"):
        cpx.foreign(lambda x: {"a": x, "b": x}, (jnp.float64, jnp.float64))(1.0)


def test_the_one_wrong_output_of_several_is_named() -> None:
    code = cpx.foreign(lambda x: {"a": x, "b": np.ones(2)}, {"a": jnp.float64, "b": jnp.float64}, name="box")
    with pytest.raises(cpx.ForeignError, match=r"`box` returned float64\[2\] as \['b'\]"):
        code(1.0)


def test_double_precision_without_x64_is_refused() -> None:
    with (
        jax.enable_x64(False),
        pytest.raises(cpx.ForeignError, match=r"`box`.*float64\[\].*jax_enable_x64.*32-bit"),
    ):
        cpx.foreign(lambda x: x, jnp.float64, name="box")(1.0)


def test_single_precision_that_was_asked_for_is_rounded_to() -> None:
    with jax.enable_x64(False):
        came = cpx.foreign(lambda x: np.float64(0.1), jnp.float32)(1.0)
    assert came.dtype == jnp.float32
    assert came == np.float32(0.1)


def test_a_wrong_tangent_or_adjoint_is_named() -> None:
    code = cpx.foreign(touchy, jnp.float64, tangent=lambda p, t: np.ones(3), name="box")
    with pytest.raises(cpx.ForeignError, match=r"`box \(tangent\)` returned float64\[3\]"):
        jax.jvp(code, (0.5,), (1.0,))
    code = cpx.foreign(touchy, jnp.float64, adjoint=lambda p, w: w, name="box")
    with pytest.raises(
        cpx.ForeignError, match=r"`box \(adjoint\)` returned float64\[\], and declares \(float64"
    ):
        jax.grad(code)(0.5)


def test_an_unused_outputs_nan_does_not_spoil_the_gradient() -> None:
    def code_of(x: Any) -> Any:
        return x**2, np.float64(np.nan) * x

    code = cpx.foreign(code_of, (jnp.float64, jnp.float64))
    np.testing.assert_allclose(jax.grad(lambda x: code(x)[0])(1.5), 3.0, rtol=1e-6)


def square_sum(x: Any) -> Any:
    return np.sum(x**2)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor], ids=["threads", "processes"])
def test_a_sweep_runs_on_an_executor(pool: Any) -> None:
    context: dict[str, Any] = {}
    if pool is ProcessPoolExecutor:
        import multiprocessing

        context["mp_context"] = multiprocessing.get_context("spawn")
    with pool(2, **context) as executor:
        code = cpx.foreign(square_sum, jnp.float64, executor=executor)
        code.tally.reset()
        np.testing.assert_allclose(jax.grad(code)(jnp.arange(4.0)), 2 * np.arange(4.0), atol=1e-6)
        assert code.tally.probes == 4


def test_the_probes_of_a_sweep_run_side_by_side() -> None:
    import threading

    barrier = threading.Barrier(4, timeout=20)

    def waiting(x: Any) -> Any:
        if x.sum() != 6.0:
            barrier.wait()  # passes only where four probes are in here at once
        return np.sum(x**2)

    with ThreadPoolExecutor(4) as executor:
        threads: Executor = executor
        code = cpx.foreign(waiting, jnp.float64, executor=threads)
        np.testing.assert_allclose(jax.jit(jax.grad(code))(jnp.arange(4.0)), 2 * np.arange(4.0), atol=1e-6)


def test_a_failing_tangent_of_a_code_with_integer_outputs_may_become_nan() -> None:
    def failing(primals: Any, vectors: Any) -> Any:
        raise RuntimeError("no derivative today")

    out = (jnp.float64, jnp.int64)
    code = cpx.foreign(lambda x: (x * 2.0, 3), out, tangent=failing, on_failure="nan", name="counted")
    assert np.isnan(jax.jvp(lambda x: code(x)[0], (0.5,), (1.0,))[1])
