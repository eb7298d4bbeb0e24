"""Convolutions: ONNX's `Conv` where ONNX Runtime has a kernel, else the windows times the weights."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from couplax.export._compositions import composed
from couplax.export._context import Context
from couplax.export._rules._windows import Windows, gathered, padded_with
from couplax.export._table import rule_for
from couplax.export._types import type_of

Array = Any

_KERNEL = frozenset({"float16", "float32"})


@rule_for("conv_general_dilated")
def _conv_general_dilated(
    context: Context,
    left: Any,
    right: Any,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: lax.ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: None = None,
) -> Any:
    window = {"strides": window_strides, "dilation": rhs_dilation}
    if not _is_plain(context, left, right, padding, lhs_dilation, dimension_numbers, batch_group_count):
        rewrite = composed(_rewritten)
        return rewrite(
            context,
            left,
            right,
            **window,
            padding=padding,
            spread=lhs_dilation,
            numbers=dimension_numbers,
            groups=feature_group_count,
            batches=batch_group_count,
            dtype=context.out.dtype,
        )
    if context.out.dtype.name not in _KERNEL:
        return composed(_by_windows)(
            context, left, right, **window, padding=padding, groups=feature_group_count
        )
    return context.op(
        "Conv",
        left,
        right,
        shape=context.out.shape,
        strides=list(window_strides),
        dilations=list(rhs_dilation),
        pads=[*(low for low, _ in padding), *(high for _, high in padding)],
        group=feature_group_count,
    )


def _is_plain(
    context: Context,
    left: Any,
    right: Any,
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    numbers: lax.ConvDimensionNumbers,
    batch_group_count: int,
) -> bool:
    """Returns whether the convolution is of the form that ONNX has: axes (batch, feature, space)."""
    in_order = tuple(range(len(context.out.shape)))
    return (
        all(tuple(spec) == in_order for spec in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec))
        and all(step == 1 for step in lhs_dilation)
        and batch_group_count == 1
        and all(low >= 0 and high >= 0 for low, high in padding)
        and type_of(left).dtype == type_of(right).dtype == context.out.dtype
        and len(in_order) > 2
        and 0 not in (*type_of(left).shape, *type_of(right).shape, *context.out.shape)
    )


def _rewritten(
    left: Array,
    right: Array,
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[tuple[int, int]],
    spread: Sequence[int],
    numbers: lax.ConvDimensionNumbers,
    groups: int,
    batches: int,
    dtype: Any,
) -> Array:
    """Returns the same convolution, its operands brought into the form that ONNX has."""
    left = left.transpose(numbers.lhs_spec).astype(dtype)
    right = right.transpose(numbers.rhs_spec).astype(dtype)
    left = padded_with(left, 0, [(0, 0), (0, 0), *padding], [1, 1, *spread])
    if batches > 1:
        left, groups = _batches_as_features(left, batches), batches
    shape = _out_shape(left, right, strides, dilation)
    if 0 in (*shape, *left.shape, *right.shape):
        out = jnp.zeros(shape, dtype)
    elif not strides:
        # No axis in space: a product of matrices, with one of size 1 for the windows to lie along.
        out = _plain(left[..., None], right[..., None], [1], [1], groups)[..., 0]
    else:
        out = _plain(left, right, strides, dilation, groups)
    return out.transpose(np.argsort(numbers.out_spec).tolist())


def _plain(left: Array, right: Array, strides: Sequence[int], dilation: Sequence[int], groups: int) -> Array:
    return lax.conv_general_dilated(
        left,
        right,
        strides,
        [(0, 0)] * len(strides),
        rhs_dilation=dilation,
        feature_group_count=groups,
    )


def _batches_as_features(left: Array, batches: int) -> Array:
    """Returns the groups of the batch side by side as groups of features, for which it is the same."""
    count, features, *space = left.shape
    grouped = left.reshape(batches, count // batches, features, *space)
    return jnp.moveaxis(grouped, 0, 1).reshape(count // batches, batches * features, *space)


def _out_shape(left: Array, right: Array, strides: Sequence[int], dilation: Sequence[int]) -> list[int]:
    windows = Windows(size=right.shape[2:], stride=strides, dilation=dilation)
    return [left.shape[0], right.shape[0], *windows.counts(left.shape[2:])]


def _by_windows(
    left: Array,
    right: Array,
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[tuple[int, int]],
    groups: int,
) -> Array:
    """Returns the convolution as one product of matrices: all windows, and the weights."""
    x = padded_with(left, 0, [(0, 0), (0, 0), *padding], [1] * left.ndim)
    space = _out_shape(x, right, strides, dilation)[2:]
    for axis in reversed(range(len(space))):
        x = gathered(x, axis + 2, right.shape[axis + 2], strides[axis], dilation[axis])
    # Now (batch, feature, place, place in the window, place, place in the window, ...).
    places, within = range(2, x.ndim, 2), range(3, x.ndim, 2)
    x = x.transpose([0, *places, 1, *within]).reshape(left.shape[0], *space, groups, -1)
    weights = right.reshape(groups, right.shape[0] // groups, -1)
    out = jnp.einsum("...gk,gok->...go", x, weights)
    return jnp.moveaxis(out.reshape(*out.shape[:-2], right.shape[0]), -1, 1)
