"""The schemes of differences: their law, their accuracy, their steps and bounds."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.foreign import AbstractDifferences
from foreign_codes import OUT, X, Y, wave, wave_jax

SCHEMES = (cpx.Forward(), cpx.Central(), cpx.ComplexStep())
ERRORS: dict[type, float] = {cpx.Forward: 1e-6, cpx.Central: 1e-9, cpx.ComplexStep: 1e-14}
PROBES: dict[type, int] = {cpx.Forward: 1, cpx.Central: 2, cpx.ComplexStep: 1}

each_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)


def test_every_scheme_has_a_case() -> None:
    # By name: a dataclass with slots is made twice.
    names = {scheme.__name__ for scheme in AbstractDifferences.__subclasses__()}
    assert {type(scheme).__name__ for scheme in SCHEMES} == names


@each_scheme
def test_a_linear_code_is_differentiated_exactly_but_for_rounding(scheme: AbstractDifferences) -> None:
    matrix = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, 8.0]])
    code = cpx.foreign(lambda x: matrix @ x, jax.ShapeDtypeStruct((2,), np.float64), differences=scheme)
    # What rounding leaves of a difference of values of size 10 at a step of 1e-8.
    np.testing.assert_allclose(jax.jacfwd(code)(np.ones(3)), matrix, rtol=0, atol=1e-6)


@each_scheme
def test_a_zero_direction_costs_no_probe(scheme: AbstractDifferences) -> None:
    code = cpx.foreign(wave, OUT, differences=scheme)
    code.tally.reset()
    jax.jvp(lambda y: code(X, y), (Y,), (np.zeros(2),))
    assert code.tally.probes == 0


@each_scheme
def test_multiples_of_a_direction_are_probed_at_the_same_points(scheme: AbstractDifferences) -> None:
    code = cpx.foreign(wave, OUT, differences=scheme)
    code.tally.reset()
    moves = [jax.jvp(lambda y: code(X, y), (Y,), (c * np.array([1.0, 0.5]),))[1] for c in (1.0, -0.5, 4.0)]
    assert code.tally.probes == PROBES[type(scheme)]
    np.testing.assert_allclose(moves[1], -0.5 * moves[0], rtol=1e-12)
    np.testing.assert_allclose(moves[2], 4.0 * moves[0], rtol=1e-12)


@each_scheme
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_a_scheme_is_as_accurate_as_its_order(scheme: AbstractDifferences, compiled: bool) -> None:
    code = cpx.foreign(wave, OUT, differences=scheme)
    f = jax.jit(jax.jacrev(code, (0, 1))) if compiled else jax.jacrev(code, (0, 1))
    pairs = zip(f(X, Y), jax.jacrev(wave_jax, (0, 1))(X, Y), strict=True)
    for came, want in pairs:
        np.testing.assert_allclose(came, want, rtol=ERRORS[type(scheme)], atol=ERRORS[type(scheme)])


def test_the_step_follows_each_inputs_own_precision() -> None:
    def code_of(a: Any, b: Any) -> Any:
        return np.float64(np.sin(np.float64(a)) * np.cos(b))

    code = cpx.foreign(code_of, jnp.float64)
    a, b = jnp.float32(0.3), jnp.float64(0.4)
    of_a, of_b = jax.grad(code, (0, 1))(a, b)
    assert of_a.dtype == jnp.float32
    # The square root of single precision is 3.5e-4, that of double precision 1.5e-8.
    np.testing.assert_allclose(of_a, np.cos(np.float64(a)) * np.cos(0.4), rtol=1e-3)
    np.testing.assert_allclose(of_b, -np.sin(np.float64(a)) * np.sin(0.4), rtol=1e-6)


def test_precision_sets_the_step_of_a_code_that_computes_in_single_precision() -> None:
    def code_of(x: Any) -> Any:
        return np.float64(np.sin(np.float32(x)))

    blind = cpx.foreign(code_of, jnp.float64, name="blind")
    seeing = cpx.foreign(code_of, jnp.float64, name="seeing", precision=np.float32)
    assert abs(jax.grad(blind)(0.5) - np.cos(0.5)) > 0.1
    np.testing.assert_allclose(jax.grad(seeing)(0.5), np.cos(0.5), rtol=2e-3)


def test_scale_sets_the_step_of_a_small_input() -> None:
    def code_of(x: Any) -> Any:
        return 1e6 * x**2

    scaled = cpx.foreign(code_of, jnp.float64, scale=1e-9)
    np.testing.assert_allclose(jax.grad(scaled)(1e-9), 2e6 * 1e-9, rtol=1e-6)


@pytest.mark.parametrize("scheme", [cpx.Forward(), cpx.Central()], ids=["Forward", "Central"])
@pytest.mark.parametrize(
    ("fn", "at", "bounds", "slope"),
    [
        (lambda x: np.sqrt(x), 0.0625, (0.0625, None), 2.0),
        (lambda x: np.sqrt(1.0 - x), 0.9375, (None, 0.9375), -2.0),
    ],
    ids=["lower", "upper"],
)
def test_a_step_never_leaves_the_bounds(scheme: Any, fn: Any, at: float, bounds: Any, slope: float) -> None:
    seen: list[float] = []

    def watched(x: Any) -> Any:
        seen.append(float(x))
        return fn(x)

    code = cpx.foreign(watched, jnp.float64, bounds=bounds, differences=scheme)
    np.testing.assert_allclose(jax.grad(code)(at), slope, rtol=1e-6)
    assert all((bounds[0] is None or x >= bounds[0]) and (bounds[1] is None or x <= bounds[1]) for x in seen)


def test_bounds_may_be_given_for_each_input() -> None:
    def code_of(x: Any, y: Any) -> Any:
        return np.sqrt(x) * np.log(y)

    code = cpx.foreign(code_of, jnp.float64, bounds=((0.25, None), None))
    np.testing.assert_allclose(jax.grad(code, (0, 1))(0.25, 2.0), (np.log(2.0), 0.25), rtol=1e-6)


def test_a_code_that_drops_the_imaginary_part_is_refused_a_complex_step() -> None:
    code = cpx.foreign(lambda x: np.abs(x) ** 2, jnp.float64, differences=cpx.ComplexStep(), name="modulus")
    with pytest.raises(
        cpx.DerivativeError, match=r"`modulus` returned real numbers for complex inputs.*Central"
    ):
        jax.grad(code)(0.5)


def test_a_complex_output_is_differentiated() -> None:
    code = cpx.foreign(lambda x: np.exp(1j * x), jnp.complex128)
    _, moved = jax.jvp(code, (0.3,), (2.0,))
    np.testing.assert_allclose(moved, 2j * np.exp(0.3j), rtol=1e-6)
    real = jax.grad(lambda x: jnp.real(code(x) ** 2))(0.3)
    np.testing.assert_allclose(real, -2 * np.sin(0.6), rtol=1e-6)


def test_a_holomorphic_code_of_complex_inputs_is_differentiated() -> None:
    code = cpx.foreign(lambda z: np.sin(z), jnp.complex128)
    at = 0.3 + 0.2j
    np.testing.assert_allclose(jax.grad(code, holomorphic=True)(at), np.cos(at), rtol=1e-6)
