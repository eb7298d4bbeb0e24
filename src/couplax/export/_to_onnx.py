"""`to_onnx`: from a JAX function to an ONNX file that gives the same numbers."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from couplax.export._extra import require_onnx
from couplax.export._names import Names
from couplax.export._operators import ForeignChoice
from couplax.export._report import VerifyReport
from couplax.export._table import OnnxRules

if TYPE_CHECKING:
    import onnx


def to_onnx(
    fn: Callable[..., Any],
    *args: Any,
    inputs: Names = None,
    outputs: Names = None,
    opset: int | None = None,
    failures: Any = None,
    foreign: ForeignChoice = "error",
    verify: bool = True,
    rules: OnnxRules | None = None,
) -> "onnx.ModelProto":
    """Returns `fn` at `args` as an ONNX model, checked, and compared with JAX in ONNX Runtime.

    Args:
        fn: any JAX function of positional arguments.
        args: arrays, Python numbers or structs, or pytrees of them; their shapes and dtypes are the file's. A
            struct is a `jax.ShapeDtypeStruct` or a `couplax.struct`; a name among its sizes is an axis that
            the file leaves open.
        inputs: the names of the flat inputs; by default `fn.inputs`, which couplax's own functions have,
            else the names of the parameters, with the path of each array inside a structured one
            (`params.weight`, `x_0`).
        outputs: the names of the flat outputs; by default `fn.outputs`, else `out`, or `out_0`, `out_1`, ...
        opset: the ONNX operator set; by default the lowest that serves, so that old runtimes can run the
            file.
        failures: what becomes of a run-time check such as `eqx.error_if`. `"nan"`, the default: what is
            computed from what was checked is NaN (integers 0) where it fires. `"status"`: the file has one
            more output, the integer `status`, 0 where no check fired, else which one did first; what each
            number means that can occur stands as JSON under `couplax.status` in the file's metadata.
            `"ignore"`: checks are dropped. What `couplax.stage` made stays as it was staged.
        foreign: what becomes of a foreign code that is not `paired`. `"error"`: it is refused. `"custom_op"`:
            each call is a custom operator of the domain `couplax`, which the runtime has to supply; what the
            operators compute stands as JSON under `couplax.foreign` in the file's metadata, and
            `couplax.onnx_session` supplies them in Python.
        verify: whether to run the file and compare it with JAX, on `args` and near them.
        rules: the table of rules; by default couplax's own with those registered by
            `couplax.export.rule_for`.

    Raises:
        MissingExtraError: the packages of the extra `onnx` are not installed.
        StageError: the function holds something that cannot be staged.
        MissingRuleError: it holds a primitive without a rule.
        ExportError: it cannot be written, or not in that opset, or the names do not fit.
        VerificationError: the file does not give the numbers that JAX gives.
    """
    require_onnx()
    from couplax.export._save import as_proto
    from couplax.export._verify import verify as verified
    from couplax.export._write import written

    proto = as_proto(
        written(
            fn,
            args,
            inputs=inputs,
            outputs=outputs,
            opset=opset,
            failures=failures,
            foreign=foreign,
            rules=rules,
        )
    )
    if verify:
        verified(proto, fn, *args).assert_ok()
    return proto


def save_onnx(
    path: str | PathLike[str],
    fn: Callable[..., Any],
    *args: Any,
    inputs: Names = None,
    outputs: Names = None,
    opset: int | None = None,
    failures: Any = None,
    foreign: ForeignChoice = "error",
    verify: bool = True,
    rules: OnnxRules | None = None,
    largest: int | None = None,
) -> None:
    """Writes `fn` at `args` as an ONNX file at `path`, checked and compared as by `to_onnx`.

    For programs with constants of gigabytes, which `to_onnx` cannot return: they go into a second file,
    `path.data`, that stays beside the first.

    Args:
        largest: how many bytes of constants go into the file itself; beyond it all but small ones go into
            the second. By default 2^30, half of what ONNX's format allows.

    Raises:
        ExportError: as for `to_onnx`; there is no such folder.
    """
    require_onnx()
    from couplax.export._save import LARGEST, save
    from couplax.export._verify import verify as verified
    from couplax.export._write import written

    model = written(
        fn,
        args,
        inputs=inputs,
        outputs=outputs,
        opset=opset,
        failures=failures,
        foreign=foreign,
        rules=rules,
    )
    save(model, Path(path), LARGEST if largest is None else largest)
    if verify:
        verified(path, fn, *args).assert_ok()


def verify(
    proto: "onnx.ModelProto | str | PathLike[str]",
    fn: Callable[..., Any],
    *args: Any,
    tolerance: float | None = None,
) -> VerifyReport:
    """Returns how `proto` in ONNX Runtime compares with `fn` in JAX, on `args` and near them, as a table.

    Args:
        proto: the model, or the path of its file.
        args: as for `to_onnx`; a struct stands for random numbers, the same ones every time, and a name among
            its sizes for two sizes.
        tolerance: the largest error allowed, relative to the largest magnitude of an output; by default
            1e-12 in float64 and 1e-6 in float32; 1e-6 and 1e-2 where the file takes differences of a foreign
            code. Integers and booleans must be equal.

    Raises:
        MissingExtraError: the packages of the extra `onnx` are not installed.
        VerificationError: ONNX Runtime cannot run the file, or takes and gives other arrays than `fn`.
    """
    require_onnx()
    from couplax.export._verify import verify as verified

    return verified(proto, fn, *args, tolerance=tolerance)
