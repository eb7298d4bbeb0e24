"""What a routine with a C ABI takes and returns, as its caller declares it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ForeignError, close_matches, quoted

Struct = jax.ShapeDtypeStruct
Named = tuple[tuple[str, Struct], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One parameter of the routine: an input, an output, both (under one name), or the size of an axis."""

    name: str
    by_pointer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A routine's parameters and arrays.

    Attributes:
        name: the routine's symbol.
        inputs: names with structs, in the order of the call; `outputs`: in the order of JAX's leaves. A
            string in a shape names the size of an axis.
        arguments: the routine's parameters in its order.
        returned: the output that the routine returns, if any.
        size_dtype: the integer type of sizes.
    """

    name: str
    inputs: Named
    outputs: Named
    arguments: tuple[Argument, ...]
    returned: str | None
    size_dtype: np.dtype[Any]

    def sizes(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
        """Returns the named sizes that inputs of these shapes have.

        Raises:
            ForeignError: a shape is not as declared.
        """
        sizes: dict[str, int] = {}
        for (name, struct), shape in zip(self.inputs, shapes, strict=True):
            wanted = tuple(sizes.get(size, size) for size in struct.shape)
            fits = len(wanted) == len(shape) and all(
                isinstance(want, str) or want == size for want, size in zip(wanted, shape, strict=True)
            )
            if not fits:
                raise ForeignError(
                    f"Routine `{self.name}` is called with `{name}` of shape {_shape(shape)}, and it "
                    f"declares {_shape(wanted)}. Pass what is declared, or correct `inputs=`."
                )
            # A name that stands twice in one shape is checked against itself.
            for want, size in zip(struct.shape, shape, strict=True):
                if isinstance(want, str) and sizes.setdefault(want, size) != size:
                    raise ForeignError(
                        f"Routine `{self.name}` is called with `{name}` of shape {_shape(shape)}, whose "
                        f"axes named `{want}` differ in size."
                    )
        return sizes


@dataclass(frozen=True, slots=True)
class Returns:
    """The outputs as a function of the inputs' structs, in the structure that users see."""

    declaration: Declaration
    tree: Any

    def __call__(self, *inputs: Struct) -> Any:
        """Returns the outputs' structs.

        Raises:
            ForeignError: the number, a shape or a dtype of the inputs is not as declared.
        """
        declaration = self.declaration
        if len(inputs) != len(declaration.inputs):
            raise ForeignError(
                f"Routine `{declaration.name}` is called with {len(inputs)} inputs, and it declares "
                f"{len(declaration.inputs)}: {quoted(name for name, _ in declaration.inputs)}."
            )
        for (name, declared), given in zip(declaration.inputs, inputs, strict=True):
            _require_dtype(declaration.name, name, declared, given)
        sizes = declaration.sizes([given.shape for given in inputs])
        return jax.tree.unflatten(self.tree, [resolved(struct, sizes) for _, struct in declaration.outputs])


def _require_dtype(routine: str, name: str, declared: Struct, given: Struct) -> None:
    if jax.dtypes.canonicalize_dtype(declared.dtype) != declared.dtype:
        raise ForeignError(
            f"Routine `{routine}` declares `{name}` as {jnp.dtype(declared.dtype).name}, and JAX runs "
            "without 64-bit numbers "
            'here. Switch them on with `jax.config.update("jax_enable_x64", True)`.'
        )
    if not np.can_cast(given.dtype, declared.dtype, "same_kind"):
        raise ForeignError(
            f"Routine `{routine}` is called with `{name}` as {jnp.dtype(given.dtype).name}, and it declares "
            f"{jnp.dtype(declared.dtype).name}. Convert it, or correct `inputs=`."
        )


def resolved(struct: Struct, sizes: Mapping[str, int]) -> Struct:
    """Returns `struct` with its named sizes as numbers."""
    return Struct(tuple(sizes.get(size, size) for size in struct.shape), struct.dtype)


def _shape(shape: Sequence[Any]) -> str:
    return f"({', '.join(map(str, shape))})"


def declaration_of(
    name: str, inputs: Any, out: Any, arguments: Sequence[str] | None, size_dtype: Any
) -> tuple[Declaration, Returns]:
    """Returns the declaration and what it returns.

    Args:
        inputs: dtypes (scalars) or structs, by name or in order; unnamed ones are called `in0`, `in1`, ...
        out: a dtype, a struct, or a tuple, list or mapping of them; unnamed ones are called `out0`, `out1`,
            ...
        arguments: the routine's parameters; by default the inputs and then the outputs, scalar inputs by
            value, and one scalar output as the return value.

    Raises:
        ForeignError: the arguments do not name each input and output.
    """
    named_inputs = _named(inputs, "in")
    named_outputs, order, tree = _outputs(out)
    structs = dict(named_outputs)
    if arguments is None:
        only = order[0] if len(order) == 1 and not structs[order[0]].shape else None
        arguments = [input_name for input_name, _ in named_inputs]
        arguments += [f"*{output}" for output in order if output != only and output not in arguments]
    parsed = tuple(_parsed(name, argument) for argument in arguments)
    declaration = Declaration(
        name=name,
        inputs=named_inputs,
        outputs=named_outputs,
        arguments=parsed,
        returned=_returned(name, named_inputs, named_outputs, parsed),
        size_dtype=np.dtype(size_dtype),
    )
    _require_names(declaration)
    return declaration, Returns(declaration, tree)


def _named(parts: Any, prefix: str) -> Named:
    pairs = (
        parts.items() if isinstance(parts, Mapping) else ((f"{prefix}{k}", v) for k, v in enumerate(parts))
    )
    return tuple((name, _struct(part)) for name, part in pairs)


def _struct(part: Any) -> Struct:
    return Struct(part.shape, part.dtype) if isinstance(part, Struct) else Struct((), jnp.dtype(part))


def _outputs(out: Any) -> tuple[Named, list[str], Any]:
    """Returns the outputs in the order of JAX's leaves, their names as declared, and the tree."""
    if isinstance(out, Mapping):
        pairs = _named(out, "out")
        tree = jax.tree.structure({name: 0 for name, _ in pairs})
        return tuple(sorted(pairs)), [name for name, _ in pairs], tree
    parts = list(out) if isinstance(out, tuple | list) else [out]
    pairs = _named(parts, "out")
    zeros = type(out)(range(len(parts))) if isinstance(out, tuple | list) else 0
    return pairs, [name for name, _ in pairs], jax.tree.structure(zeros)


def _parsed(routine: str, argument: str) -> Argument:
    match = re.fullmatch(r"(\*?)\s*(\w+)", argument)
    if match is None:
        raise ForeignError(
            f"Routine `{routine}` declares the argument {argument!r}. Write the name of an input, an "
            "output or a size: `x` by value, `*x` by pointer."
        )
    return Argument(name=match[2], by_pointer=bool(match[1]))


def _returned(routine: str, inputs: Named, outputs: Named, arguments: Sequence[Argument]) -> str | None:
    listed = {argument.name for argument in arguments}
    left = [(name, struct) for name, struct in outputs if name not in listed]
    if len(left) > 1 or (left and left[0][1].shape):
        raise ForeignError(
            f"Routine `{routine}` does not list its outputs {quoted(name for name, _ in left)} among its "
            "arguments. One scalar output may be missing there: it is the return value."
        )
    return left[0][0] if left else None


def _require_names(declaration: Declaration) -> None:
    inputs = dict(declaration.inputs)
    sizes = {size for _, struct in declaration.inputs for size in struct.shape if isinstance(size, str)}
    known = {*inputs, *dict(declaration.outputs), *sizes}
    listed = [argument.name for argument in declaration.arguments]
    for name in listed:
        if name not in known:
            raise ForeignError(
                f"Routine `{declaration.name}` lists the argument `{name}`, which is no input, output or "
                f"size. Close: {quoted(close_matches(name, known))}."
            )
    missing = [name for name in inputs if name not in listed]
    if missing:
        raise ForeignError(
            f"Routine `{declaration.name}` does not list its inputs {quoted(missing)} among its arguments."
        )
    loose = {
        size for _, struct in declaration.outputs for size in struct.shape if isinstance(size, str)
    } - sizes
    if loose:
        raise ForeignError(
            f"Routine `{declaration.name}` has outputs of size {quoted(sorted(loose))}, which no input has. "
            "Write a number, or name the axis of an input so."
        )
