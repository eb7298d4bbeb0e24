"""The output file of a command: JSON, or one regular expression for each output."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from couplax._errors import ForeignError, close_matches, quoted
from couplax.foreign._declaration import Outputs

Reader = Callable[[Path, Outputs], Any]
"""Returns the outputs as declared, from the folder in which the command ran."""


@dataclass(frozen=True, slots=True)
class JsonOutput:
    """Reads a JSON file: an object for a dict, an array for a tuple, the bare value for one output.

    What an object holds beyond the declared names is ignored.
    """

    file: str

    def __call__(self, folder: Path, out: Outputs) -> Any:
        """Returns what the file in `folder` holds, as `out` declares it."""
        text = _text(folder / self.file)
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ForeignError(
                f"`{self.file}` is no JSON: {error}. It begins with {text[:60]!r}. Another format is read "
                f"by `read=`."
            ) from error
        return _as_declared(found, jax.tree.unflatten(out.tree, out.structs), f"`{self.file}`")


@dataclass(frozen=True, slots=True)
class PatternOutput:
    """Reads a text: each output is what the groups of a regular expression hold at its last match.

    An array is written there as its numbers, in order, with blanks, commas or semicolons between them.
    Exponents may be written with a `D`, as Fortran does.

    Attributes:
        patterns: the expression for each output by name; one without a name for an output that is no dict.
    """

    file: str
    patterns: tuple[tuple[str | None, str], ...]

    def __call__(self, folder: Path, out: Outputs) -> Any:
        """Returns what the file in `folder` holds, as `out` declares it."""
        text = _text(folder / self.file)
        declared = jax.tree.unflatten(out.tree, out.structs)
        if self.patterns[0][0] is None:
            return self._one(text, self.patterns[0][1], declared)
        if not isinstance(declared, Mapping):
            raise ForeignError("`read=` has expressions by name, and `out` declares no dict of outputs.")
        return {str(name): self._one(text, pattern, declared.get(name)) for name, pattern in self.patterns}

    def _one(self, text: str, pattern: str, struct: Any) -> Any:
        matches = list(re.finditer(pattern, text, re.MULTILINE))
        if not matches:
            raise ForeignError(f"Nothing in `{self.file}` matches `{pattern}`. It ends with {text[-200:]!r}.")
        last = matches[-1]
        parts = last.groups() or (last.group(),)
        words = [word for part in parts for word in re.split(r"[\s,;]+", part or "") if word]
        try:
            numbers = np.array([complex(re.sub("[dD]", "e", word)) for word in words])
        except ValueError as error:
            raise ForeignError(
                f"`{pattern}` matches {words!r} in `{self.file}`, which is no number."
            ) from error
        return _shaped(numbers, struct, f"`{pattern}` in `{self.file}`")


@dataclass(frozen=True, slots=True)
class CustomOutput:
    """Reads with the user's `(folder) -> value(s)`."""

    read: Callable[[Path], Any]

    def __call__(self, folder: Path, out: Outputs) -> Any:
        """Returns what the user's function returns for `folder`."""
        return self.read(folder)


def reader(read: "Callable[[Path], Any] | Mapping[str, str] | str | None", file: str) -> Reader:
    """Returns what reads the output: JSON for None, expressions for texts, else the user's own.

    Raises:
        ForeignError: an expression is none.
    """
    if read is None:
        return JsonOutput(file)
    if isinstance(read, str):
        return PatternOutput(file, ((None, _pattern(read)),))
    if isinstance(read, Mapping):
        return PatternOutput(file, tuple((name, _pattern(pattern)) for name, pattern in read.items()))
    return CustomOutput(read)


def _pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ForeignError(f"`{pattern}` (`read=`) is no regular expression: {error}.") from error
    return pattern


def _text(path: Path) -> str:
    if not path.is_file():
        others = sorted(other.name for other in path.parent.iterdir())
        raise ForeignError(
            f"The command wrote no `{path.name}`; its folder holds {quoted(others)}. Name the file that it "
            f"writes in `output_file=` "
            "(`stdout.txt` is what it prints)."
        )
    return path.read_text(errors="replace")


def _as_declared(found: Any, declared: Any, place: str) -> Any:
    """Returns a value of JSON in the structure of `declared`."""
    if isinstance(declared, Mapping):
        return _object_as_declared(found, declared, place)
    if isinstance(declared, tuple | list):
        if not isinstance(found, list) or len(found) != len(declared):
            raise ForeignError(
                f"{place} holds {_kind(found)}, where an array of {len(declared)} is declared."
            )
        parts = [
            _as_declared(value, part, f"{place}[{k}]")
            for k, (value, part) in enumerate(zip(found, declared, strict=True))
        ]
        return tuple(parts) if isinstance(declared, tuple) else parts
    return _number(found, declared, place)


def _object_as_declared(found: Any, declared: Mapping[str, Any], place: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ForeignError(
            f"{place} holds {_kind(found)}, where an object with {quoted(declared)} is declared."
        )
    for name in declared:
        if name not in found:
            close = close_matches(name, found)
            hint = f" Close: {quoted(close)}." if close else ""
            raise ForeignError(f"{place} has no `{name}`, which is declared.{hint} It has {quoted(found)}.")
    return {name: _as_declared(found[name], part, f"{place}, `{name}`") for name, part in declared.items()}


def _number(found: Any, struct: jax.ShapeDtypeStruct, place: str) -> np.ndarray:
    try:
        array = np.asarray(
            np.asarray(found["real"]) + 1j * np.asarray(found["imag"])
            if isinstance(found, dict) and found.keys() == {"real", "imag"}
            else found
        )
    except ValueError as error:
        raise ForeignError(f"{place} holds rows of unequal lengths, where an array is declared.") from error
    if array.dtype.kind not in "biufc":
        raise ForeignError(
            f"{place} holds {_kind(found)}, where a number or an array of numbers is declared."
        )
    return _shaped(array, struct, place) if array.size == 0 else _typed(array, struct)


def _shaped(numbers: np.ndarray, struct: Any, place: str) -> np.ndarray:
    """Returns `numbers` in the declared shape, which a text does not say."""
    shape = () if struct is None else struct.shape
    if numbers.size != int(np.prod(shape)):
        raise ForeignError(
            f"{place} gives {numbers.size} numbers, where {int(np.prod(shape))} are declared, in the shape "
            f"{shape}."
        )
    return _typed(numbers.reshape(shape), struct)


def _typed(array: np.ndarray, struct: Any) -> np.ndarray:
    """Returns `array` in the declared dtype where no kind is lost: a file does not tell float32."""
    if struct is None:
        return array
    is_complex = np.issubdtype(struct.dtype, np.complexfloating)
    if np.iscomplexobj(array) and not is_complex and not np.imag(array).any():
        array = np.real(array)
    whole = np.issubdtype(struct.dtype, np.integer) and bool(np.all(array == np.round(np.real(array))))
    fits = whole or np.can_cast(array.dtype, struct.dtype, "same_kind")
    return array.astype(struct.dtype) if fits else array


def _kind(found: Any) -> str:
    """Returns what a value of JSON is, in JSON's words."""
    if isinstance(found, dict):
        return f"an object with {quoted(found)}"
    if isinstance(found, list):
        return f"an array of {len(found)}"
    return "nothing (`null`)" if found is None else f"`{found!r}`"
