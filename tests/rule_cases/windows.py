"""Convolutions of every form, and reductions over windows with their derivatives."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rule_cases import FLOATS, Case, matrices, matrix

IMAGES = (2, 4, 7, 6)
WEIGHTS = (6, 4, 3, 2)
FEATURES_FIRST = ("NCHW", "OIHW", "NCHW")


def _convolution(name: str, *shapes: tuple[int, ...], **params: Any) -> Case:
    given: dict[str, Any] = {"window_strides": (1, 2), "padding": "SAME"} | params

    def fn(x: Any, weights: Any) -> Any:
        return lax.conv_general_dilated(x, weights, **given)

    return Case(name=name, fn=fn, args=matrices(*shapes), units=16, whole=True)


def drawn_convolution(
    rng: np.random.Generator,
) -> tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]:
    """Returns a convolution of random form, and the shapes of an image and weights for it."""
    rank, groups, batches = (
        int(rng.integers(1, 3)),
        *(int(size) for size in rng.permutation(np.array([1, rng.integers(1, 3)]))),
    )
    window = rng.integers(1, 4, rank).tolist()
    each = int(rng.integers(1, 3))
    image = (batches * int(rng.integers(1, 3)), groups * each, *rng.integers(3, 8, rank).tolist())
    weights = (groups * batches * int(rng.integers(1, 3)), each, *window)
    fn = partial(
        lax.conv_general_dilated,
        window_strides=rng.integers(1, 3, rank).tolist(),
        padding=[tuple(edge) for edge in rng.integers(-1, 3, (rank, 2)).tolist()],
        lhs_dilation=rng.integers(1, 3, rank).tolist(),
        rhs_dilation=rng.integers(1, 3, rank).tolist(),
        feature_group_count=groups,
        batch_group_count=batches,
    )
    return fn, image, weights


def _drawn() -> Case:
    rng = np.random.default_rng(20240229)
    drawn = [drawn_convolution(rng) for _ in range(8)]
    shapes = [shape for _, *pair in drawn for shape in pair]

    def fn(*arrays: Any) -> list[Any]:
        pairs = zip(arrays[::2], arrays[1::2], strict=True)
        return [one(*pair) for (one, *_), pair in zip(drawn, pairs, strict=True)]

    return Case(name="convolutions of random form", fn=fn, args=matrices(*shapes), units=16, whole=True)


def _squared(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: (fn(*arrays) ** 2).sum()


_GROUPED = partial(
    lax.conv_general_dilated,
    window_strides=(1, 2),
    padding="SAME",
    rhs_dilation=(2, 1),
    feature_group_count=2,
)

CONVOLUTIONS = [
    _convolution("convolution", IMAGES, WEIGHTS, padding=[(1, 2), (0, 1)]),
    _convolution("convolution in a row", (2, 4, 9), (3, 4, 4), window_strides=(2,)),
    _convolution("convolution in space", (1, 2, 4, 4, 4), (3, 2, 2, 2, 2), window_strides=(1, 1, 1)),
    _convolution("convolution of points", (3, 4), (5, 4), window_strides=(), padding=()),
    _convolution(
        "convolution dilated and cut",
        IMAGES,
        WEIGHTS,
        padding=[(-1, 2), (3, -1)],
        lhs_dilation=(2, 3),
        rhs_dilation=(2, 1),
    ),
    _convolution("convolution by groups of features", IMAGES, (6, 2, 3, 2), feature_group_count=2),
    _convolution("convolution by groups of the batch", IMAGES, WEIGHTS, batch_group_count=2),
    _convolution(
        "convolution with features last",
        (2, 7, 6, 4),
        (3, 2, 4, 5),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    ),
    _convolution("convolution without a window inside", (2, 4, 1, 6), WEIGHTS, padding="VALID"),
    Case(
        name="transposed convolution",
        fn=partial(
            lax.conv_transpose, strides=(2, 3), padding="SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")
        ),
        args=matrices(IMAGES, (6, 4, 3, 2)),
        units=16,
        whole=True,
    ),
    Case(
        name="gradients of grouped convolutions",
        fn=jax.vmap(jax.grad(_squared(_GROUPED), (0, 1))),
        args=matrices((2, 2, 4, 5, 5), (2, 6, 2, 3, 2)),
        units=32,
        whole=True,
    ),
    Case(
        name="signals convolved",
        fn=lambda x, y: (jnp.convolve(x, y), jnp.correlate(x, y, "same")),
        args=matrices((9,), (4,)),
        units=16,
        whole=True,
    ),
    Case(
        name="convolution of integers",
        fn=lambda x: lax.conv_general_dilated(
            x, x[:2, :, :2], (1, 2), "SAME", preferred_element_type=jnp.int32
        ),
        args=matrix(2, 3, 5, 4),
        dtypes=(np.int8, np.int32),
    ),
    _drawn(),
]

_PLACES: dict[str, Any] = {
    "window_dimensions": (1, 3, 2),
    "window_strides": (1, 2, 1),
    "padding": ((0, 0), (1, 2), (0, 1)),
    "base_dilation": (1, 2, 1),
    "window_dilation": (1, 1, 2),
}
_POOL: dict[str, Any] = {
    "window_dimensions": (1, 3, 2),
    "window_strides": (1, 2, 1),
    "padding": ((0, 0), (1, 2), (0, 1)),
}


def with_odd_values(*shape: int) -> Callable[[Any], tuple[np.ndarray]]:
    """Returns a maker of normal numbers, NaN and infinities among them."""

    def make(dtype: Any) -> tuple[np.ndarray]:
        (x,) = matrices(shape)(dtype)
        x.reshape(-1)[[3, 11, 12]] = np.nan, np.inf, -np.inf
        return (x,)

    return make


def _start(x: Any, sign: int) -> Any:
    """Returns the least number of the dtype of `x`, or, with sign -1, the largest."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return x.dtype.type(-sign * np.inf)
    limits = np.iinfo(x.dtype)
    return x.dtype.type(limits.min if sign > 0 else limits.max)


def pooled(x: Any, sign: int = 1, **window: Any) -> Any:
    """Returns the largest number of each window, or, with sign -1, the least."""
    return lax.reduce_window(x, _start(x, sign), lax.max if sign > 0 else lax.min, **window)


def _pulled_back(x: Any, sign: int) -> Any:
    value, pullback = jax.vjp(partial(pooled, sign=sign, **_POOL), x)
    return pullback(jnp.cos(jnp.nan_to_num(value)))


def _pushed_forward(x: Any, sign: int) -> Any:
    fn = partial(pooled, sign=sign, **_POOL)
    return jax.jvp(fn, (x,), (jnp.cos(jnp.nan_to_num(x, posinf=1, neginf=1)),))


WINDOWS = [
    Case(
        name="extremes of windows",
        fn=lambda x: [pooled(x, sign, **_PLACES) for sign in (1, -1)],
        args=with_odd_values(2, 7, 6),
    ),
    Case(
        name="extreme integers of windows",
        fn=lambda x: [pooled(x, sign, **_PLACES) for sign in (1, -1)],
        args=matrix(2, 7, 6),
        dtypes=(np.int32, np.uint8),
    ),
    Case(
        name="sums and products of windows",
        fn=lambda x: [
            lax.reduce_window(x, x.dtype.type(0), lax.add, **_PLACES),
            lax.reduce_window(x, x.dtype.type(1), lax.mul, **_PLACES),
            lax.reduce_window(x, x.dtype.type(0), lambda a, b: a + b + a * b, **_PLACES),
        ],
        args=matrix(2, 7, 6),
        dtypes=(*FLOATS, np.int32),
        units=8,
        whole=True,
    ),
    Case(
        name="long windows",
        fn=lambda x: [
            lax.reduce_window(x, x.dtype.type(0), lax.add, (1, 12), (1, 1), ((0, 0), (11, 0))),
            pooled(x, window_dimensions=(1, 10), window_strides=(1, 3), padding="SAME"),
        ],
        args=matrices((2, 12)),
        units=8,
        whole=True,
    ),
    Case(
        name="no window inside",
        fn=lambda x: pooled(x, window_dimensions=(9, 1), window_strides=(1, 1), padding="VALID"),
        args=matrix(4, 5),
    ),
    Case(
        name="any in windows",
        fn=lambda x: lax.reduce_window(x, False, lax.bitwise_or, (3,), (1,), "SAME"),
        args=lambda dtype: (np.array([True, False, False, True, False, False, False]),),
        dtypes=(np.bool_,),
    ),
    Case(
        name="reduction by a function",
        fn=lambda x: lax.reduce(x, x.dtype.type(0), lambda a, b: a + b + a * b, (0, 2)),
        args=matrix(2, 3, 5),
        dtypes=(*FLOATS, np.int32),
        units=16,
        whole=True,
    ),
    Case(
        name="both extremes at once",
        fn=lambda x: lax.reduce(
            (x, x),
            (_start(x, -1), _start(x, 1)),
            lambda a, b: (jnp.minimum(a[0], b[0]), jnp.maximum(a[1], b[1])),
            (1,),
        ),
        args=with_odd_values(3, 7),
    ),
    Case(
        name="derivatives of pooling",
        fn=lambda x: [each(x, sign) for sign in (1, -1) for each in (_pulled_back, _pushed_forward)],
        args=matrices((2, 7, 6)),
        units=4,
        whole=True,
    ),
    # Which tangent a window with NaN passes on depends on the order in which JAX compares, which is open.
    Case(
        name="gradients of pooling odd values",
        fn=lambda x: [_pulled_back(x, sign) for sign in (1, -1)],
        args=with_odd_values(2, 7, 6),
        units=4,
        whole=True,
    ),
    Case(
        name="derivatives of pooling equal values",
        fn=lambda x: [_pulled_back(jnp.round(x), 1), _pulled_back(jnp.zeros_like(x), -1)],
        args=matrices((2, 7, 6)),
        units=4,
        whole=True,
    ),
]
