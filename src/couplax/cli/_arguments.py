"""Arguments as they are typed: JSON, types such as `float32[batch,3]`, or an `.npz` file."""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from couplax._errors import StageError, close_matches, quoted
from couplax._struct import struct
from couplax._tree import struct_of
from couplax.cli._fault import CommandError
from couplax.export._names import input_names

_TYPE = re.compile(r"(?P<dtype>[a-z]+[0-9_a-z]*)\[(?P<sizes>[^\]]*)\]")
_AXIS = re.compile(r"(?P<name>.+):(?P<axis>[0-9]+)=(?P<size>[A-Za-z_][A-Za-z_0-9]*)")
# A comma between sizes, not one inside `max(a, b)`.
_COMMA = re.compile(r",(?![^()]*\))")

HELP = (
    "one per parameter: JSON (1.0, '[1, 2]', '{\"mass\": 2}'), a type (float32[batch,3]), or one .npz file "
    "whose arrays bear the parameters' names"
)


def arguments(fn: Callable[..., Any], spelled: Sequence[str], dynamic: Sequence[str]) -> tuple[Any, ...]:
    """Returns the arguments that `spelled` gives for `fn`, with the axes that `dynamic` names open.

    Raises:
        CommandError: they cannot be read, or `fn` does not take so many.
    """
    if len(spelled) == 1 and spelled[0].endswith(".npz"):
        values = _from_npz(fn, Path(spelled[0]))
    else:
        values = tuple(_value(text) for text in spelled)
    _check_count(fn, values)
    return _opened(fn, values, dynamic)


def _value(text: str) -> Any:
    match = _TYPE.fullmatch(text.replace(" ", ""))
    if match:
        return _struct(text, match["dtype"], match["sizes"])
    try:
        return _tree(json.loads(text), text)
    except json.JSONDecodeError as error:
        raise CommandError(
            f"Argument `{text}` is neither JSON ({error.msg}) nor a type such as float32[3]."
        ) from error


def _struct(text: str, dtype: str, sizes: str) -> jax.ShapeDtypeStruct:
    shape = [int(size) if size.isdigit() else size for size in _COMMA.split(sizes)] if sizes else []
    try:
        return struct(*shape, dtype=jax.dtypes.canonicalize_dtype(dtype))
    except (StageError, TypeError, ValueError) as error:
        raise CommandError(f"Argument `{text}` is no type that JAX knows: {error}") from error


def _tree(item: Any, text: str) -> Any:
    """Returns what JSON gave with arrays in place of lists of numbers."""
    match item:
        case dict():
            members: Mapping[str, Any] = item
            return {key: _tree(value, text) for key, value in members.items()}
        case list():
            return _array(item, text)
        case bool() | int() | float() | None:
            return item
        case _:
            raise CommandError(f"Argument `{text}` holds the text `{item}`, and numbers are wanted.")


def _array(item: Sequence[Any], text: str) -> Any:
    try:
        array = np.array(item)
    except ValueError as error:
        raise CommandError(f"Argument `{text}` has rows of different lengths.") from error
    if array.dtype.kind not in "biuf":
        raise CommandError(f"Argument `{text}` is no array of numbers.")
    return array


def _from_npz(fn: Callable[..., Any], path: Path) -> tuple[Any, ...]:
    if not path.is_file():
        raise CommandError(f"There is no file {path}.")
    try:
        with np.load(path) as held:
            arrays = {name: held[name] for name in held.files}
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} is no file of arrays that numpy has saved: {error}") from error
    names = input_names(fn, tuple(arrays.values()), None)
    if set(names) == set(arrays):
        return tuple(arrays[name] for name in names)
    if set(arrays) == {f"arr_{index}" for index in range(len(arrays))}:
        return tuple(arrays[f"arr_{index}"] for index in range(len(arrays)))
    raise CommandError(f"{path} holds {quoted(arrays)}, and the function takes {quoted(names)}.")


def _check_count(fn: Callable[..., Any], values: Sequence[Any]) -> None:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*values)
    except TypeError as error:
        raise CommandError(
            f"The function takes {signature}, and --args gives {len(values)} arguments: {error}."
        ) from error


def _opened(
    fn: Callable[..., Any],
    values: tuple[Any, ...],
    dynamic: Sequence[str],
) -> tuple[Any, ...]:
    """Returns `values` with structs in place of the arrays that have an axis of `dynamic`."""
    if not dynamic:
        return values
    leaves, tree = jax.tree.flatten(values)
    named = dict(zip(input_names(fn, values, None), leaves, strict=True))
    for text in dynamic:
        match = _AXIS.fullmatch(text)
        if match is None:
            raise CommandError(
                f"--dynamic `{text}` names no axis. Write `input:axis=size`, as in `x:0=batch`."
            )
        name = match["name"]
        if name not in named:
            close = close_matches(name, named)
            hint = f"Close: {quoted(close)}" if close else f"There are {quoted(named)}"
            raise CommandError(f"--dynamic `{text}`: there is no input `{name}`. {hint}.")
        named[name] = _with_open_axis(text, named[name], int(match["axis"]), match["size"])
    return jax.tree.unflatten(tree, named.values())


def _with_open_axis(text: str, value: Any, axis: int, size: str) -> jax.ShapeDtypeStruct:
    taken = struct_of(value)
    if axis >= len(taken.shape):
        raise CommandError(f"--dynamic `{text}`: that input has {len(taken.shape)} axes, counted from 0.")
    return struct(*taken.shape[:axis], size, *taken.shape[axis + 1 :], dtype=taken.dtype)
