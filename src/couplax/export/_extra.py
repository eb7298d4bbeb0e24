"""The optional packages that the export needs, asked for when they are first used."""

from collections.abc import Sequence
from importlib.util import find_spec

from couplax._errors import MissingExtraError

_ONNX = ("onnx", "onnx_ir", "onnxruntime")
_EXTENSIONS = ("onnxruntime_extensions",)
_TENSORFLOW = ("tensorflow",)


def require_onnx() -> None:
    """Returns nothing; raises where a package of the extra `onnx` is missing.

    Raises:
        MissingExtraError: with the command that installs what is missing.
    """
    _require("Writing ONNX", _ONNX, "onnx")


def require_extensions() -> None:
    """Returns nothing; raises where the package that runs operators in Python is missing.

    Raises:
        MissingExtraError: with the command that installs it.
    """
    _require("Running foreign code in ONNX Runtime", _EXTENSIONS, "onnx-operators")


def require_tensorflow() -> None:
    """Returns nothing; raises where TensorFlow is missing.

    Raises:
        MissingExtraError: with the command that installs it.
    """
    _require("Writing for TensorFlow", _TENSORFLOW, "tensorflow")


def _require(what: str, packages: Sequence[str], extra: str) -> None:
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"{what} needs {', '.join(f'`{name}`' for name in missing)}, not installed here. "
            f"Install it with: pip install 'couplax[{extra}]'"
        )
