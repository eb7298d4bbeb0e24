"""Targets of XLA's foreign function interface, compiled here against JAX's headers, as JAX functions."""

import ctypes
import shutil
import subprocess
from typing import Any

import jax
import jax.ffi
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")

# y = a x^2 and its sum, with the maps v -> J v and w -> J^T w.
SOURCE = r"""
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
using Vector = ffi::Buffer<ffi::F64>;
using Out = ffi::Result<Vector>;

static ffi::Error Value(double power, Vector x, Vector a, Out y, Out sum) {
  double scale = *a.typed_data();
  *sum->typed_data() = 0;
  for (size_t k = 0; k < x.element_count(); k++)
    *sum->typed_data() += y->typed_data()[k] = scale * __builtin_pow(x.typed_data()[k], power);
  return ffi::Error::Success();
}

static ffi::Error Tangent(double power, Vector x, Vector a, Vector xd, Vector ad, Out yd, Out sumd) {
  *sumd->typed_data() = 0;
  for (size_t k = 0; k < x.element_count(); k++) {
    double at = x.typed_data()[k], slope = power * __builtin_pow(at, power - 1);
    double moved = *ad.typed_data() * __builtin_pow(at, power) + *a.typed_data() * slope * xd.typed_data()[k];
    *sumd->typed_data() += yd->typed_data()[k] = moved;
  }
  return ffi::Error::Success();
}

static ffi::Error Adjoint(double power, Vector x, Vector a, Vector yb, Vector sumb, Out xb, Out ab) {
  *ab->typed_data() = 0;
  for (size_t k = 0; k < x.element_count(); k++) {
    double at = x.typed_data()[k], weight = yb.typed_data()[k] + *sumb.typed_data();
    xb->typed_data()[k] = *a.typed_data() * power * __builtin_pow(at, power - 1) * weight;
    *ab->typed_data() += __builtin_pow(at, power) * weight;
  }
  return ffi::Error::Success();
}

#define HANDLER(name, fn, inputs)        \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, fn, \
    ffi::Ffi::Bind().Attr<double>("power") inputs.Ret<Vector>().Ret<Vector>())
#define TWO .Arg<Vector>().Arg<Vector>()
HANDLER(powers, Value, TWO);
HANDLER(powers_d, Tangent, TWO TWO);
HANDLER(powers_b, Adjoint, TWO TWO);
"""

X = np.array([0.5, 1.0, 2.0])


@pytest.fixture(scope="session")
def targets(tmp_path_factory: pytest.TempPathFactory) -> None:
    if COMPILER is None:
        pytest.skip("no C++ compiler here")
    folder = tmp_path_factory.mktemp("targets")
    (folder / "powers.cc").write_text(SOURCE)
    command = [COMPILER, "-std=c++17", "-shared", "-fPIC", "-O1", f"-I{jax.ffi.include_dir()}"]
    subprocess.run([*command, str(folder / "powers.cc"), "-o", str(folder / "powers.so")], check=True)
    library = ctypes.CDLL(str(folder / "powers.so"))
    # Before the backend has started, XLA would put the registration off.
    jax.devices("cpu")
    for name in ("powers", "powers_d", "powers_b"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")


def outputs(x: jax.ShapeDtypeStruct, a: jax.ShapeDtypeStruct) -> tuple[Any, Any]:
    return x, a


def in_jax(x: Any, a: Any) -> tuple[Any, Any]:
    return a * x**3, jnp.sum(a * x**3)


OFFERS: dict[str, dict[str, Any]] = {
    "value": {},
    "tangent": {"tangent": "powers_d"},
    "adjoint": {"adjoint": "powers_b"},
    "both": {"tangent": "powers_d", "adjoint": "powers_b"},
}
# A forward difference of a function with second derivatives up to 24 is wrong by that times the root of the
# precision.
TOLERANCE: dict[str, Any] = {"rtol": 2e-6, "atol": 2e-6}


def powers(kind: str) -> cpx.Foreign:
    return cpx.foreign_ffi("powers", outputs, attributes={"power": np.float64(3.0)}, **OFFERS[kind])


@pytest.fixture(params=[False, True], ids=["eager", "jitted"])
def run(request: pytest.FixtureRequest) -> Any:
    return lambda fn, *args: (jax.jit(lambda *a: fn(*a)) if request.param else fn)(*args)


@pytest.mark.usefixtures("targets")
def test_a_targets_values_are_those_of_the_same_in_jax(run: Any) -> None:
    jax.tree.map(np.testing.assert_allclose, run(powers("value"), X, 1.5), in_jax(X, 1.5))


@pytest.mark.usefixtures("targets")
@pytest.mark.parametrize("kind", OFFERS)
@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_a_targets_jacobians_are_those_of_the_same_in_jax(run: Any, kind: str, jacobian: Any) -> None:
    came = run(jacobian(powers(kind), (0, 1)), X, 1.5)
    want = jacobian(in_jax, (0, 1))(X, 1.5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **TOLERANCE), came, want)


@pytest.mark.usefixtures("targets")
@pytest.mark.parametrize("kind", OFFERS)
def test_a_target_is_mapped(run: Any, kind: str) -> None:
    x = np.stack([X, 2 * X])

    def summed(f: Any) -> Any:
        return jax.vmap(jax.grad(lambda x, a: f(x, a)[1]), (0, None))

    np.testing.assert_allclose(run(summed(powers(kind)), x, 1.5), summed(in_jax)(x, 1.5), rtol=1e-6)


@pytest.mark.usefixtures("targets")
def test_programs_call_the_target_itself() -> None:
    code = powers("value")
    text = jax.jit(jax.grad(lambda x: code(x, 1.5)[1])).lower(X).as_text()
    assert "@powers" in text
    assert "callback" not in text
    assert "couplax_python" not in text


@pytest.mark.usefixtures("targets")
def test_a_second_derivative_is_refused_with_the_ways_out() -> None:
    code = powers("both")
    with pytest.raises(cpx.DerivativeError, match="powers"):
        jax.hessian(lambda x: code(x, 1.5)[1])(X)
