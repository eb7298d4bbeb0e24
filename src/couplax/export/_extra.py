"""The optional packages that the export needs, asked for when they are first used."""

from importlib.util import find_spec

from couplax._errors import MissingExtraError

_ONNX = ("onnx", "onnx_ir", "onnxruntime")


def require_onnx() -> None:
    """Returns nothing; raises where a package of the extra `onnx` is missing.

    Raises:
        MissingExtraError: with the command that installs what is missing.
    """
    missing = [name for name in _ONNX if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"Writing ONNX needs {', '.join(f'`{name}`' for name in missing)}, not installed here. "
            "Install it with: pip install 'couplax[onnx]'"
        )
