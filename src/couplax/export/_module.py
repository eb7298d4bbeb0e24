"""A lowered module, written so that a runtime older than JAX reads it.

Three things in what JAX lowers are not for other runtimes. Operations of `chlo` are kept as composites beside
their own definition in plain operations: a call of that takes their place. Annotations of `sdy` say how
arrays are spread over devices, here over one: they are taken out. The bytes are written in a version of
StableHLO that the runtime knows.
"""

from typing import Any

import jax.export
from jax.extend.mlir import ir, passmanager
from jax.extend.mlir.dialects import sdy, stablehlo

from couplax._errors import ExportError

_PLAIN = "builtin.module(func.func(stablehlo-legalize-composite-to-call))"


def written_for(exported: jax.export.Exported, version: str) -> bytes:
    """Returns the module of `exported` in plain operations, as a portable artifact of `version`.

    Raises:
        ExportError: it holds an operation that this version lacks.
    """
    stablehlo.register_stablehlo_passes()
    context = ir.Context()
    stablehlo.register_dialect(context)
    sdy.register_dialect(context)
    with context:
        module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
        _take_out_shardings(module)
        passmanager.PassManager.parse(_PLAIN).run(module.operation)
        try:
            return bytes(stablehlo.serialize_portable_artifact(module, version))
        except ValueError as error:
            raise ExportError(
                f"The program cannot be written in StableHLO {version}, which the runtime reads: {error}"
            ) from error


def _take_out_shardings(module: Any) -> None:
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name in {"sdy.mesh", "sdy.sharding_constraint"}:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in found:
        if operation.name == "sdy.sharding_constraint":
            operation.results[0].replace_all_uses_with(operation.operands[0])
        operation.erase()
