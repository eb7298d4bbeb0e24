"""What a foreign code is declared to return, and the check that it does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ForeignError

Struct = jax.ShapeDtypeStruct
Declaration = Any
"""A dtype (for a scalar), a struct, a pytree of them, or a function from input structs to such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """A declaration as a value that can be compared and hashed."""

    structs: tuple[Struct, ...]
    paths: tuple[str, ...]
    tree: Any


def outputs_of(out: Declaration) -> "Outputs | Callable[..., Declaration]":
    """Returns `out` in comparable form; a function is kept, since what it gives depends on the inputs."""
    if not _is_leaf(out) and callable(out):
        function: Callable[..., Declaration] = out
        return function
    return _outputs(out)


def _outputs(out: Declaration) -> Outputs:
    leaves, tree = jax.tree.flatten_with_path(out, is_leaf=_is_leaf)
    paths = tuple(jax.tree_util.keystr(path) for path, _ in leaves)
    return Outputs(structs=tuple(_struct(leaf) for _, leaf in leaves), paths=paths, tree=tree)


def declared(name: str, out: "Outputs | Callable[..., Declaration]", inputs: Sequence[Any]) -> Outputs:
    """Returns what the code `name` declares to return for `inputs`, the structs of its arguments.

    Raises:
        ForeignError: a declared dtype is none that JAX computes with here.
    """
    outputs = outputs_for(out, inputs)
    for struct in outputs.structs:
        if jax.dtypes.canonicalize_dtype(struct.dtype) != struct.dtype:
            raise ForeignError(
                f"Foreign code `{name}` declares to return {_word(struct)}, and JAX runs without 64-bit "
                "numbers here. "
                'Switch them on with `jax.config.update("jax_enable_x64", True)`, or declare a 32-bit dtype, '
                "to which the code's values are then rounded."
            )
    return outputs


def outputs_for(out: "Outputs | Callable[..., Declaration]", inputs: Sequence[Any]) -> Outputs:
    """Returns what `out` declares for `inputs`, the structs of the arguments, whatever JAX computes with."""
    return out if isinstance(out, Outputs) else _outputs(out(*inputs))


def _is_leaf(out: Declaration) -> bool:
    return isinstance(out, str | type | np.dtype) or hasattr(out, "dtype")


def _struct(leaf: Any) -> Struct:
    return Struct(leaf.shape, leaf.dtype) if isinstance(leaf, Struct) else Struct((), jnp.dtype(leaf))


def checked(name: str, declaration: Outputs, result: Any) -> tuple[np.ndarray, ...]:
    """Returns the leaves of `result` as arrays of the declared dtypes.

    Raises:
        ForeignError: the structure, a shape or the kind of a dtype is not as declared.
    """
    leaves, tree = jax.tree.flatten(result)
    if tree != declaration.tree:
        raise ForeignError(
            f"Foreign code `{name}` returned {_shown(result)}, and declares "
            f"{_shown(jax.tree.unflatten(declaration.tree, declaration.structs))}. "
            "Return what is declared, or correct `out=`."
        )
    parts = zip(declaration.paths, declaration.structs, leaves, strict=True)
    return tuple(_leaf(name, path, struct, np.asarray(leaf)) for path, struct, leaf in parts)


def _shown(result: Any) -> str:
    """Returns a result's structure with each array as one word, such as `(float64[], float64[3])`."""
    return str(jax.tree.map(_word, result)).replace("'", "")


def _word(leaf: Any) -> str:
    struct = leaf if isinstance(leaf, Struct) else np.asarray(leaf)
    return f"{np.dtype(struct.dtype).name}[{','.join(map(str, struct.shape))}]"


def _leaf(name: str, path: str, struct: Struct, value: np.ndarray) -> np.ndarray:
    if value.shape == struct.shape and np.can_cast(value.dtype, struct.dtype, "same_kind"):
        return value.astype(struct.dtype, copy=False)
    which = f" as {path}" if path else ""
    raise ForeignError(
        f"Foreign code `{name}` returned {_word(value)}{which}, and declares {_word(struct)}. Return what is "
        "declared, or correct `out=`."
    )
