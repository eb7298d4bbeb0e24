"""ONNX files as commands read them."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from couplax.cli._fault import CommandError
from couplax.export._extra import require_onnx

if TYPE_CHECKING:
    import onnx


def read_onnx(path: Path) -> "onnx.ModelProto":
    """Returns the model in the file at `path`.

    Raises:
        CommandError: there is no such file, or it holds something else.
    """
    require_onnx()
    import onnx

    if not path.is_file():
        raise CommandError(f"There is no file {path}.")
    decoding: Any = import_module("google.protobuf.message")
    try:
        proto = onnx.load_model(str(path))
    except (decoding.DecodeError, OSError, ValueError) as error:
        raise CommandError(f"{path} is no ONNX file: {error}") from error
    if not proto.opset_import:
        raise CommandError(f"{path} is no ONNX file: it names no operator set.")
    return proto
