"""C and Fortran routines as JAX functions: calls, derivatives, counts and bad declarations."""

import ctypes
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.foreign._extension import extension
from couplax.foreign._route import route

pytestmark = pytest.mark.long_table(2)

Route = Literal["native", "compiled", "callback"]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
FORTRAN = shutil.which("gfortran")

SOURCE = r"""
#include <math.h>
#include <stdint.h>

/* Sellar's second discipline, with derivatives in Tapenade's conventions. */
double disc2(double y1, double z1, double z2) { return sqrt(fabs(y1)) + z1 + z2; }
double disc2_d(double y1, double y1d, double z1, double z1d, double z2, double z2d, double *value) {
  *value = disc2(y1, z1, z2);
  return y1 / fabs(y1) / (2 * sqrt(fabs(y1))) * y1d + z1d + z2d;
}
void disc2_b(double y1, double *y1b, double z1, double *z1b, double z2, double *z2b, double valueb) {
  *y1b += y1 / fabs(y1) / (2 * sqrt(fabs(y1))) * valueb;
  *z1b += valueb;
  *z2b += valueb;
}

/* y = a x^2 and its sum. */
void squares(int n, const double *x, double a, double *y, double *sum) {
  *sum = 0;
  for (int k = 0; k < n; k++) *sum += y[k] = a * x[k] * x[k];
}
void squares_d(int n, const double *x, const double *xd, double a, double ad, double *y, double *yd,
               double *sum, double *sumd) {
  *sum = *sumd = 0;
  for (int k = 0; k < n; k++) {
    *sum += y[k] = a * x[k] * x[k];
    *sumd += yd[k] = ad * x[k] * x[k] + 2 * a * x[k] * xd[k];
  }
}
void squares_b(int n, const double *x, double *xb, double a, double *ab, double *y, double *yb, double *sum,
               double *sumb) {
  *ab = 0;
  for (int k = 0; k < n; k++) {
    yb[k] += *sumb;
    xb[k] = 2 * a * x[k] * yb[k];
    *ab += x[k] * x[k] * yb[k];
    yb[k] = 0;
  }
  *sumb = 0;
}

/* All pointers, the size last, 64 bits wide. */
void root(const double *x, double *y, const int64_t *n) {
  for (int64_t k = 0; k < *n; k++) y[k] = sqrt(x[k]);
}

/* Changed in place. */
void grow(double *u, double rate, int n) { for (int k = 0; k < n; k++) u[k] *= 1 + rate; }

/* A matrix in C order: row sums. */
void rows(const float *a, float *y, int m, int n) {
  for (int i = 0; i < m; i++) { y[i] = 0; for (int j = 0; j < n; j++) y[i] += a[i * n + j]; }
}

float single(float x, int k) { return x * k; }
int64_t whole(int8_t a, uint16_t b, int64_t c, _Bool d) { return a + b + c + (d ? 1000 : 0); }
_Bool positive(double x) { return x > 0; }

/* More arguments than registers, of both kinds, mixed. */
double many(double a, int b, double c, int d, double e, int f, double g, int h, double i, int j, double k, int
l,
            double m, int n, double o, int p, double q, float r, const double *s, double *t) {
  *t = b + 2 * d + 3 * f + 4 * h + 5 * j + 6 * l + 7 * n + 8 * p;
  return a + 2 * c + 3 * e + 4 * g + 5 * i + 6 * k + 7 * m + 8 * o + 9 * q + 10 * r + 11 * *s;
}

/* Not safe for threads: a count of the callers that are inside. */
static volatile int inside, most;
double crowded(double x) {
  if (++inside > most) most = inside;
  for (volatile int k = 0; k < 20000; k++) {}
  inside--;
  return x + 1;
}
double most_inside(double x) { return most; }
"""

F64 = jnp.float64
VECTOR = jax.ShapeDtypeStruct(("n",), jnp.float64)
DISC2 = {"y_1": F64, "z_1": F64, "z_2": F64}
AT = (3.0, 1.0, 2.0)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("routines")
    (folder / "routines.c").write_text(SOURCE)
    path = folder / "routines.so"
    command = [COMPILER, "-shared", "-fPIC", "-O1", str(folder / "routines.c"), "-o", str(path), "-lm"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(params=["native", "compiled", "callback", "eager"])
def run(request: pytest.FixtureRequest) -> Any:
    """Returns what runs a function on one route: jitted with no faster one, or eagerly."""
    if request.param in ("native", "compiled") and extension() is None:
        pytest.skip("couplax was built without its compiled route")

    def runner(fn: Any, *args: Any) -> Any:
        if request.param == "eager":
            return fn(*args)
        with route(request.param):
            return jax.jit(lambda *a: fn(*a))(*args)

    return runner


def disc2_jax(y_1: Any, z_1: Any, z_2: Any) -> Any:
    return jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2


def squares_jax(x: Any, a: Any) -> dict[str, Any]:
    return {"y": a * x**2, "sum": jnp.sum(a * x**2)}


def squares_c(library: Path, **options: Any) -> cpx.Foreign:
    return cpx.foreign_c(
        library,
        "squares",
        {"x": VECTOR, "a": F64},
        {"y": VECTOR, "sum": F64},
        arguments=("n", "x", "a", "y", "sum"),
        **options,
    )


OFFERS: dict[str, dict[str, Any]] = {
    "value": {},
    "tangent": {"tangent": "_d"},
    "adjoint": {"adjoint": "_b"},
    "both": {"tangent": "_d", "adjoint": "_b"},
}
# A forward difference of a function with second derivative of order 1 is wrong by about the root of the
# precision.
TOLERANCE: dict[str, Any] = {"rtol": 3e-7, "atol": 3e-7}


def offered(kind: str, symbol: str) -> dict[str, Any]:
    return {name: symbol + suffix for name, suffix in OFFERS[kind].items()}


def test_a_routine_that_returns_a_number(library: Path, run: Any) -> None:
    code = cpx.foreign_c(library, "disc2", DISC2, F64)
    assert run(code, *AT) == disc2_jax(*AT)


def test_arrays_sizes_and_several_outputs(library: Path, run: Any) -> None:
    result = run(squares_c(library), jnp.arange(5.0), 2.0)
    np.testing.assert_allclose(result["y"], 2 * np.arange(5.0) ** 2, rtol=0)
    assert result["sum"] == 60.0


def test_one_declaration_serves_arrays_of_every_size(library: Path, run: Any) -> None:
    code = squares_c(library)
    assert [run(code, jnp.ones(n), 1.0)["sum"] for n in (0, 1, 7)] == [0.0, 1.0, 7.0]


def test_everything_by_pointer_with_a_wide_size_at_the_end(library: Path, run: Any) -> None:
    code = cpx.foreign_c(
        library, "root", {"x": VECTOR}, {"y": VECTOR}, arguments=("*x", "*y", "*n"), size_dtype=jnp.int64
    )
    np.testing.assert_allclose(run(code, jnp.arange(4.0))["y"], np.sqrt(np.arange(4.0)), rtol=0)


def test_an_argument_that_is_changed_in_place_leaves_the_input_alone(library: Path, run: Any) -> None:
    code = cpx.foreign_c(
        library, "grow", {"u": VECTOR, "rate": F64}, {"u": VECTOR}, arguments=("u", "rate", "n")
    )
    u = jnp.arange(3.0)
    np.testing.assert_allclose(run(code, u, 0.5)["u"], 1.5 * np.arange(3.0), rtol=0)
    np.testing.assert_array_equal(u, np.arange(3.0))


def test_a_matrix_is_in_c_order_even_if_it_was_transposed(library: Path, run: Any) -> None:
    code = cpx.foreign_c(
        library,
        "rows",
        {"a": jax.ShapeDtypeStruct(("m", "n"), jnp.float32)},
        {"y": jax.ShapeDtypeStruct(("m",), jnp.float32)},
        arguments=("a", "y", "m", "n"),
    )
    a = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    np.testing.assert_array_equal(run(lambda a: code(a.T)["y"], a), [3.0, 5.0, 7.0])


def test_numbers_of_every_width_are_passed_and_returned(library: Path, run: Any) -> None:
    single = cpx.foreign_c(library, "single", [jnp.float32, jnp.int32], jnp.float32)
    whole = cpx.foreign_c(library, "whole", [jnp.int8, jnp.uint16, jnp.int64, jnp.bool_], jnp.int64)
    positive = cpx.foreign_c(library, "positive", [F64], jnp.bool_)
    assert run(single, jnp.float32(1.5), jnp.int32(-3)) == np.float32(-4.5)
    assert run(whole, jnp.int8(-5), jnp.uint16(65535), jnp.int64(2**40), jnp.bool_(True)) == 2**40 + 66530
    assert [bool(run(positive, x)) for x in (1.0, -1.0)] == [True, False]


def test_more_arguments_than_registers(library: Path, run: Any) -> None:
    kinds = [F64, jnp.int32] * 8 + [F64, jnp.float32, F64]
    inputs = {f"v{k}": kind for k, kind in enumerate(kinds)}
    arguments = (*list(inputs)[:-1], "*v18", "*t")
    code = cpx.foreign_c(library, "many", inputs, {"r": F64, "t": F64}, arguments=arguments)
    values = [np.asarray(k + 1, kind) for k, kind in enumerate(kinds)]
    floats = [*values[:16:2], *values[16:]]
    wanted = sum((k + 1) * float(v) for k, v in enumerate(floats))
    result = run(code, *values)
    assert result["r"] == wanted
    assert result["t"] == sum((k + 1) * int(v) for k, v in enumerate(values[1:16:2]))


def test_inputs_of_a_narrower_kind_are_widened(library: Path, run: Any) -> None:
    code = cpx.foreign_c(library, "disc2", DISC2, F64)
    assert run(code, jnp.float32(4.0), 1, jnp.int32(2)) == 5.0


def test_inputs_are_given_by_name(library: Path, run: Any) -> None:
    code = cpx.foreign_c(library, "disc2", DISC2, F64)
    assert run(lambda a: code(z_2=2.0, z_1=1.0, y_1=a), 9.0) == 6.0


@pytest.mark.parametrize("kind", OFFERS)
def test_a_numbers_derivatives_are_those_of_the_same_in_jax(library: Path, run: Any, kind: str) -> None:
    code = cpx.foreign_c(library, "disc2", DISC2, F64, **offered(kind, "disc2"))
    every = (0, 1, 2)
    np.testing.assert_allclose(run(jax.grad(code, every), *AT), jax.grad(disc2_jax, every)(*AT), **TOLERANCE)
    moved = (0.3, -1.0, 2.0)
    np.testing.assert_allclose(
        run(lambda *a: jax.jvp(code, a, moved), *AT), jax.jvp(disc2_jax, AT, moved), **TOLERANCE
    )


@pytest.mark.parametrize("kind", OFFERS)
@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_jacobians_are_those_of_the_same_in_jax(library: Path, run: Any, kind: str, jacobian: Any) -> None:
    code = squares_c(library, **offered(kind, "squares"))
    x = jnp.array([0.5, -1.0, 2.0])
    came = run(jacobian(code, (0, 1)), x, 1.5)
    want = jacobian(squares_jax, (0, 1))(x, 1.5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **TOLERANCE), came, want)


@pytest.mark.parametrize("kind", OFFERS)
def test_vmap_maps_values_and_gradients(library: Path, run: Any, kind: str) -> None:
    code = squares_c(library, **offered(kind, "squares"))
    x, a = jnp.arange(12.0).reshape(4, 3), jnp.arange(4.0)
    for axes in ((0, 0), (0, None), (None, 0)):
        args = tuple(part if axis == 0 else part[1] for part, axis in zip((x, a), axes, strict=True))
        for fn in (lambda f: lambda x, a: f(x, a)["sum"], lambda f: jax.grad(lambda x, a: f(x, a)["sum"])):
            came = run(jax.vmap(fn(code), axes), *args)
            np.testing.assert_allclose(came, jax.vmap(fn(squares_jax), axes)(*args), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", OFFERS)
def test_forward_and_reverse_agree(library: Path, run: Any, kind: str, rng: np.random.Generator) -> None:
    code = squares_c(library, **offered(kind, "squares"))
    x, v = rng.normal(size=3), (rng.normal(size=3), rng.normal())
    w = {"y": rng.normal(size=3), "sum": rng.normal()}
    _, moved = run(lambda *v: jax.jvp(code, (x, 1.5), v), *v)
    pulled = run(lambda w: jax.vjp(code, x, 1.5)[1](w), w)
    left = sum(np.vdot(w[name], moved[name]) for name in w)
    right = sum(np.vdot(a, b) for a, b in zip(pulled, v, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-6)


def test_a_zero_direction_gives_zero(library: Path, run: Any) -> None:
    code = cpx.foreign_c(library, "disc2", DISC2, F64)
    assert run(lambda v: jax.jvp(code, AT, (v, 0.0, 0.0))[1], 0.0) == 0.0


@pytest.mark.parametrize("options", [{}, {"scale": 100.0}, {"precision": jnp.float32}])
def test_native_differences_are_the_hosts(library: Path, options: dict[str, Any]) -> None:
    if extension() is None:
        pytest.skip("couplax was built without its compiled route")
    code = squares_c(library, **options)
    x = jnp.array([0.5, -1.0, 2e3])

    def directional(x: Any) -> Any:
        return jax.jvp(lambda x: code(x, 1.5)["y"], (x,), (jnp.array([1.0, -2.0, 0.5]),))[1]

    came = {}
    for fastest in ("native", "compiled"):
        with route(fastest):
            came[fastest] = jax.jit(lambda x: directional(x))(x)
    # The same probes; what is left is the rounding of the quotient.
    np.testing.assert_allclose(came["native"], came["compiled"], rtol=1e-9)


@pytest.mark.parametrize("options", [{"differences": cpx.Central()}, {"bounds": (0.0, None)}])
def test_what_the_program_cannot_difference_goes_through_the_host(
    library: Path, run: Any, options: dict[str, Any]
) -> None:
    code = cpx.foreign_c(library, "disc2", DISC2, F64, **options)
    np.testing.assert_allclose(run(jax.grad(code), *AT), jax.grad(disc2_jax)(*AT), **TOLERANCE)


def test_programs_call_it_without_python(library: Path) -> None:
    if extension() is None:
        pytest.skip("couplax was built without its compiled route")
    code = cpx.foreign_c(library, "disc2", DISC2, F64)
    text = jax.jit(jax.value_and_grad(lambda y: code(y, 1.0, 2.0))).lower(3.0).as_text()
    assert "couplax_c" in text
    assert "callback" not in text
    assert "couplax_python" not in text


def test_calls_in_programs_are_counted_by_their_purpose(library: Path) -> None:
    if extension() is None:
        pytest.skip("couplax was built without its compiled route")
    code = cpx.foreign_c(library, "disc2", DISC2, F64, name="counted natively")
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, c: code(c, 1.0, 2.0), x))
    loop(3.0).block_until_ready()
    assert (code.tally.values, code.tally.probes) == (10, 0)
    code.tally.reset()
    jax.jit(jax.grad(lambda y: code(y, 1.0, 2.0)))(3.0).block_until_ready()
    assert (code.tally.probes, code.tally.calls - code.tally.values) == (1, 1)
    exact = cpx.foreign_c(library, "disc2", DISC2, F64, **offered("both", "disc2"), name="exact")
    jax.jit(jax.grad(lambda y: exact(y, 1.0, 2.0)))(3.0).block_until_ready()
    assert (exact.tally.adjoints, exact.tally.probes) == (1, 0)


def test_programs_remember_the_last_points_until_the_tally_is_reset(library: Path) -> None:
    if extension() is None:
        pytest.skip("couplax was built without its compiled route")
    code = cpx.foreign_c(library, "disc2", DISC2, F64, memo=2, name="remembered")
    program = jax.jit(lambda y: code(y, 1.0, 2.0)).lower(1.0).compile()
    values = [float(program(y)) for y in (1.0, 4.0, 1.0, 4.0, 9.0, 4.0, 1.0)]
    assert values == [4.0, 5.0, 4.0, 5.0, 6.0, 5.0, 4.0]
    # 9 takes the place of 1, the one kept longest ago; 4 is still there.
    assert (code.tally.values, code.tally.memo_hits) == (4, 3)
    code.tally.reset()
    assert program(4.0) == 5.0
    assert (code.tally.values, code.tally.memo_hits) == (1, 0)


def test_a_probe_finds_the_values_and_a_value_does_not_find_the_probes(library: Path) -> None:
    if extension() is None:
        pytest.skip("couplax was built without its compiled route")
    code = cpx.foreign_c(library, "disc2", DISC2, F64, name="probed")
    gradient = jax.jit(jax.grad(lambda y: code(y, 1.0, 2.0)))
    jax.block_until_ready([gradient(3.0), gradient(3.0)])
    assert (code.tally.probes, code.tally.values) == (1, 1)


def test_lanes_that_are_equal_are_one_call(library: Path) -> None:
    if extension() is None:
        pytest.skip("couplax was built without its compiled route")
    code = cpx.foreign_c(library, "disc2", DISC2, F64, name="lanes")
    mapped = jax.jit(jax.vmap(code, (0, None, None)))
    np.testing.assert_array_equal(mapped(jnp.array([4.0, 9.0, 4.0]), 0.0, 0.0), [2.0, 3.0, 2.0])
    assert (code.tally.values, code.tally.memo_hits) == (2, 1)


def test_one_thread_at_a_time_is_in_a_routine(library: Path) -> None:
    code = cpx.foreign_c(library, "crowded", [F64], F64, memo=0)
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda _, c: code(c), x)).lower(0.0).compile()
    with ThreadPoolExecutor(4) as pool:
        programs = list(pool.map(lambda _: float(loop(0.0)), range(8)))
        eager = list(pool.map(lambda k: float(code(float(k))), range(50)))
    assert programs == [50.0] * 8
    assert eager == [k + 1.0 for k in range(50)]
    assert cpx.foreign_c(library, "most_inside", [F64], F64)(0.0) == 1.0


@pytest.mark.parametrize("form", ["path", "text", "library", "function", "address"])
def test_a_routine_is_named_in_every_form(library: Path, run: Any, form: str) -> None:
    loaded = ctypes.CDLL(str(library))
    address = ctypes.cast(loaded.disc2, ctypes.c_void_p).value
    forms: dict[str, tuple[Any, Any]] = {
        "path": (library, "disc2"),
        "text": (str(library), "disc2"),
        "library": (loaded, "disc2"),
        "function": (None, loaded.disc2),
        "address": (None, address),
    }
    assert run(cpx.foreign_c(*forms[form], DISC2, F64), *AT) == disc2_jax(*AT)


def test_a_python_function_with_a_c_signature_is_called(run: Any) -> None:
    callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: 3 * x)
    code = cpx.foreign_c(None, callback, [F64], F64, name="tripled")
    assert run(code, 2.0) == 6.0


def test_equal_routines_are_equal_and_are_not_traced_twice(library: Path) -> None:
    first, second = (cpx.foreign_c(library, "disc2", DISC2, F64) for _ in range(2))
    assert first == second
    traces: list[int] = []

    def fn(code: cpx.Foreign, y: Any) -> Any:
        traces.append(1)
        return code(y, 1.0, 2.0)

    jitted = jax.jit(fn, static_argnums=0)
    assert jitted(first, 4.0) == jitted(second, 4.0)
    assert len(traces) == 1


def test_sellar_with_its_second_discipline_in_c(library: Path) -> None:
    code = cpx.foreign_c(library, "disc2", DISC2, F64, **offered("both", "disc2"))

    @cpx.component("y_1")
    def d1(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
        return z_1**2 + z_2 + x_1 - 0.2 * y_2

    @cpx.component("f")
    def objective(x_1: Any, z_2: Any, y_1: Any, y_2: Any) -> Any:
        return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)

    model = cpx.Model(d1, cpx.component(code, "y_2"), objective)
    model = model.close(cpx.Newton(rtol=1e-10, atol=1e-10), cut="y_2")
    f = model.function(inputs=("z_1", "x_1"), outputs="f", fixed={"z_2": 2.0}, guess={"y_2": 1.0})
    value, gradient = jax.jit(jax.value_and_grad(f, argnums=(0, 1)))(1.0, 1.0)
    np.testing.assert_allclose(value, 6.059357293905945, rtol=1e-9)
    np.testing.assert_allclose(gradient, [1.689612612212272, 2.9434964513173334], rtol=1e-7)


# ---- bad declarations


def test_a_missing_library_and_a_missing_symbol_are_named(library: Path) -> None:
    with pytest.raises(cpx.ForeignError, match=r"`/nowhere/x.so` of routine `f` cannot be loaded"):
        cpx.foreign_c("/nowhere/x.so", "f", [F64], F64)
    with pytest.raises(cpx.ForeignError, match="no symbol `disc3`"):
        cpx.foreign_c(library, "disc3", DISC2, F64)
    with pytest.raises(cpx.ForeignError, match="without a library"):
        cpx.foreign_c(None, "disc2", DISC2, F64)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("n", "x", "a", "y", "summ"), "`summ`, which is no input, output or size. Close: `sum`"),
        (("n", "x", "y", "sum"), "does not list its inputs `a`"),
        (("n", "x", "a", "sum"), "does not list its outputs `y`"),
        (("n", "x", "&a", "y", "sum"), "declares the argument '&a'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(library: Path, arguments: Any, message: str) -> None:
    with pytest.raises(cpx.ForeignError) as caught:
        cpx.foreign_c(
            library, "squares", {"x": VECTOR, "a": F64}, {"y": VECTOR, "sum": F64}, arguments=arguments
        )
    assert message in str(caught.value)


def test_a_size_that_no_input_has_is_named(library: Path) -> None:
    out = jax.ShapeDtypeStruct(("m",), jnp.float64)
    with pytest.raises(cpx.ForeignError, match="size `m`, which no input has"):
        cpx.foreign_c(library, "root", {"x": VECTOR}, {"y": out}, arguments=("x", "y"))


def test_calls_that_do_not_fit_are_refused_before_the_routine_runs(library: Path) -> None:
    code = squares_c(library)
    with pytest.raises(cpx.ForeignError, match=r"`x` of shape \(\), and it declares \(n\)"):
        code(1.0, 1.0)
    with pytest.raises(cpx.ForeignError, match="`a` as complex128, and it declares float64"):
        code(jnp.ones(3), 1j)
    with pytest.raises(cpx.ForeignError, match="called with 1 inputs, and it declares 2: `x`, `a`"):
        code(jnp.ones(3))


def test_a_complex_number_by_value_is_refused(library: Path) -> None:
    code = cpx.foreign_c(library, "disc2", {"y": jnp.complex128}, F64)
    with pytest.raises(cpx.ForeignError, match=r"complex128 by value.*`\*name`"):
        code(1j)


# ---- Fortran

FORTRAN_SOURCE = """
subroutine axpy(n, a, x, y) bind(c, name="axpy")
  use iso_c_binding
  integer(c_int), intent(in) :: n
  real(c_double), intent(in) :: a, x(n)
  real(c_double), intent(out) :: y(n)
  y = a * x + 1
end subroutine

subroutine plain(a, y)
  double precision, intent(in) :: a
  double precision, intent(out) :: y
  y = 2 * a
end subroutine
"""


@pytest.fixture(scope="session")
def fortran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if FORTRAN is None:
        pytest.skip("no gfortran here")
    folder = tmp_path_factory.mktemp("fortran")
    (folder / "routines.f90").write_text(FORTRAN_SOURCE)
    command = [FORTRAN, "-shared", "-fPIC", str(folder / "routines.f90"), "-o", str(folder / "routines.so")]
    subprocess.run(command, check=True)
    return folder / "routines.so"


def test_a_fortran_routine_bound_to_c(fortran: Path, run: Any) -> None:
    inputs = {"a": F64, "x": VECTOR}
    code = cpx.foreign_c(fortran, "axpy", inputs, {"y": VECTOR}, arguments=("*n", "*a", "*x", "*y"))
    np.testing.assert_allclose(run(code, 2.0, jnp.arange(3.0))["y"], 2 * np.arange(3.0) + 1, rtol=0)


def test_a_fortran_routine_that_is_not_bound_is_found_by_its_real_name(fortran: Path) -> None:
    with pytest.raises(cpx.ForeignError, match="has `plain_`"):
        cpx.foreign_c(fortran, "plain", {"a": F64}, {"y": F64}, arguments=("*a", "*y"))
    assert cpx.foreign_c(fortran, "plain_", {"a": F64}, {"y": F64}, arguments=("*a", "*y"))(2.0)["y"] == 4.0
