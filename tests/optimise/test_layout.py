"""Named values in a flat vector, there and back."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from couplax.optimise._layout import Layout, block_of, ravel, unravel

VALUES: dict[str, Any] = {
    "a": 1.5,
    "b": np.arange(6.0).reshape(2, 3),
    "c": {"left": np.array([7.0, 8.0]), "right": 9.0},
    "d": np.zeros(0),
}
LAYOUT = Layout(tuple(block_of(name, value) for name, value in VALUES.items()))


def test_values_come_back_as_they_went() -> None:
    flat = LAYOUT.flat(VALUES)
    np.testing.assert_array_equal(flat, [1.5, 0, 1, 2, 3, 4, 5, 7, 8, 9])
    for back in (LAYOUT.named(flat), jax.jit(lambda flat: unravel(LAYOUT, flat))(flat)):
        jax.tree.map(np.testing.assert_array_equal, back, VALUES)


def test_traced_values_lie_as_those_of_numpy_do() -> None:
    np.testing.assert_array_equal(jax.jit(lambda values: ravel(values.values()))(VALUES), LAYOUT.flat(VALUES))


def test_a_scalar_is_spread_over_its_block() -> None:
    np.testing.assert_array_equal(block_of("b", VALUES["b"]).flat(2.0), np.full(6, 2.0))
    np.testing.assert_array_equal(block_of("c", VALUES["c"]).flat(2.0), np.full(3, 2.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [("b", np.zeros(4)), ("b", np.zeros((3, 2))), ("c", {"left": 1.0, "right": np.zeros(3)})],
)
def test_a_value_of_another_shape_does_not_fit(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match="broadcast"):
        block_of(name, VALUES[name]).flat(value)


def test_a_tree_with_other_leaves_does_not_fit() -> None:
    with pytest.raises(ValueError, match="3 values for 2"):
        block_of("c", VALUES["c"]).flat({"left": 1.0, "middle": 2.0, "right": 3.0})


def test_lists_of_numbers_are_arrays() -> None:
    np.testing.assert_array_equal(block_of("b", VALUES["b"]).flat([[1, 2, 3], [4, 5, 6]]), np.arange(1, 7))


def test_each_number_has_a_label() -> None:
    assert LAYOUT.labels == (
        "a",
        *(f"b[{row}, {column}]" for row in range(2) for column in range(3)),
        *(f"c[{number}]" for number in range(3)),
    )


def test_values_take_the_dtype_of_their_block() -> None:
    layout = Layout((block_of("single", jnp.float32(1.0)), block_of("double", 1.0)))
    back = unravel(layout, jnp.array([1.0, 2.0]))
    assert [value.dtype for value in back.values()] == [jnp.float32, jnp.float64]


def test_equal_layouts_are_one_key() -> None:
    again = Layout(tuple(block_of(name, value) for name, value in VALUES.items()))
    assert (again, hash(again)) == (LAYOUT, hash(LAYOUT))
