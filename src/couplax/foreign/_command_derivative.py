"""Commands for the derivatives of a command: a direction or weights stand beside the inputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from couplax.foreign._command_input import JsonInput
from couplax.foreign._command_output import JsonOutput
from couplax.foreign._command_run import Command

Routine = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class TangentCommand:
    """A command as `(primals, tangents) -> tangents of the outputs`."""

    command: Command

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Returns J tangents, from one run of the command."""
        names = self.command.inputs[:-1]
        return self.command(*primals, dict(zip(names, tangents, strict=True)))


@dataclass(frozen=True, slots=True)
class AdjointCommand:
    """A command as `(primals, cotangents) -> cotangents of the inputs`; those of whole numbers are zero."""

    command: Command

    def __call__(self, primals: Sequence[Any], cotangents: Any) -> tuple[Any, ...]:
        """Returns J^T cotangents, from one run of the command."""
        found = self.command(*primals, cotangents)
        named = zip(self.command.inputs[:-1], primals, strict=True)
        return tuple(found.get(name, jax.tree.map(np.zeros_like, primal)) for name, primal in named)


@dataclass(frozen=True, slots=True)
class _LikeInputs:
    """The declaration of an adjoint's outputs: each input that varies, by name."""

    names: tuple[str, ...]

    def __call__(self, *structs: Any) -> dict[str, Any]:
        named = zip(self.names, structs[:-1], strict=True)
        return {name: struct for name, struct in named if _varies(struct)}


def _varies(struct: Any) -> bool:
    return any(np.issubdtype(leaf.dtype, np.inexact) for leaf in jax.tree.leaves(struct))


def tangent_of(command: Command, given: tuple[str, ...] | Routine | None) -> Routine | None:
    """Returns `given` as a tangent routine of `command`: its arguments as a command, a function as it is."""
    if not isinstance(given, tuple):
        return given
    return TangentCommand(replace(_in_json(command, given, "tangent"), out=command.out))


def adjoint_of(command: Command, given: tuple[str, ...] | Routine | None) -> Routine | None:
    """Returns `given` as an adjoint routine of `command`: its arguments as a command, a function as it is."""
    if not isinstance(given, tuple):
        return given
    return AdjointCommand(replace(_in_json(command, given, "cotangent"), out=_LikeInputs(command.inputs)))


def _in_json(command: Command, arguments: tuple[str, ...], vector: str) -> Command:
    """Returns the command with `arguments` that reads, beside the inputs, `vector`, and speaks JSON."""
    return replace(
        command,
        name=f"{command.name} ({vector})",
        inputs=(*command.inputs, vector),
        execution=replace(command.execution, arguments=arguments),
        write=JsonInput(),
        read=JsonOutput(command.output_file),
    )
