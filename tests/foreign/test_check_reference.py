"""The reference of a check: its noise and its steps, beside what is known in closed form."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.foreign import check_derivatives
from couplax.foreign._check_layout import Layout
from couplax.foreign._check_noise import noise
from couplax.foreign._check_steps import Line, Study, study

Array = np.ndarray[Any, Any]

EPSILON = float(np.finfo(float).eps)


def along(function: Any, x: float, *, lower: float = -np.inf, upper: float = np.inf) -> Line:
    """Returns the line through one input."""

    def evaluate(vector: Array) -> Array:
        assert lower <= vector[0] <= upper
        return np.atleast_1d(function(vector[0]))

    return Line(
        evaluate=evaluate,
        rounded=lambda vector: vector,
        here=np.array([x]),
        base=evaluate(np.array([x])),
        direction=np.ones(1),
        size=abs(x) or 1.0,
        limit=max(abs(x), 1.0),
        below=x - lower,
        above=upper - x,
    )


def studied(function: Any, x: float, level: float | None = None, **bounds: float) -> Study:
    line = along(function, x, **bounds)
    way = 1 if line.above > line.below else -1
    measured = noise(lambda d: line.evaluate(line.here + way * d * line.size), EPSILON)
    known = measured if level is None else np.full(line.base.shape, level)
    return study(line, known, np.full(line.base.shape, EPSILON))


@pytest.mark.parametrize("level", [1e-12, 1e-8, 1e-4])
def test_the_noise_of_a_smooth_function_is_measured(level: float, rng: np.random.Generator) -> None:
    def noisy(distance: float) -> Array:
        return np.array([np.exp(1 + distance) + level * rng.standard_normal(), np.sin(1 + distance)])

    found = noise(noisy, EPSILON)
    # Eight points tell a deviation to a factor of about two.
    assert 0.3 * level < found[0] < 3 * level
    assert found[1] < 4 * EPSILON


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_noise_of_a_coarser_precision_inside_is_measured(dtype: Any) -> None:
    def coarse(distance: float) -> Array:
        return np.array([np.sin(dtype(0.7 * (1 + distance)))], float)

    spacing = float(np.finfo(dtype).eps)
    assert 0.02 * spacing < noise(coarse, EPSILON)[0] < spacing


def test_a_constant_has_no_noise() -> None:
    assert noise(lambda distance: np.array([3.0]), EPSILON).tolist() == [0.0]


CURVES: dict[str, tuple[Any, Any, float]] = {
    "sin": (np.sin, np.cos, 0.7),
    "exp": (np.exp, np.exp, 2.0),
    "fast": (lambda x: np.sin(1e4 * x), lambda x: 1e4 * np.cos(1e4 * x), 1.0),
    "tiny": (lambda x: 1e6 * x * x, lambda x: 2e6 * x, 1e-9),
    "tiny beside a constant": (lambda x: 1 + x, lambda x: 1.0, 1e-20),
    "huge": (lambda x: x**3, lambda x: 3 * x**2, 1e50),
    "at zero": (np.arctan, lambda x: 1.0, 0.0),
    "periodic on round steps": (lambda x: np.sin(128 * np.pi * x), lambda x: 128 * np.pi, 1.0),
    "a narrow step": (lambda x: np.tanh(1e5 * (x - 1)), lambda x: 1e5, 1.0),
}


@pytest.mark.parametrize("case", CURVES)
def test_the_reference_is_exact_and_its_bound_holds(case: str) -> None:
    function, slope, x = CURVES[case]
    found = studied(function, x)
    error = abs(found.slope[0] - slope(x))
    assert error <= found.error[0]
    assert found.error[0] < 1e-7 * abs(slope(x))


def test_the_bound_of_the_reference_holds_under_noise(rng: np.random.Generator) -> None:
    found = studied(lambda x: np.exp(x) + 1e-6 * rng.uniform(-1, 1), 1.0, level=6e-7)
    assert abs(found.slope[0] - np.e) < found.error[0]
    # The optimum for this noise: its two-thirds power.
    assert found.error[0] < 20 * 6e-7 ** (2 / 3) * np.e


@pytest.mark.parametrize(("x", "lower", "upper"), [(0.0, 0.0, np.inf), (1.0, 0.0, 1.0), (1e-9, 0.0, 1.0)])
def test_steps_stay_within_bounds(x: float, lower: float, upper: float) -> None:
    found = studied(lambda x: np.exp(x) * (1 + x), x, lower=lower, upper=upper)
    assert found.slope[0] == pytest.approx(np.exp(x) * (2 + x), rel=1e-7)


def test_a_step_that_leaves_the_domain_is_passed_over() -> None:
    with np.errstate(invalid="ignore"):
        found = studied(lambda x: np.sqrt(x - 0.99), 1.0)
    assert not found.is_finite
    assert found.slope[0] == pytest.approx(0.5 / np.sqrt(0.01), rel=1e-8)


def test_arrays_survive_as_one_vector_and_each_element_has_a_name() -> None:
    structs = (
        jax.ShapeDtypeStruct((2,), jnp.complex64),
        jax.ShapeDtypeStruct((), jnp.float32),
        jax.ShapeDtypeStruct((1, 2), jnp.float64),
    )
    layout = Layout(names=("z", "a", "m"), structs=structs)
    arrays = [np.array([1 + 2j, 3], np.complex64), np.float32(0.1), np.array([[5.0, 6.0]])]
    vector = layout.pack(arrays)
    for given, found in zip(arrays, layout.unpack(vector), strict=True):
        np.testing.assert_array_equal(found, given)
        assert found.dtype == given.dtype
    assert vector.tolist() == [1, 2, 3, 0, float(np.float32(0.1)), 5, 6]
    assert layout.labels == ("z[0].real", "z[0].imag", "z[1].real", "z[1].imag", "a", "m[0,0]", "m[0,1]")


def test_a_function_of_a_model_is_checked_under_its_own_names() -> None:
    @cpx.component("y")
    def square(x: Any, z: Any) -> Any:
        return x * x + jnp.sin(z)

    report = check_derivatives(cpx.Model(square).function(("x", "z"), "y"), 1.5, 0.3)
    rows = [(row.input, row.output, row.verdict) for row in report.rows if row.derivative == "vjp"]
    assert rows == [("x", "y", "ok"), ("z", "y", "ok")]
