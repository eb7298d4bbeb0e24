"""`to_tensorflow`: the numbers of JAX where there is TensorFlow alone."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax._errors import ExportError, MissingExtraError, MissingRuleError
from couplax.cli._sellar import d2_jax, sellar
from couplax.export import _extra as extra
from couplax.export import save_tensorflow, to_tensorflow

tf: Any = pytest.importorskip("tensorflow", reason="the extra `tensorflow` is not installed")

SELLAR = (1.0, 2.0, 1.0)
VALUES = {"y_1": 3.0506762937470167, "y_2": 4.746618531264915, "f": 6.059357293905945}
SLOPES = (1.689612612212272, 1.746116160894939, 2.9434964513173334)


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
    return model.function(("z_1", "z_2", "x_1"), tuple(VALUES), guess={"y_2": 1.0})


def slopes(fn: Any, *values: Any) -> list[float]:
    """Returns TensorFlow's gradient of `fn` at `values`."""
    variables = [tf.Variable(value, dtype=tf.float64) for value in values]
    with tf.GradientTape() as tape:
        result = fn(*variables)
    return [float(slope) for slope in tape.gradient(result, variables)]


def without_jax(code: str, *arguments: Any) -> list[float]:
    """Returns the numbers that `code` prints where there is TensorFlow and no JAX."""
    setup = (
        "import sys\n"
        "sys.modules['jax'] = sys.modules['jaxlib'] = sys.modules['couplax'] = None\n"
        "import tensorflow as tf\n"
        "loaded = tf.saved_model.load(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", setup + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def test_an_euler_solve_gives_the_published_number_in_single_precision() -> None:
    with jax.enable_x64(False):
        came = to_tensorflow(decay, 1.0)(100.0)
    assert came.dtype == tf.float32
    np.testing.assert_allclose(came.numpy(), 34.867847, rtol=1e-6)


def test_an_adaptive_solve_gives_the_numbers_of_jax() -> None:
    state = np.array([1.0, 1.0, 20.0])
    came = to_tensorflow(lorenz, jax.ShapeDtypeStruct((3,), jnp.float64))(state)
    # The step controller decides by the same numbers, so no more than rounding parts the two.
    np.testing.assert_allclose(came.numpy(), lorenz(state), rtol=1e-10)


def test_a_closed_model_gives_its_values_and_its_gradient() -> None:
    fn = to_tensorflow(closed_sellar(), *SELLAR, gradients=True)
    np.testing.assert_allclose([value.numpy() for value in fn(*SELLAR)], list(VALUES.values()), rtol=1e-10)
    assert float(fn(z_2=2.0, x_1=1.0, z_1=1.0)[2]) == float(fn(*SELLAR)[2])
    np.testing.assert_allclose(slopes(lambda *z: fn(*z)[2], *SELLAR), SLOPES, rtol=1e-10)


def test_a_saved_model_bears_the_names_and_runs_with_its_gradient_where_there_is_no_jax(
    tmp_path: Path,
) -> None:
    save_tensorflow(tmp_path / "sellar", closed_sellar(), *SELLAR, gradients=True)
    code = (
        "z_1, z_2, x_1 = (tf.Variable(v, dtype=tf.float64) for v in (1.0, 2.0, 1.0))\n"
        "served = loaded.signatures['serving_default'](z_1=z_1, z_2=z_2, x_1=x_1)\n"
        "print(*(float(served[name]) for name in ('y_1', 'y_2', 'f')))\n"
        "with tf.GradientTape() as tape:\n"
        "    f = loaded.call(z_1, z_2, x_1)[2]\n"
        "print(*map(float, tape.gradient(f, [z_1, z_2, x_1])))"
    )
    came = without_jax(code, tmp_path / "sellar")
    np.testing.assert_allclose(came, [*VALUES.values(), *SLOPES], rtol=1e-10)


def test_names_that_python_cannot_spell_are_spelled_as_parameters(tmp_path: Path) -> None:
    names = ("wing.span", "lambda")
    assert float(to_tensorflow(lambda x, y: x - y, 1.0, 2.0, inputs=names)(lambda_=2.0, wing_span=5.0)) == 3.0
    save_tensorflow(tmp_path, lambda x, y: x - y, 1.0, 2.0, inputs=names, outputs="wing.lift")
    served = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    x, y = tf.constant(5.0, tf.float64), tf.constant(2.0, tf.float64)
    assert float(served(wing_span=x, lambda_=y)["wing.lift"]) == 3.0
    with pytest.raises(ExportError, match="`a_b` stand twice"):
        to_tensorflow(lambda x, y: x - y, 1.0, 2.0, inputs=("a.b", "a_b"))


def test_a_tf_function_is_saved_as_any_other(tmp_path: Path) -> None:
    module = tf.Module()
    module.decay = to_tensorflow(decay, 1.0)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_allclose(loaded.decay(100.0).numpy(), 100 * 0.9**10, rtol=1e-14)


def test_pytrees_go_in_and_come_out() -> None:
    def fn(state: Any, count: Any) -> Any:
        return {"sum": state["x"] + state["v"][0] * count, "more": (count + 1, state["v"][0] > 0)}

    written = to_tensorflow(fn, {"x": 1.0, "v": (2.0,)}, 3, gradients=True)
    came = written({"x": 5.0, "v": (6.0,)}, 7)
    assert (float(came["sum"]), int(came["more"][0]), bool(came["more"][1])) == (47.0, 8, True)
    # A whole number has no derivative, and the others have theirs beside it.
    assert slopes(lambda x, v: written({"x": x, "v": (v,)}, 7)["sum"], 5.0, 6.0) == [1.0, 7.0]


def test_symbolic_sizes_stay_open() -> None:
    (batch,) = jax.export.symbolic_shape("batch")
    struct = jax.ShapeDtypeStruct((batch, 2), jnp.float64)
    # `sinh` and `erf` are operations that JAX knows and a runtime of an older StableHLO does not.
    written = to_tensorflow(lambda x: (jnp.sinh(x) + jax.lax.erf(x)).sum(1), struct)
    for size in (1, 5):
        x = np.linspace(0, 1, 2 * size).reshape(size, 2)
        wanted = (jnp.sinh(x) + jax.lax.erf(x)).sum(1)
        np.testing.assert_allclose(written(x).numpy(), wanted, rtol=1e-14)


def test_what_jax_does_by_libraries_of_its_own_is_there() -> None:
    def fn(a: Any) -> Any:
        return (
            jnp.linalg.solve(a, a[0]),
            jnp.linalg.cholesky(a @ a.T),
            tuple(jnp.linalg.qr(a)),
            jax.lax.top_k(a, 2),
            jax.lax.tan(a) + jax.lax.acosh(a + 1) + jax.lax.erf_inv(a / 5) + jax.lax.lgamma(a),
            jnp.abs(jnp.fft.fft(a)),
            jax.random.normal(jax.random.key(0), (3,)) + jnp.cumsum(a[0]),
        )

    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.1, 0.3, 2.0]])
    came, wanted = (jax.tree.leaves(result) for result in (to_tensorflow(fn, a)(a), fn(a)))
    for ours, theirs in zip(came, wanted, strict=True):
        # Eliminations in another order than LAPACK's, and other polynomials of two ulp.
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-13, atol=1e-14)


def test_random_numbers_are_those_of_jax() -> None:
    def fn(seed: Any) -> Any:
        return jax.random.normal(jax.random.fold_in(jax.random.key(seed), 7), (4,))

    # The bits are the same; the normal numbers are made of them by a polynomial.
    np.testing.assert_allclose(to_tensorflow(fn, 0)(3).numpy(), fn(3), rtol=1e-14)


def test_a_run_time_check_becomes_nan() -> None:
    written = to_tensorflow(lambda x: eqx.error_if(x, x < 0, "negative"), 1.0)
    assert (float(written(4.0)), np.isnan(written(-1.0))) == (4.0, True)


def test_without_gradients_a_gradient_is_an_error_and_not_zero() -> None:
    with pytest.raises(LookupError, match="written without its gradient"):
        slopes(to_tensorflow(jnp.sin, 1.0), 1.0)


def test_shapes_and_types_that_do_not_fit_are_refused_by_tensorflow() -> None:
    with pytest.raises(TypeError, match=r"Binding inputs to tf.function failed"):
        to_tensorflow(jnp.sin, np.ones(3))(np.ones(2))


@pytest.mark.parametrize(
    ("fn", "args", "words"),
    [
        (lambda p: p.weight, (eqx.nn.Linear(2, 2, key=jax.random.key(0)),), r"args\[0\] is a Linear"),
        (lambda key: jax.random.normal(key), (jax.random.key(0),), r"no tensors of key<fry>"),
        (lambda x: (), (1.0,), "returns no array, and TensorFlow has an output"),
    ],
)
def test_what_tensorflow_cannot_take_is_refused(fn: Any, args: Any, words: str) -> None:
    with pytest.raises(ExportError, match=words):
        to_tensorflow(fn, *args)


def test_foreign_code_is_refused_by_name() -> None:
    box = cpx.foreign(np.sin, jnp.float64, name="box")
    with pytest.raises(MissingRuleError, match=r"Foreign code `box`, .* cannot go into TensorFlow.\nPair it"):
        to_tensorflow(lambda x: box(x) + 1, 1.0)


def test_names_that_stand_twice_are_refused() -> None:
    with pytest.raises(ExportError, match="`a` stand twice"):
        to_tensorflow(lambda x, y: x + y, 1.0, 2.0, inputs=("a", "a"))


def test_without_tensorflow_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"`tensorflow`.*pip install 'couplax\[tensorflow\]'"):
        to_tensorflow(jnp.sin, 1.0)
