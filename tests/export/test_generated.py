"""Rules on shapes, dtypes and values that nobody chose: ONNX Runtime against JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from jax import lax

from onnx_runtime import faults
from rule_cases import edges

pytestmark = pytest.mark.long_table(2)

settings.register_profile(
    "couplax",
    max_examples=12,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("couplax")

FLOATS = (np.float32, np.float64)
INTEGERS = (np.int8, np.int32, np.int64, np.uint8, np.uint32)
NUMBERS = (*FLOATS, *INTEGERS)
SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, max_side=4)


def numbers(dtype: Any) -> st.SearchStrategy[Any]:
    """Returns edge values and ordinary ones, half and half."""
    if np.issubdtype(dtype, np.floating):
        width = np.dtype(dtype).itemsize * 8
        ordinary: Any = st.floats(-8, 8, width=width)  # pyright: ignore[reportArgumentType]  # 32 or 64
    else:
        ordinary = st.integers(0 if np.dtype(dtype).kind == "u" else -9, 9)
    return ordinary | st.sampled_from(list(edges(dtype)))


@st.composite
def array(draw: st.DrawFn, dtype: Any, shape: Any = SHAPES) -> Any:
    """Draws an array of edge values and ordinary ones."""
    return draw(arrays.arrays(dtype, shape, elements=numbers(dtype)))


@st.composite
def moderate(draw: st.DrawFn, shape: Any, dtype: Any = np.float64) -> Any:
    """Draws an array of ordinary numbers."""
    whole = draw(arrays.arrays(np.int32, shape, elements=st.integers(-32, 32)))
    return whole.astype(dtype) / 8


@st.composite
def broadcast_pair(draw: st.DrawFn, dtypes: Any) -> Any:
    """Draws two arrays of a dtype whose shapes broadcast."""
    dtype = draw(st.sampled_from(dtypes))
    shapes = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    return tuple(draw(array(dtype, shape)) for shape in shapes.input_shapes)


def ranked(fn: Any) -> Any:
    """Returns `fn` of two arrays, their ranks made equal."""

    def call(x: Any, y: Any) -> Any:
        rank = max(jnp.ndim(x), jnp.ndim(y))
        return fn(*(jnp.reshape(v, (1,) * (rank - jnp.ndim(v)) + jnp.shape(v)) for v in (x, y)))

    return call


ARITHMETIC = (
    jnp.add,
    jnp.subtract,
    jnp.multiply,
    jnp.maximum,
    jnp.minimum,
    jnp.divide,
    jnp.remainder,
    jnp.floor_divide,
)
ORDER = (jnp.less, jnp.less_equal, jnp.equal, jnp.not_equal, jnp.greater)


@given(broadcast_pair(NUMBERS), st.sampled_from([*ARITHMETIC, *ORDER]))
def test_arithmetic_and_order(pair: Any, fn: Any) -> None:
    assert not faults(ranked(fn), *pair, units=2)


@given(st.data(), st.sampled_from(NUMBERS), st.sampled_from([*NUMBERS, np.bool_]))
def test_conversions(data: st.DataObject, old: Any, new: Any) -> None:
    assert not faults(lambda x: lax.convert_element_type(x, new), data.draw(array(old)))


REDUCTIONS = (jnp.sum, jnp.prod, jnp.max, jnp.min, jnp.any, jnp.all)


@given(st.data(), st.sampled_from(NUMBERS), st.sampled_from(REDUCTIONS))
def test_reductions(data: st.DataObject, dtype: Any, fn: Any) -> None:
    x = data.draw(array(dtype))
    axes = data.draw(st.sets(st.integers(0, x.ndim - 1)).map(tuple))
    assert not faults(lambda x: fn(x, axis=axes), x, units=64, whole=True)


@given(st.data(), st.sampled_from(NUMBERS), st.sampled_from([jnp.argmax, jnp.argmin, jnp.sort, jnp.argsort]))
def test_order_along_an_axis(data: st.DataObject, dtype: Any, fn: Any) -> None:
    x = data.draw(array(dtype))
    axis = data.draw(st.integers(0, x.ndim - 1))
    assert not faults(lambda x: fn(x, axis=axis), x)


@given(
    st.data(),
    st.sampled_from([lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp]),
    st.booleans(),
)
def test_cumulative(data: st.DataObject, fn: Any, reverse: bool) -> None:
    x = data.draw(moderate(SHAPES))
    axis = data.draw(st.integers(0, x.ndim - 1))
    assert not faults(lambda x: fn(x, axis, reverse), x, units=64, whole=True)


@st.composite
def contraction(draw: st.DrawFn) -> Any:
    """Draws two arrays with the dimension numbers of their product."""
    size = st.integers(0, 3)
    batch, summed, left, right = (draw(st.lists(size, max_size=2)) for _ in range(4))
    letters = iter("abcdefgh")
    groups = [{next(letters): size for size in sizes} for sizes in (batch, summed, left, right)]
    sides = []
    for free in groups[2:]:
        axes = draw(st.permutations([*groups[0], *groups[1], *free]))
        sizes = {**groups[0], **groups[1], **free}
        sides.append((axes, draw(moderate(tuple(sizes[axis] for axis in axes)))))
    numbers = tuple(
        tuple(tuple(axes.index(a) for a in group) for axes, _ in sides) for group in groups[1::-1]
    )
    return sides[0][1], sides[1][1], numbers


@given(contraction())
def test_products(drawn: Any) -> None:
    left, right, numbers = drawn
    assert not faults(lambda x, y: lax.dot_general(x, y, numbers), left, right, units=64, whole=True)


@given(st.data(), st.sampled_from(NUMBERS))
def test_padding(data: st.DataObject, dtype: Any) -> None:
    x = data.draw(array(dtype))
    config = [
        (data.draw(st.integers(-size, 3)), data.draw(st.integers(0, 3)), data.draw(st.integers(0, 2)))
        for size in x.shape
    ]
    assert not faults(lambda x: lax.pad(x, jnp.asarray(1, x.dtype), config), x)


@given(st.data(), st.sampled_from(NUMBERS))
def test_slices_at_unknown_places(data: st.DataObject, dtype: Any) -> None:
    x = data.draw(array(dtype))
    sizes = [data.draw(st.integers(1, size)) for size in x.shape]
    starts = np.array([data.draw(st.integers(-6, 6)) for _ in x.shape], np.int32)
    assert not faults(lambda x, i: lax.dynamic_slice(x, list(i), sizes), x, starts)
    assert not faults(
        lambda x, i: lax.dynamic_update_slice(x, 1 + lax.slice(x, [0] * x.ndim, sizes), list(i)), x, starts
    )


@given(st.data(), st.sampled_from(FLOATS), st.sampled_from(["clip", "fill", "wrap"]))
def test_gathers(data: st.DataObject, dtype: Any, mode: str) -> None:
    x = data.draw(array(dtype))
    axis = data.draw(st.integers(0, x.ndim - 1))
    indices = data.draw(arrays.arrays(np.int32, SHAPES, elements=st.integers(-7, 7)))
    assert not faults(lambda x, i: jnp.take(x, i, axis, mode=mode), x, indices)


@given(
    st.data(), st.sampled_from(["set", "add", "multiply", "min", "max"]), st.sampled_from(["clip", "drop"])
)
def test_scatters(data: st.DataObject, method: str, mode: str) -> None:
    x = data.draw(moderate(SHAPES))
    count = data.draw(st.integers(1, 3))
    indices = data.draw(arrays.arrays(np.int32, (count,), elements=st.integers(-6, 6)))
    if method == "set":
        # Which of two writes to one place wins is not defined.
        indices = indices[:1]
    values = data.draw(moderate((len(indices), *x.shape[1:])))
    assert not faults(lambda x, i, v: getattr(x.at[i], method)(v, mode=mode), x, indices, values, units=8)


@given(st.data(), st.sampled_from([(lax.add, 0.0), (lax.max, -jnp.inf), (lax.min, jnp.inf)]))
def test_windows(data: st.DataObject, reduction: Any) -> None:
    x = data.draw(moderate(arrays.array_shapes(min_dims=2, max_dims=2, min_side=3, max_side=6)))
    fn, start = reduction
    window, strides, dilation = (tuple(data.draw(st.integers(1, 2)) for _ in x.shape) for _ in range(3))
    padding = [(data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in x.shape]

    def reduced(x: Any) -> Any:
        return lax.reduce_window(x, start, fn, window, strides, padding, window_dilation=dilation)

    assert not faults(reduced, x, units=8, whole=True)


@given(st.data())
def test_convolutions(data: st.DataObject) -> None:
    groups = data.draw(st.sampled_from([1, 2]))
    x = data.draw(moderate((2, 2 * groups, 7), np.float32))
    kernel = data.draw(moderate((2 * groups, 2, data.draw(st.integers(1, 3))), np.float32))
    stride, left, right = (data.draw(st.integers(1, 2)) for _ in range(3))
    padding = [(data.draw(st.integers(-1, 2)), data.draw(st.integers(0, 2)))]

    def convolved(x: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(
            x, kernel, (stride,), padding, (left,), (right,), feature_group_count=groups
        )

    assert not faults(convolved, x, kernel, units=64, whole=True)


@given(st.data(), st.sampled_from((*NUMBERS, np.bool_)))
def test_shapes(data: st.DataObject, dtype: Any) -> None:
    x = data.draw(arrays.arrays(dtype, SHAPES, elements=st.integers(0, 1)))
    order = data.draw(st.permutations(range(x.ndim)))
    axis = data.draw(st.integers(0, x.ndim - 1))

    def shaped(x: Any) -> Any:
        y = jnp.transpose(x, order)
        both = jnp.concatenate([x, jnp.flip(x, axis)], axis)
        return y, jnp.reshape(y, (-1,)), both, jnp.expand_dims(both, axis), jax.lax.rev(both, (axis,))

    assert not faults(shaped, x)
