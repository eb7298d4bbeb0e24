"""Plans: how each parameter of a routine is made of arrays, for its value, its tangent and its adjoint.

Tangents and adjoints follow the conventions of Tapenade. A floating-point parameter is followed by its
derivative; integers and sizes have none. In a tangent the derivative is passed as its parameter is; a routine
that returns a number returns its derivative and writes the number itself through one more pointer at the end.
In an adjoint the derivatives are pointers, to zeros for inputs (the routine sets them or adds to them), to
the cotangents for outputs (it may overwrite them); the cotangent of a returned number is passed by value at
the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import jax.numpy as jnp
import numpy as np

from couplax._errors import ForeignError
from couplax.foreign._c_declaration import Argument, Declaration, Struct, resolved

TYPES = {np.dtype(dtype): letter for dtype, letter in zip(
    (np.float64, np.float32, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8,
    np.bool_), "dfqihbQIHB?", strict=True,
)}  # fmt: skip
"""The dtypes that are passed by value, as the letters of Python's `struct`."""

NOT_PREPARED, ZEROED = -2, -1


class Kind(IntEnum):
    """Where a parameter comes from."""

    VALUE = 0
    INPUT = 1
    OUTPUT = 2
    CONSTANT = 3
    CONSTANT_POINTER = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """A call of a routine on flat arrays.

    Attributes:
        inputs, outputs: the arrays; outputs may be scratch, which nobody reads.
        parameters: kind, letter of the type, and the place among the inputs or outputs, or the constant.
        preparations: per output `NOT_PREPARED`, `ZEROED`, or the place of the input that it starts as.
        returned: letter of the returned number's type, or `-`; `returned_to`: the place of its output.
    """

    inputs: tuple[Struct, ...]
    outputs: tuple[Struct, ...]
    parameters: tuple[tuple[int, str, int], ...]
    preparations: tuple[int, ...]
    returned: str
    returned_to: int


@dataclass(slots=True)
class _Builder:
    """A plan under way, for one declaration at given shapes."""

    declaration: Declaration
    sizes: dict[str, int]
    inputs: list[Struct]
    outputs: list[Struct]
    preparations: list[int] = field(default_factory=list[int])
    parameters: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    returned: str = "-"
    returned_to: int = 0

    def pass_input(self, struct: Struct, place: int, by_pointer: bool) -> None:
        by_value = not (by_pointer or struct.shape)
        letter = _letter(self.declaration.name, struct) if by_value else "-"
        self.parameters.append((Kind.VALUE if by_value else Kind.INPUT, letter, place))

    def pass_output(self, place: int, preparation: int = NOT_PREPARED) -> None:
        self.preparations[place] = preparation
        self.parameters.append((Kind.OUTPUT, "-", place))

    def pass_size(self, argument: Argument) -> None:
        kind = Kind.CONSTANT_POINTER if argument.by_pointer else Kind.CONSTANT
        self.parameters.append((kind, TYPES[self.declaration.size_dtype], self.sizes[argument.name]))

    def returns(self, struct: Struct, place: int) -> None:
        self.returned, self.returned_to = _letter(self.declaration.name, struct), place

    def plan(self) -> Plan:
        return Plan(
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            parameters=tuple(self.parameters),
            preparations=tuple(self.preparations),
            returned=self.returned,
            returned_to=self.returned_to,
        )


def _builder(
    declaration: Declaration, shapes: Sequence[tuple[int, ...]]
) -> tuple[_Builder, list[Struct], list[Struct]]:
    sizes = declaration.sizes(shapes)
    inputs = [resolved(struct, sizes) for _, struct in declaration.inputs]
    outputs = [resolved(struct, sizes) for _, struct in declaration.outputs]
    return _Builder(declaration, sizes, list(inputs), []), inputs, outputs


def value_plan(declaration: Declaration, shapes: Sequence[tuple[int, ...]]) -> Plan:
    """Returns the plan for the value: inputs are the routine's, outputs too."""
    build, inputs, outputs = _builder(declaration, shapes)
    _extend(build, outputs)
    for argument in declaration.arguments:
        _pass_primal(build, argument, inputs, outputs)
    if declaration.returned is not None:
        place = _places(declaration.outputs)[declaration.returned]
        build.returns(outputs[place], place)
    return build.plan()


def tangent_plan(declaration: Declaration, shapes: Sequence[tuple[int, ...]]) -> Plan:
    """Returns the plan for the tangent: inputs are the routine's and the tangents of its floating ones.

    Outputs are the routine's, and the tangents of those that are floating-point numbers.
    """
    build, inputs, outputs = _builder(declaration, shapes)
    input_tangent = _extend_inputs(build, inputs)
    _extend(build, outputs)
    output_tangent = {k: len(build.outputs) + j for j, k in enumerate(_floating(outputs))}
    _extend(build, [outputs[k] for k in output_tangent])
    input_places, output_places = _places(declaration.inputs), _places(declaration.outputs)
    for argument in declaration.arguments:
        _pass_primal(build, argument, inputs, outputs)
        source, target = input_places.get(argument.name), output_places.get(argument.name)
        if target in output_tangent:
            start = input_tangent.get(source, ZEROED) if source is not None else NOT_PREPARED
            build.pass_output(output_tangent[target], start)
        elif source is not None and source in input_tangent:
            build.pass_input(inputs[source], input_tangent[source], argument.by_pointer)
    if declaration.returned is not None:
        place = output_places[declaration.returned]
        build.returns(outputs[place], output_tangent[place])
        build.pass_output(place)
    return build.plan()


def adjoint_plan(declaration: Declaration, shapes: Sequence[tuple[int, ...]]) -> Plan:
    """Returns the plan for the adjoint: inputs are the routine's and its floating outputs' cotangents.

    Outputs are the cotangents of the floating-point inputs, and scratch.
    """
    build, inputs, outputs = _builder(declaration, shapes)
    cotangent = {k: len(inputs) + j for j, k in enumerate(_floating(outputs))}
    build.inputs += [outputs[k] for k in cotangent]
    result = {k: j for j, k in enumerate(_floating(inputs))}
    _extend(build, [inputs[k] for k in result])
    scratch = len(build.outputs)
    _extend(build, outputs)
    spent = {k: len(build.outputs) + j for j, k in enumerate(cotangent)}
    _extend(build, [outputs[k] for k in spent])
    input_places, output_places = _places(declaration.inputs), _places(declaration.outputs)
    for argument in declaration.arguments:
        source, target = input_places.get(argument.name), output_places.get(argument.name)
        _pass_primal(build, argument, inputs, outputs, scratch)
        if source is not None and target is not None and source in result and target in cotangent:
            build.pass_output(result[source], cotangent[target])
        elif target in cotangent:
            build.pass_output(spent[target], cotangent[target])
        elif source in result:
            build.pass_output(result[source], ZEROED)
    if declaration.returned is not None:
        place = output_places[declaration.returned]
        build.pass_input(outputs[place], cotangent[place], by_pointer=False)
    return build.plan()


def _floating(structs: Sequence[Struct]) -> list[int]:
    return [k for k, struct in enumerate(structs) if jnp.issubdtype(struct.dtype, jnp.inexact)]


def _extend_inputs(build: _Builder, inputs: Sequence[Struct]) -> dict[int | None, int]:
    places: dict[int | None, int] = {k: len(inputs) + j for j, k in enumerate(_floating(inputs))}
    build.inputs += [inputs[k] for k in _floating(inputs)]
    return places


def _extend(build: _Builder, outputs: Sequence[Struct]) -> None:
    build.outputs += outputs
    build.preparations += [NOT_PREPARED] * len(outputs)


def _places(named: Sequence[tuple[str, Any]]) -> dict[str, int]:
    return {name: place for place, (name, _) in enumerate(named)}


def _pass_primal(
    build: _Builder,
    argument: Argument,
    inputs: Sequence[Struct],
    outputs: Sequence[Struct],
    first_output: int = 0,
) -> None:
    source = _places(build.declaration.inputs).get(argument.name)
    target = _places(build.declaration.outputs).get(argument.name)
    if target is not None:
        build.pass_output(first_output + target, NOT_PREPARED if source is None else source)
    elif source is not None:
        build.pass_input(inputs[source], source, argument.by_pointer)
    else:
        build.pass_size(argument)


def _letter(routine: str, struct: Struct) -> str:
    letter = TYPES.get(np.dtype(struct.dtype))
    if letter is None:
        raise ForeignError(
            f"Routine `{routine}` passes a {np.dtype(struct.dtype).name} by value, which differs from "
            "compiler to compiler. Pass it by pointer: `*name` in `arguments=`."
        )
    return letter
