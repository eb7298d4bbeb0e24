"""Writes a model into a file, its constants into a second one where a single file would be too large."""

from pathlib import Path

import onnx
import onnx_ir as ir

from couplax._errors import ExportError

LARGEST = 2**30
"""Bytes of constants that go into the file itself, unless it is told otherwise."""

MOST = 2 * 10**9
"""Bytes of constants that a message may hold: ONNX's format ends at 2^31, the nodes included."""

_STAYS_INSIDE = 1024
"""An array below this many bytes stays in the file: shapes and indices, which ONNX's checker reads there."""


def save(model: ir.Model, path: Path, largest: int) -> None:
    """Writes `model` to `path`, checked; constants of more than `largest` bytes in all to `path.data`.

    Raises:
        ExportError: there is no such folder.
    """
    if not path.resolve().parent.is_dir():
        raise ExportError(f"There is no folder {path.parent} to write {path.name} into. Make it first.")
    beside = f"{path.name}.data" if bytes_of(model) > largest else None
    ir.save(model, path, external_data=beside, size_threshold_bytes=_STAYS_INSIDE)
    onnx.checker.check_model(str(path), full_check=True)


def as_proto(model: ir.Model) -> onnx.ModelProto:
    """Returns `model` as a message of ONNX's, checked.

    Raises:
        ExportError: it is larger than such a message may be.
    """
    size = bytes_of(model)
    if size > MOST:
        raise ExportError(
            f"The constants of this program take {size / 1e9:.1f} GB, and a message of ONNX's holds 2 GB in "
            "all. Write it into files by `couplax.save_onnx(path, ...)`."
        )
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def bytes_of(model: ir.Model) -> int:
    """Returns how many bytes the constants of `model` take."""
    constants = (value.const_value for value in model.graph.initializers.values())
    return sum(constant.nbytes for constant in constants if constant is not None)
