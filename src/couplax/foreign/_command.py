"""`foreign_command`: an executable with an input file and an output file as a JAX function."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from couplax._errors import ForeignError, quoted
from couplax.foreign._command_derivative import adjoint_of, tangent_of
from couplax.foreign._command_folder import Folders
from couplax.foreign._command_input import TemplateInput, Writer, check_fields, writer
from couplax.foreign._command_output import reader
from couplax.foreign._command_process import Execution
from couplax.foreign._command_run import PLACES, Command
from couplax.foreign._declaration import Declaration, outputs_of
from couplax.foreign._foreign import Foreign, foreign

Arguments = Sequence[str | os.PathLike[str]]


def foreign_command(
    command: Arguments,
    inputs: Sequence[str],
    out: Declaration,
    *,
    write: Writer | str | Path | None = None,
    read: Callable[[Path], Any] | Mapping[str, str] | str | None = None,
    input_file: str = "input.json",
    output_file: str = "output.json",
    stdin: bool = False,
    tangent: Arguments | Callable[..., Any] | None = None,
    adjoint: Arguments | Callable[..., Any] | None = None,
    folder: str | os.PathLike[str] | None = None,
    keep: bool = False,
    files: Sequence[str | os.PathLike[str]] = (),
    timeout: float | None = None,
    retries: int = 0,
    allowed: Sequence[int] = (0,),
    environment: Mapping[str, str] | None = None,
    inherit: bool = True,
    name: str | None = None,
    thread_safe: bool = True,
    **options: Any,
) -> Foreign:
    """Returns the executable `command` as a differentiable JAX function of `inputs`.

    Each call runs it in a new working folder, which holds the input file and is removed when the call
    succeeds; when it fails, the folder is kept and the message says where. Ctrl-C and the timeout stop
    the executable and its children. Derivatives cost what `couplax.foreign` says.

    Args:
        command: the executable and its arguments, one text each: no shell reads them. `{input}`,
            `{output}` and `{folder}` stand for the paths of the two files and of the working folder, the
            name of an input for its value, `{{` for a brace.
        inputs: the names of the arguments, in order.
        out: what it returns, as for `couplax.foreign`.
        write: the input file. By default JSON, an object with each input by name; or a template, a text
            or the `Path` of one, with fields such as `{x}`, `{x[0]}` and `{x:.17g}`, where a number
            without a format keeps all its digits; or `(path, values) -> None`.
        read: the outputs. By default JSON, an object with each output by name (an array for a tuple, the
            bare value for one output); or a regular expression for each output by name (one alone for one
            output), whose groups hold its numbers and whose last match counts; or `(folder) -> value(s)`.
        input_file: the name of the file that the executable reads.
        output_file: the name of the file that it writes; `stdout.txt` is what it prints.
        stdin: whether it reads the input file as its standard input.
        tangent: a command for the derivative along one direction, in JSON: reads the inputs and, under
            `tangent`, a direction for each by name; writes the derivative as it would the outputs. Or a
            function, as for `couplax.foreign`.
        adjoint: a command for the transposed derivative, in JSON: reads the inputs and, under
            `cotangent`, the weights of the outputs as it would write them; writes an object with the
            derivative for each input by name. Or a function.
        folder: where the working folders are made; by default among the system's temporary files.
        keep: whether they are kept after a success too.
        files: files and folders that are copied into each working folder.
        timeout: how long one run may take [s].
        retries: how many more times a failed run is tried.
        allowed: the return codes that mean success.
        environment: variables set for the executable; `inherit`: whether it has those of this process
            besides.
        name: what messages call it; by default the name of the executable's file.
        thread_safe: whether runs may overlap: each has its own folder.
        options: further arguments of `couplax.foreign`: `differences`, `memo`, `scale`, ...

    Raises:
        ForeignError: an argument does not fit; on a call, where the executable fails.
    """
    arguments = _arguments(command, "command")
    primal = Command(
        name=name or Path(arguments[0]).name,
        inputs=_names(inputs),
        out=outputs_of(out),
        execution=Execution(
            arguments=arguments,
            stdin=stdin,
            timeout=timeout,
            allowed=tuple(allowed),
            environment=tuple(sorted((environment or {}).items())),
            inherit=inherit,
        ),
        input_file=input_file,
        output_file=output_file,
        write=writer(write),
        read=reader(read, output_file),
        folders=Folders(
            parent=None if folder is None else Path(folder).absolute(), keep=keep, files=_existing(files)
        ),
        retries=retries,
    )
    _check_reads_all(primal)
    return foreign(
        primal,
        out,
        tangent=tangent_of(primal, _derivative(tangent, "tangent")),
        adjoint=adjoint_of(primal, _derivative(adjoint, "adjoint")),
        name=primal.name,
        thread_safe=thread_safe,
        **options,
    )


def _arguments(command: Arguments, place: str) -> tuple[str, ...]:
    """Returns the arguments as texts; a relative path to the executable starts here, not in its folder."""
    if isinstance(command, str | bytes | os.PathLike):
        text = os.fsdecode(command)
        raise ForeignError(
            f"`{place}` is one text, {text!r}, and no shell reads it. Wanted: a sequence of arguments, "
            f"{shlex.split(text)}."
        )
    arguments = [os.fspath(argument) for argument in command]
    if not arguments:
        raise ForeignError(f"`{place}` is empty. Wanted: the executable and its arguments.")
    if os.sep in arguments[0] and Path(arguments[0]).exists():
        arguments[0] = os.path.abspath(arguments[0])
    return tuple(arguments)


def _names(inputs: Sequence[str]) -> tuple[str, ...]:
    names = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    taken = [name for name in names if name in (*PLACES, "tangent", "cotangent")]
    wrong = [name for name in names if not name.isidentifier()]
    if taken or wrong or len(set(names)) < len(names):
        raise ForeignError(
            f"The inputs of a command are {quoted(names)}. Wanted: names such as `x_1`, each once, "
            f"and other than {quoted([*PLACES, 'tangent', 'cotangent'])}."
        )
    return names


def _existing(files: Arguments) -> tuple[Path, ...]:
    paths = tuple(Path(file).absolute() for file in files)
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise ForeignError(
            f"To be copied into the working folder (`files=`), and not there: {quoted(missing)}."
        )
    return paths


def _check_reads_all(command: Command) -> None:
    """Raises where a field is unknown, or an input appears nowhere, so that the executable cannot know it."""
    known = [*command.inputs, *PLACES]
    seen = [name for text in command.execution.arguments for name in check_fields(text, known)]
    if not isinstance(command.write, TemplateInput):
        return
    seen += check_fields(command.write.text, command.inputs)
    unseen = [name for name in command.inputs if name not in seen]
    if unseen:
        raise ForeignError(
            f"Foreign code `{command.name}` never hands over {quoted(unseen)}: neither the template "
            f"(`write=`) nor the command "
            "has a field for it. Add one, or leave the name out of `inputs`."
        )


def _derivative(
    given: Arguments | Callable[..., Any] | None, place: str
) -> tuple[str, ...] | Callable[..., Any] | None:
    return given if given is None or callable(given) else _arguments(given, place)
