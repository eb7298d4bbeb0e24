"""When a residual is small enough, and that the tests look at annotated shapes."""

import jax.numpy as jnp
import jaxtyping
import optimistix as optx
import pytest

from couplax.solve._tolerance import within


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


def test_annotated_shapes_are_checked_where_the_tests_run() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        within(jnp.ones(2), jnp.ones(2), rtol=1e-3, atol=1e-3, norm=lambda residual: residual)
