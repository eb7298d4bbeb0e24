"""`to_stablehlo` and `from_stablehlo`: the same numbers from bytes, where there is nothing but JAX."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.export
import jax.numpy as jnp
import lineax
import numpy as np
import pytest

import couplax as cpx
from couplax._errors import ExportError, MissingRuleError, StageError
from couplax.cli._sellar import d2_jax, sellar
from couplax.export import from_stablehlo, to_stablehlo


def decay(y0: Any) -> Any:
    """Returns y(1) of dy/dt = -y by Euler's method with steps of 0.1."""
    term = diffrax.ODETerm(lambda t, y, args: -y)
    solution = diffrax.diffeqsolve(term, diffrax.Euler(), t0=0.0, t1=1.0, dt0=0.1, y0=y0)
    return jnp.asarray(solution.ys)[0]


def lorenz(state: Any) -> Any:
    """Returns where a Lorenz system is after a tenth of a second, by adaptive steps."""
    term = diffrax.ODETerm(
        lambda t, y, args: jnp.stack(
            [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]
        )
    )
    controller = diffrax.PIDController(rtol=1e-8, atol=1e-8)
    solution = diffrax.diffeqsolve(
        term, diffrax.Tsit5(), t0=0.0, t1=0.1, dt0=0.01, y0=state, stepsize_controller=controller
    )
    return jnp.asarray(solution.ys)[0]


def closed_sellar() -> Any:
    model = sellar(cpx.component(d2_jax, "y_2", name="d2"))
    return model.function(("z_1", "z_2", "x_1"), ("y_1", "y_2", "f"), guess={"y_2": 1.0})


def in_a_fresh_process(code: str, *arguments: str) -> list[float]:
    """Returns the numbers that `code` prints where only JAX and the bytes are."""
    setup = "import jax, sys\njax.config.update('jax_enable_x64', True)\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def test_an_euler_solve_gives_the_published_number_in_single_precision() -> None:
    with jax.enable_x64(False):
        came = from_stablehlo(to_stablehlo(decay, 1.0))(100.0)
    assert came.dtype == np.float32
    np.testing.assert_allclose(came, 34.867847, rtol=1e-6)


def test_an_adaptive_solve_gives_the_numbers_of_jax() -> None:
    state = jnp.array([1.0, 1.0, 20.0])
    came = from_stablehlo(to_stablehlo(lorenz, jax.ShapeDtypeStruct((3,), jnp.float64)))(state)
    # The step controller decides by the same numbers, so no more than rounding parts the two.
    np.testing.assert_allclose(came, lorenz(state), rtol=1e-10)


def test_a_closed_model_and_its_gradient_come_back_in_a_process_without_couplax(tmp_path: Path) -> None:
    path = tmp_path / "sellar.bin"
    path.write_bytes(to_stablehlo(closed_sellar(), 1.0, 2.0, 1.0, gradients=True))
    code = (
        "import jax.export\n"
        "f = jax.export.deserialize(bytearray(open(sys.argv[1], 'rb').read())).call\n"
        "print(*f(1.0, 2.0, 1.0), *jax.grad(lambda *a: f(*a)[2], argnums=(0, 1, 2))(1.0, 2.0, 1.0))\n"
        "assert 'couplax' not in sys.modules"
    )
    came = in_a_fresh_process(code, str(path))
    values = [3.0506762937470167, 4.746618531264915, 6.059357293905945]
    slopes = [1.689612612212272, 1.746116160894939, 2.9434964513173334]
    np.testing.assert_allclose(came, [*values, *slopes], rtol=1e-9)


def test_a_fresh_process_reads_the_bytes_by_couplax(tmp_path: Path) -> None:
    path = tmp_path / "decay.bin"
    path.write_bytes(to_stablehlo(decay, 1.0))
    code = "import couplax\nprint(couplax.from_stablehlo(open(sys.argv[1], 'rb').read())(100.0))"
    assert in_a_fresh_process(code, str(path)) == [pytest.approx(100 * 0.9**10, rel=1e-14)]


def test_what_is_read_works_under_the_transformations_of_jax() -> None:
    f = from_stablehlo(to_stablehlo(lambda x, n: jnp.sin(x) * n, 1.0, 2, gradients=True))
    assert jax.jit(f)(0.5, 3) == pytest.approx(3 * np.sin(0.5), rel=1e-15)
    assert jax.grad(f)(0.5, 3) == pytest.approx(3 * np.cos(0.5), rel=1e-15)


def test_pytrees_go_in_and_come_out() -> None:
    def fn(state: Any, count: Any) -> Any:
        return {"sum": state["x"] + state["v"][0], "more": (count + 1, state["v"][0] > 0)}

    came = from_stablehlo(to_stablehlo(fn, {"x": 1.0, "v": (2.0,)}, 3))({"x": 5.0, "v": (6.0,)}, 7)
    assert came == {"sum": 11.0, "more": (8, True)}


def test_one_file_runs_on_several_platforms() -> None:
    read = from_stablehlo(to_stablehlo(decay, 1.0, platforms=("cpu", "cuda", "tpu")))
    assert read.platforms == ("cpu", "cuda", "tpu")
    np.testing.assert_allclose(read(100.0), 100 * 0.9**10, rtol=1e-14)


def test_symbolic_sizes_stay_open() -> None:
    (batch,) = jax.export.symbolic_shape("batch")
    read = from_stablehlo(
        to_stablehlo(lambda x: jnp.sin(x).sum(1), jax.ShapeDtypeStruct((batch, 2), jnp.float64))
    )
    for size in (1, 5):
        x = np.linspace(0, 1, 2 * size).reshape(size, 2)
        np.testing.assert_allclose(read(x), np.sin(x).sum(1), rtol=1e-15)


def test_the_bytes_are_the_same_every_time() -> None:
    first, second = (to_stablehlo(decay, 1.0) for _ in range(2))
    assert first == second


def test_a_run_time_check_becomes_nan_or_is_dropped() -> None:
    def checked(x: Any) -> Any:
        return jnp.sqrt(eqx.error_if(x, x < 0, "negative"))

    assert np.isnan(from_stablehlo(to_stablehlo(checked, 1.0))(-1.0))
    assert from_stablehlo(to_stablehlo(lambda x: eqx.error_if(x, x < 0, "negative"), 1.0))(4.0) == 4.0
    read = from_stablehlo(to_stablehlo(lambda x: eqx.error_if(x, x < 0, "negative"), 1.0, failures="ignore"))
    assert read(-1.0) == -1.0
    assert "custom_call" not in read.text


# Nonsymmetric, well conditioned; its Gram matrix is positive definite.
MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.1, 0.3, 2.0]])

FACTORISED = {
    "solve": lambda a: jnp.linalg.solve(a, a[0]),
    "solve_transposed": lambda a: jnp.linalg.solve(a.T, a),
    "determinant": lambda a: jnp.linalg.slogdet(a)[1],
    "cholesky": lambda a: jnp.linalg.cholesky(a @ a.T),
    "triangular": lambda a: jax.scipy.linalg.solve_triangular(jnp.tril(a), a[1], lower=True),
    "batched": lambda a: jax.vmap(jnp.linalg.solve)(jnp.stack([a, a.T]), jnp.stack([a[0], a[1]])),
    "in_a_loop": lambda a: jax.lax.fori_loop(0, 3, lambda _, x: jnp.linalg.solve(a, x), a[0]),
}


@pytest.mark.parametrize("name", FACTORISED)
def test_a_portable_file_calls_no_library_and_gives_the_same_numbers(name: str) -> None:
    fn = FACTORISED[name]
    assert "custom_call" in from_stablehlo(to_stablehlo(fn, MATRIX)).text
    read = from_stablehlo(to_stablehlo(fn, MATRIX, portable=True))
    assert "custom_call" not in read.text
    # A few eliminations in another order than LAPACK's, of a matrix with a condition number below 10.
    np.testing.assert_allclose(read(MATRIX), fn(MATRIX), rtol=1e-13, atol=1e-14)


def test_a_call_that_may_not_be_written_is_written_out_whatever_was_asked_for(rng: Any) -> None:
    a, b = rng.standard_normal((4, 3)), rng.standard_normal(4)

    def fn(a: Any, b: Any) -> Any:
        operator = lineax.MatrixLinearOperator(a)
        return lineax.linear_solve(operator, b, lineax.QR()).value

    came = from_stablehlo(to_stablehlo(fn, a, b))(a, b)
    np.testing.assert_allclose(came, np.linalg.lstsq(a, b)[0], rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_a_portable_qr_is_a_factorisation(shape: tuple[int, int], mode: Any, rng: Any) -> None:
    a = rng.standard_normal(shape)
    read = from_stablehlo(to_stablehlo(lambda x: tuple(jnp.linalg.qr(x, mode)), a, portable=True))
    q, r = read(a)
    wanted = np.linalg.qr(a, mode)
    assert (q.shape, r.shape) == (wanted[0].shape, wanted[1].shape)
    np.testing.assert_allclose(q @ r, a, atol=1e-14)
    np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), atol=1e-14)
    np.testing.assert_allclose(np.tril(r, -1), 0, atol=0)


def test_a_library_call_that_nothing_stands_for_is_named_with_its_place() -> None:
    with pytest.raises(
        MissingRuleError, match=r"`schur` on \(float64\[3,3\]\), reached at test_stablehlo.py"
    ):
        to_stablehlo(lambda a: jax.scipy.linalg.schur(a)[0], MATRIX, portable=True)


def test_failures_that_are_unknown_are_refused() -> None:
    with pytest.raises(StageError, match=r"failures='raise' is not known\. Choose one of `nan`"):
        to_stablehlo(decay, 1.0, failures="raise")


def test_an_operation_that_a_platform_lacks_is_refused() -> None:
    with pytest.raises(ExportError, match=r"JAX cannot lower the function for `tpu`: (.|\n)*schur"):
        to_stablehlo(lambda a: jax.scipy.linalg.schur(a)[0], MATRIX, platforms=["tpu"])


def test_foreign_code_is_refused_by_name() -> None:
    box = cpx.foreign(np.sin, jnp.float64, name="box")
    with pytest.raises(MissingRuleError, match=r"Foreign code `box`, .* cannot go into StableHLO.\nPair it"):
        to_stablehlo(lambda x: box(x) + 1, 1.0)


def test_a_pair_goes_out_as_its_reference() -> None:
    box = cpx.paired(cpx.foreign(np.sin, jnp.float64), jnp.sin)
    read = from_stablehlo(to_stablehlo(box, 1.0, gradients=True))
    assert (read(0.5), jax.grad(read)(0.5)) == (pytest.approx(np.sin(0.5)), pytest.approx(np.cos(0.5)))


def test_a_callback_is_refused_with_its_place() -> None:
    def fn(x: Any) -> Any:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), jnp.float64), x)

    with pytest.raises(ExportError, match=r"`pure_callback`, reached at test_stablehlo.py:\d+ \(fn\), calls"):
        to_stablehlo(fn, 1.0)


def test_a_gradient_that_there_is_none_of_is_refused() -> None:
    def fn(x: Any) -> Any:
        return jax.lax.while_loop(lambda y: y < 10, lambda y: y * 2, x)

    assert from_stablehlo(to_stablehlo(fn, 1.0))(3.0) == 12.0
    with pytest.raises(ExportError, match="`gradients=True` asks for the gradient"):
        to_stablehlo(fn, 1.0, gradients=True)


@pytest.mark.parametrize("platforms", [(), ("cpu", "gpu")])
def test_platforms_that_jax_does_not_know_are_refused(platforms: tuple[str, ...]) -> None:
    with pytest.raises(ExportError, match="JAX lowers for `cpu`, `cuda`, `rocm`, `tpu`"):
        to_stablehlo(decay, 1.0, platforms=platforms)


def test_a_function_that_returns_nothing_is_refused() -> None:
    with pytest.raises(ExportError, match="returns no array, and StableHLO has an output"):
        to_stablehlo(lambda x: (), 1.0)


def test_a_structure_that_cannot_be_written_is_refused() -> None:
    class Parameters(eqx.Module):
        weight: Any

    with pytest.raises(ExportError, match="take and return tuples and dicts"):
        to_stablehlo(lambda p: p.weight * 2, Parameters(weight=jnp.ones(2)))


@pytest.mark.parametrize("blob", [b"", b"abc", b"abcd" * 100])
def test_bytes_that_are_something_else_are_refused(blob: bytes) -> None:
    with pytest.raises(ExportError, match=f"These {len(blob)} bytes are no StableHLO"):
        from_stablehlo(blob)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (({"x": np.ones(2)}, 2.5), r"takes `args\[1\]` as int64\[\], not as float64\[\]"),
        (({"x": np.ones(3)}, 1), r"takes `args\[0\]\['x'\]` as float64\[2\], not as float64\[3\]"),
        (({"x": np.ones(2, np.float32)}, 1), r"not as float32\[2\]"),
        ((np.ones(2), 1), "takes arguments structured as"),
    ],
)
def test_arguments_that_do_not_fit_are_told_by_their_place(args: Any, words: str) -> None:
    read = from_stablehlo(to_stablehlo(lambda p, n: p["x"] * n, {"x": np.ones(2)}, 3))
    with pytest.raises(ExportError, match=words):
        read(*args)


def test_double_precision_where_jax_has_single_is_told() -> None:
    blob = to_stablehlo(decay, 1.0)
    with jax.enable_x64(False), pytest.raises(ExportError, match="jax_enable_x64"):
        from_stablehlo(blob)(1.0)


def test_what_is_read_prints_its_types() -> None:
    read = from_stablehlo(to_stablehlo(lambda x, n: x * n, np.ones(3, np.float32), 2, platforms=["cpu"]))
    assert repr(read) == "<StableHLO for cpu: (float32[3], int64[]) -> (float32[3])>"
    assert [struct.shape for struct in (*read.inputs, *read.outputs)] == [(3,), (), (3,)]
    assert "stablehlo.multiply" in read.text
    assert read.module.startswith(b"ML")
