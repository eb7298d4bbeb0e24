"""Symbolic sizes, such as `2*batch + 1`: what JAX gives for an axis that is open until the program runs.

JAX says what a size is by how it prints, in the grammar that `jax.export.symbolic_shape` reads. So that is
read here, as Python's own grammar, and each operation is done in whatever arithmetic is at hand: on integers,
or as the nodes of a graph.
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from types import MappingProxyType
from typing import Any

import jax.export

from couplax._errors import StageError

Size = Any
"""An integer, or what JAX has for one that is open."""

Number = Any
"""What the arithmetic at hand computes with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """How to compute with sizes: `constant` from an integer to a number, and the operations by name."""

    constant: Callable[[int], Number]
    operations: Mapping[str, Callable[[Number, Number], Number]]


INTEGERS = Arithmetic(
    constant=int,
    operations=MappingProxyType(
        {
            "add": operator.add,
            "sub": operator.sub,
            "mul": operator.mul,
            "floordiv": operator.floordiv,
            "mod": operator.mod,
            "max": max,
            "min": min,
        }
    ),
)
"""Python's own integers."""

_OPERATORS: Mapping[type[ast.operator], str] = MappingProxyType(
    {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
)


def is_symbolic(size: Size) -> bool:
    """Returns whether `size` is open until the program runs."""
    return not isinstance(size, int) and jax.export.is_symbolic_dim(size)


def is_open(shape: Iterable[Size]) -> bool:
    """Returns whether a size in `shape` is open until the program runs."""
    return any(map(is_symbolic, shape))


def symbols_in(size: Size) -> frozenset[str]:
    """Returns the names that `size` is made of."""
    return _names(str(size)) if is_symbolic(size) else frozenset()


def size_at(size: Size, symbols: Mapping[str, Number], arithmetic: Arithmetic = INTEGERS) -> Number:
    """Returns what `size` is where its names are `symbols`."""
    if not is_symbolic(size):
        return arithmetic.constant(int(size))
    return _computed(_parsed(str(size)), symbols, arithmetic)


def shape_at(shape: Iterable[Size], symbols: Mapping[str, int]) -> tuple[int, ...]:
    """Returns what `shape` is where its names are `symbols`."""
    return tuple(size_at(size, symbols) for size in shape)


def solved(sizes: Sequence[tuple[Size, Number]], arithmetic: Arithmetic = INTEGERS) -> dict[str, Number]:
    """Returns the names in `sizes` that what these are at run time gives.

    A size gives its one name that is not known yet, where it is linear in that: `2*batch + 1` gives `batch`.

    Args:
        sizes: pairs of a size and what it is.
    """
    symbols: dict[str, Number] = {}
    rest = [pair for pair in sizes if is_symbolic(pair[0])]
    # A size that is a name alone comes before one that has to be solved for it.
    rest.sort(key=lambda pair: not str(pair[0]).isidentifier())
    while rest:
        ready = [pair for pair in rest if len(symbols_in(pair[0]).difference(symbols)) < 2]
        if not ready:
            break
        for size, number in ready:
            _solve(size, number, symbols, arithmetic)
        rest = [pair for pair in rest if pair not in ready]
    return symbols


def _solve(size: Size, number: Number, symbols: dict[str, Number], arithmetic: Arithmetic) -> None:
    """Adds to `symbols` the one name that `size` lacks, where it is linear in that."""
    for name in symbols_in(size).difference(symbols):
        slope, rest = _linear(size, name)
        if slope and name not in symbols_in(rest):
            symbols[name] = _quotient(_difference(number, rest, symbols, arithmetic), slope, arithmetic)


def _linear(size: Size, name: str) -> tuple[int, Size]:
    """Returns by how much `size` grows with `name`, and what is left of it without that."""
    (symbol,) = jax.export.symbolic_shape(name, scope=size.scope)
    ones = dict.fromkeys(symbols_in(size), 1)
    slope = size_at(size, {**ones, name: 2}) - size_at(size, ones)
    return slope, size - slope * symbol


def _difference(number: Number, size: Size, symbols: Mapping[str, Number], arithmetic: Arithmetic) -> Number:
    if not is_symbolic(size) and size == 0:
        return number
    return arithmetic.operations["sub"](number, size_at(size, symbols, arithmetic))


def _quotient(number: Number, divisor: int, arithmetic: Arithmetic) -> Number:
    if divisor == 1:
        return number
    return arithmetic.operations["floordiv"](number, arithmetic.constant(divisor))


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text.replace("^", "**"), mode="eval").body


@cache
def _names(text: str) -> frozenset[str]:
    nodes = list(ast.walk(_parsed(text)))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called)


def _computed(node: ast.expr, symbols: Mapping[str, Number], arithmetic: Arithmetic) -> Number:
    def of(part: ast.expr) -> Number:
        return _computed(part, symbols, arithmetic)

    match node:
        case ast.Constant(value=int(number)):
            return arithmetic.constant(number)
        case ast.Name(id=name):
            return symbols[name]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return arithmetic.constant(-number)
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return arithmetic.operations["mul"](arithmetic.constant(-1), of(part))
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return reduce(arithmetic.operations["mul"], [of(base)] * power)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return arithmetic.operations[_OPERATORS[type(op)]](of(left), of(right))
        case ast.Call(func=ast.Name(id=name), args=parts) if name in arithmetic.operations:
            return reduce(arithmetic.operations[name], map(of, parts))
        case _:
            raise StageError(
                f"The open size `{ast.unparse(node)}` is of a form that couplax cannot compute; sums, "
                "products, powers, `floordiv`, `mod`, `max` and `min` of names and integers it can. Write "
                "that size otherwise, or give an integer in its place."
            )
