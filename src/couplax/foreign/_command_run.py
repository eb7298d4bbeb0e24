"""One call of an executable: its folder, its files, its process."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from couplax._errors import ForeignError
from couplax.foreign._command_folder import Folders
from couplax.foreign._command_input import Writer, filled
from couplax.foreign._command_output import Reader
from couplax.foreign._command_process import Execution, printed
from couplax.foreign._declaration import Declaration, Outputs, declared

PLACES = ("input", "output", "folder")
"""The placeholders in a command that stand for paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """An executable as a function of numpy arrays; commands of equal parts are equal.

    Attributes:
        name: what messages call it.
        inputs: the names of its arguments.
        out: what it is declared to return.
        execution: how the executable is started.
        input_file: the name of the file that it reads; `output_file`: of the one that it writes.
        write: writes the input file; `read`: reads the outputs.
        folders: where its working folders are made.
        retries: how many more times it is run where it fails.
    """

    name: str
    inputs: tuple[str, ...]
    out: Outputs | Callable[..., Declaration]
    execution: Execution
    input_file: str
    output_file: str
    write: Writer
    read: Reader
    folders: Folders
    retries: int

    @property
    def __name__(self) -> str:
        """The name, as functions have one."""
        return self.name

    @property
    def __signature__(self) -> inspect.Signature:
        """The inputs as parameters, so that names can be read from it."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in self.inputs])

    def __call__(self, *args: Any) -> Any:
        """Returns the outputs for `args`, from one run of the executable.

        Raises:
            ForeignError: every attempt failed; the folder of each is kept.
        """
        values = dict(zip(self.inputs, args, strict=True))
        out = declared(self.name, self.out, [_structs(arg) for arg in args])
        for _ in range(self.retries):
            try:
                return self._attempt(values, out)
            except ForeignError:
                continue
        return self._attempt(values, out)

    def _attempt(self, values: Mapping[str, Any], out: Outputs) -> Any:
        with self.folders.new(self.name) as folder:
            try:
                self._run(values, folder)
                return self._outputs(folder, out)
            except ForeignError as error:
                raise ForeignError(
                    f"Foreign code `{self.name}` failed. {error}\nThe working folder is kept: {folder}"
                ) from error

    def _run(self, values: Mapping[str, Any], folder: Path) -> None:
        input_path = folder / self.input_file
        places = dict(
            zip(PLACES, (str(input_path), str(folder / self.output_file), str(folder)), strict=True)
        )
        self.write(input_path, values)
        arguments = [filled(argument, {**values, **places}) for argument in self.execution.arguments]
        self.execution.run(arguments, folder, input_path if self.execution.stdin else None)

    def _outputs(self, folder: Path, out: Outputs) -> Any:
        try:
            return self.read(folder, out)
        except ForeignError as error:
            raise ForeignError(f"{error}{printed(folder)}") from error


def _structs(arg: Any) -> Any:
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype), arg)
