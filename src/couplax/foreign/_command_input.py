"""The input file of a command: JSON, or a template with fields for the values."""

import json
import re
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from couplax._errors import ForeignError, close_matches, quoted

Values = Mapping[str, Any]
Writer = Callable[[Path, Values], None]
"""Writes the input file at a path, from the values by name."""


@dataclass(frozen=True, slots=True)
class JsonInput:
    """Writes one object that holds each value by name.

    Numbers are written with as many digits as give the same number when read; complex ones as objects of
    `real` and `imag`.
    """

    def __call__(self, path: Path, values: Values) -> None:
        """Writes `values` to the file at `path`."""
        path.write_text(json.dumps({name: _plain(value) for name, value in values.items()}))


@dataclass(frozen=True, slots=True)
class TemplateInput:
    """Writes a text in which each field, such as `{x}` or `{x[0]:.17g}`, is replaced by its value."""

    text: str

    def __call__(self, path: Path, values: Values) -> None:
        """Writes the text with `values` to the file at `path`."""
        path.write_text(filled(self.text, values))


def writer(write: "Writer | str | Path | None") -> Writer:
    """Returns what writes the input file: a template is read here, once; None means JSON.

    Raises:
        ForeignError: there is no template at the path.
    """
    if write is None:
        return JsonInput()
    if isinstance(write, str):
        return TemplateInput(write)
    if not isinstance(write, Path):
        return write
    if not write.is_file():
        raise ForeignError(f"There is no template `{write}` for the input file (`write=`).")
    return TemplateInput(write.read_text())


def filled(text: str, values: Values) -> str:
    """Returns `text` with its fields replaced; a number without a format is written with all its digits.

    An array is written with blanks between its numbers and each row on a line; a format applies to each
    number.

    Raises:
        ForeignError: a field does not fit its value.
    """
    fields = {name: value if isinstance(value, str) else _fields(value) for name, value in values.items()}
    try:
        return text.format_map(fields)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ForeignError(
            f"A field of the text {_short(text)} does not fit its value: {error}. Wanted: `{{name}}`, an "
            "element `{name[0]}`, or with a format `{name:.17g}`."
        ) from error


def check_fields(text: str, known: Iterable[str]) -> list[str]:
    """Returns the names that stand in the fields of `text`.

    Raises:
        ForeignError: a field bears an unknown name, or a brace is left alone.
    """
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
    except ValueError as error:
        raise ForeignError(
            f"The text {_short(text)} has a brace that belongs to no field: {error}. Write a plain brace "
            f"twice: `{{{{` or `}}}}`."
        ) from error
    known = list(known)
    names = [re.split(r"[.\[]", field, maxsplit=1)[0] for field in fields]
    for name in names:
        if name not in known:
            close = close_matches(name, known)
            hint = f" Close: {quoted(close)}." if close else ""
            raise ForeignError(
                f"The text {_short(text)} has a field `{{{name}}}`, and there is none of that name.{hint} "
                f"There are {quoted(known)}."
            )
    return names


def _short(text: str) -> str:
    return (
        f"`{text}`"
        if len(text) <= 60 and "\n" not in text
        else f"that begins with `{text[:40].splitlines()[0]}`"
    )


def _plain(value: Any) -> Any:
    """Returns `value` in dicts, lists and numbers of Python."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    array = np.asarray(value)
    if np.iscomplexobj(array):
        return {"real": np.real(array).tolist(), "imag": np.imag(array).tolist()}
    return array.tolist()


def _fields(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _fields(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_fields(part) for part in value]
    return _Field(np.asarray(value))


class _Field:
    """An array as a field of a text: its format is that of each number."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    @property
    def real(self) -> "_Field":
        return _Field(np.real(self._array))

    @property
    def imag(self) -> "_Field":
        return _Field(np.imag(self._array))

    def __getitem__(self, index: int) -> "_Field":
        return _Field(np.asarray(self._array[index]))

    def __format__(self, spec: str) -> str:
        if self._array.ndim == 0:
            return format(self._array.item(), spec)
        between = " " if self._array.ndim == 1 else "\n"
        return between.join(format(_Field(np.asarray(part)), spec) for part in self._array)
