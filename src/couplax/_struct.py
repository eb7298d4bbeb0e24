"""`struct`: what stands for an array whose axes may be open, and the sizes that its names become."""

import re
from collections.abc import Iterable, Sequence
from keyword import iskeyword
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr

from couplax._errors import StageError
from couplax._sizes import is_symbolic

Struct = jax.ShapeDtypeStruct

_WORD = re.compile(r"[A-Za-z_]\w*")


def struct(*sizes: int | str, dtype: Any = None) -> Struct:
    """Returns what stands for an array of these sizes where a program is staged or exported.

    `struct("batch", 3)` has an axis of any size: the file that is made of it takes every batch. Equal names
    are equal sizes, in all the arguments of one call.

    Args:
        sizes: integers, names such as `"batch"`, or expressions of names such as `"2*batch"`; a name stands
            for a size of 1 at least.
        dtype: by default JAX's floating one, float64 where x64 is on and else float32.

    Raises:
        StageError: a size is none of these.
    """
    for size in sizes:
        _checked(size, f"struct{sizes}")
    return Struct(sizes, jax.dtypes.canonicalize_dtype(float) if dtype is None else jnp.dtype(dtype))


def with_sizes(args: Sequence[Any]) -> tuple[Any, ...]:
    """Returns `args` with JAX's symbolic sizes for the names in the shapes of structs, all of one scope.

    Raises:
        StageError: a name or expression cannot be read.
    """
    paths, tree = jax.tree_util.tree_flatten_with_path(tuple(args))
    leaves = [leaf for _, leaf in paths]
    if not any(map(_has_names, leaves)):
        return tuple(args)
    scope = _scope(leaves)
    return jax.tree.unflatten(tree, [_resolved(leaf, f"args{keystr(path)}", scope) for path, leaf in paths])


def _has_names(leaf: Any) -> bool:
    return isinstance(leaf, Struct) and any(isinstance(size, str) for size in leaf.shape)


def _scope(leaves: Iterable[Any]) -> jax.export.SymbolicScope:
    """Returns the scope of the sizes that JAX made already, which names then belong to, else a new one."""
    shapes = [leaf.shape for leaf in leaves if isinstance(leaf, Struct)]
    found = [size.scope for shape in shapes for size in shape if is_symbolic(size)]
    return found[0] if found else jax.export.SymbolicScope()


def _resolved(leaf: Any, place: str, scope: jax.export.SymbolicScope) -> Any:
    if not _has_names(leaf):
        return leaf
    return Struct(tuple(_checked(size, place, scope) for size in leaf.shape), leaf.dtype)


def _checked(size: Any, place: str, scope: jax.export.SymbolicScope | None = None) -> Any:
    """Returns `size`, JAX's where it is written as text.

    Raises:
        StageError: it is no size.
    """
    if is_symbolic(size) or _is_length(size):
        return size
    if not isinstance(size, str) or any(map(iskeyword, _WORD.findall(size))):
        raise _no_size(size, place)
    try:
        (found,) = jax.export.symbolic_shape(f"{size},", scope=scope)
    except ValueError as error:
        raise _no_size(size, place) from error
    if not is_symbolic(found):
        raise _no_size(size, place)
    return found


def _is_length(size: Any) -> bool:
    return isinstance(size, int | np.integer) and not isinstance(size, bool) and bool(size >= 0)


def _no_size(size: Any, place: str) -> StageError:
    return StageError(
        f"{place}: {size!r} is no size of an axis. A size is an integer from 0 up, a name such as 'batch', "
        "or an expression of names such as '2*batch + 1'."
    )
