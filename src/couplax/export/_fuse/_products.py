"""A product and a sum in one `Gemm`: `x + c k` for a number `c`, and `x W + b`.

`x + c k` is the `Gemm` of the matrix of one number `[[c]]` and the row `k`: no element of `k` meets another,
so a NaN stays where it is. `Gemm` may round the product and the sum at once, as XLA may too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import onnx_ir as ir

from couplax.export._fuse._graphs import (
    FUSED_DTYPES,
    Editor,
    all_nodes,
    constant_of,
    has_shape,
    is_unread,
    put_for,
    rank,
    remove,
)
from couplax.export._types import type_of

_LONGEST = 1024
"""A longer row is cheaper multiplied first and added then, in float64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Product:
    """`alpha * left * right + beta * bias`, with `left` a number or `right` a matrix."""

    left: ir.Value
    right: ir.Value
    bias: ir.Value | None
    alpha: float = 1.0
    beta: float = 1.0


def is_product(node: ir.Node) -> bool:
    """Returns whether `node` adds a product that one `Gemm` can hold with it, once both are rows."""
    return next(_products(node), None) is not None


def fuse_products(editor: Editor, graph: ir.Graph) -> None:
    """Puts one `Gemm` for each product of matrices and what is added to it, then for products of three.

    A product that is read twice may be read once after a turn, for a `Gemm` takes it apart.
    """
    for read in (_products, _products_of_three):
        while any([_fuse(editor, node, read) for node in list(all_nodes(graph))]):
            pass


def _fuse(editor: Editor, node: ir.Node, read: Callable[[ir.Node], Iterator[_Product]]) -> bool:
    """Returns whether `node` gave way to a `Gemm`."""
    for found in read(node) if node.graph is not None and rank(node.outputs[0]) == 2 else ():
        left, right = _matrix(editor, found.left), _matrix(editor, found.right)
        if left is not None and right is not None:
            _put(editor, node, left, right, found)
            return True
    return False


def _put(editor: Editor, node: ir.Node, left: ir.Value, right: ir.Value, found: _Product) -> None:
    scales = {name: scale for name in ("alpha", "beta") if (scale := getattr(found, name)) != 1}
    output = node.outputs[0]
    fused = editor.node("Gemm", [left, right, found.bias], type_of(output), **scales)
    node.append(fused)
    put_for(output, fused.outputs[0])
    makers = [each.producer() for each in node.inputs if each is not None and each is not found.bias]
    remove(node)
    remove(*(maker for maker in makers if maker is not None and is_unread(maker)))


def _matrix(editor: Editor, value: ir.Value) -> ir.Value | None:
    """Returns `value` as a matrix; None where it is none and would have to be turned into one."""
    array = constant_of(value)
    if rank(value) == 2 or array is None:
        return value if rank(value) == 2 else None
    return editor.builder.constant(array.reshape(1, -1))


def _products(node: ir.Node) -> Iterator[_Product]:
    """Yields the ways to read `node` as the sum of a product and something."""
    if node.op_type not in ("Add", "Sub") or not _is_matrix_to_be(node.outputs[0]):
        return
    first, second = node.inputs
    sign = 1.0 if node.op_type == "Add" else -1.0
    if first is not None and second is not None and first is not second:
        yield from _read(first, second, node, alpha=1.0, beta=sign)
        yield from _read(second, first, node, alpha=sign, beta=1.0)


def _products_of_three(node: ir.Node) -> Iterator[_Product]:
    """Yields the ways to read `node` as `w (c k)`, where nothing else reads `c k`."""
    if node.op_type == "Mul" and _is_matrix_to_be(node.outputs[0]):
        for left, right in _factors(node):
            for weight, number, row in _weighted(node, left, right) if _is_read_once(right) else ():
                yield _Product(left=number, right=row, bias=None, alpha=weight)


def _read(
    product: ir.Value, bias: ir.Value, node: ir.Node, *, alpha: float, beta: float
) -> Iterator[_Product]:
    maker, output = product.producer(), node.outputs[0]
    if maker is None or maker.graph is not node.graph or not _is_read_once(product):
        return
    if not _spreads_to(bias, output) or _flat(product) != _flat(output):
        return
    for left, right in _factors(maker):
        for weight, number, row in _weighted(maker, left, right):
            yield _Product(left=number, right=row, bias=bias, alpha=alpha * weight, beta=beta)
        yield _Product(left=left, right=right, bias=bias, alpha=alpha, beta=beta)


def _weighted(maker: ir.Node, left: ir.Value, right: ir.Value) -> Iterator[tuple[float, ir.Value, ir.Value]]:
    """Yields `w`, `c` and `k` of a product `w (c k)` whose `w` an attribute, a float32, can hold."""
    weight, inner = constant_of(left), right.producer()
    if maker.op_type != "Mul" or weight is None or inner is None or inner.op_type != "Mul":
        return
    if np.all(weight == weight.astype(np.float32)):
        for number, row in _factors(inner):
            yield float(weight.reshape(())), number, row


def _factors(maker: ir.Node) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Yields the two factors of a product that `Gemm` can take, in its order."""
    first, second = maker.inputs[0], maker.inputs[-1]
    if first is None or second is None:
        return
    if maker.op_type == "MatMul" and rank(first) in (1, 2) and rank(second) == 2:
        yield first, second
    if maker.op_type == "Mul" and _size(maker.outputs[0]) <= _LONGEST:
        for number, row in ((first, second), (second, first)):
            if _size(number) == 1 and _flat(row) == _flat(maker.outputs[0]) and _flat(row)[0] == 1:
                yield number, row


def _is_matrix_to_be(value: ir.Value) -> bool:
    """Returns whether `value` is a matrix or may be held as one, in a dtype of `Gemm`."""
    return has_shape(value) and rank(value) <= 2 and type_of(value).dtype.name in FUSED_DTYPES


def _is_read_once(value: ir.Value) -> bool:
    return not value.is_graph_output() and len(value.uses()) == 1


def _flat(value: ir.Value) -> tuple[int, ...]:
    """Returns the shape of `value` as a matrix."""
    shape = type_of(value).shape
    return (*[1] * (2 - len(shape)), *shape)


def _spreads_to(value: ir.Value, output: ir.Value) -> bool:
    return (
        has_shape(value)
        and rank(value) <= 2
        and all(size in (1, wanted) for size, wanted in zip(_flat(value), _flat(output), strict=True))
    )


def _size(value: ir.Value) -> int:
    return prod(type_of(value).shape) if has_shape(value) else -1
