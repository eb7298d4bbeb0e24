"""ONNX files as they come: a model, its bytes, or the path of its file."""

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import onnx

from couplax._errors import ExportError

Source = onnx.ModelProto | bytes | str | PathLike[str]
"""A model, its bytes, or the path of its file."""


def metadata_of(source: Source) -> dict[str, str]:
    """Returns what a file says of itself, by key.

    Raises:
        ExportError: there is no such file, or it holds something else.
    """
    return {entry.key: entry.value for entry in _read(source).metadata_props}


def loadable(source: Source) -> bytes | Path:
    """Returns a file as ONNX Runtime loads it: as bytes or by its path."""
    if isinstance(source, onnx.ModelProto):
        return source.SerializeToString()
    return source if isinstance(source, bytes) else Path(source).resolve()


def _read(source: Source) -> onnx.ModelProto:
    if isinstance(source, onnx.ModelProto):
        return source
    what = "What was passed" if isinstance(source, bytes) else str(Path(source))
    decoding: Any = import_module("google.protobuf.message")
    try:
        if isinstance(source, bytes):
            return onnx.load_model_from_string(source)
        return onnx.load_model(str(Path(source)), load_external_data=False)
    except FileNotFoundError as error:
        raise ExportError(f"There is no file {what}.") from error
    except (decoding.DecodeError, OSError, ValueError) as error:
        raise ExportError(f"{what} is no ONNX file: {error}") from error
