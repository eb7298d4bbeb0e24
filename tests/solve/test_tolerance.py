"""When a residual is small enough, and that the tests look at annotated shapes."""

import jax.numpy as jnp
import jaxtyping
import numpy as np
import optimistix as optx
import pytest

from couplax.solve._tolerance import contraction, errors, estimated_error, within


@pytest.mark.parametrize(("residual", "small"), [(0.9e-6, True), (2.1e-6, True), (2.3e-6, False)])
def test_a_residual_is_compared_with_its_own_unknown(residual: float, small: bool) -> None:
    unknowns = {"low": jnp.array(1e-3), "high": jnp.array(12.0)}
    found = within(
        {"low": jnp.array(0.0), "high": jnp.array(residual)},
        unknowns,
        rtol=1e-7,
        atol=1e-6,
        norm=optx.max_norm,
    )
    assert bool(found) == small


def test_a_tolerance_finer_than_ten_roundings_counts_as_ten() -> None:
    unknown = jnp.array(3.0, jnp.float32)
    rounding = 3.0 * float(jnp.finfo(jnp.float32).eps)

    def meets(roundings: float) -> bool:
        residual = jnp.array(roundings * rounding, jnp.float32)
        return bool(within(residual, unknown, rtol=1e-10, atol=1e-10, norm=optx.max_norm))

    assert meets(9.9)
    assert not meets(10.2)


@pytest.mark.parametrize(
    ("old", "new", "rate"),
    [
        ([1.0, 2.0], [0.5, 0.2], 0.5),
        ([1.0, 2.0], [3.0, 0.2], 1.0),
        ([0.0, 2.0], [0.0, 0.2], 0.1),
        ([0.0, 2.0], [1e-9, 0.2], 1.0),
        ([1.0, 2.0], [0.0, 0.0], 0.0),
    ],
)
def test_the_contraction_is_that_of_the_slowest_residual_and_one_at_most(
    old: list[float], new: list[float], rate: float
) -> None:
    assert float(contraction(jnp.array(old), jnp.array(new))) == pytest.approx(rate, rel=1e-14)


def test_the_error_after_a_full_step_is_what_the_step_left() -> None:
    step, old, new = jnp.array([3.0, -1e-3]), {"f": jnp.array([1.0, 1.0])}, {"f": jnp.array([0.1, 0.01])}
    full = estimated_error(step, old, new, jnp.array(True))
    np.testing.assert_allclose(full, [0.3, 1e-4], rtol=1e-14)
    part = estimated_error(step, old, new, jnp.array(False))
    assert np.isinf(part).all()
    solved = estimated_error(step, old, {"f": jnp.zeros(2)}, jnp.array(False))
    assert np.all(np.asarray(solved) == 0)


def test_a_residual_that_is_a_change_is_its_own_error_and_another_is_estimated() -> None:
    residual = {"u": jnp.array(0.1), "v": jnp.array(0.2)}
    estimate = {"u": jnp.array(3.0), "v": jnp.array(4.0)}
    mixed = errors(residual, estimate, {"u": True, "v": False})
    assert (float(mixed["u"]), float(mixed["v"])) == (0.1, 4.0)
    # Residuals alone need not be shaped as the unknowns are.
    assert errors(jnp.ones(2), estimate, {"u": False, "v": False}) is estimate


def test_annotated_shapes_are_checked_where_the_tests_run() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        within(jnp.ones(2), jnp.ones(2), rtol=1e-3, atol=1e-3, norm=lambda residual: residual)
