"""`couplax export`: a function of a Python file out to ONNX, StableHLO or TensorFlow."""

import argparse
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax

from couplax._errors import quoted
from couplax.cli._arguments import HELP, arguments
from couplax.cli._fault import CommandError, told_by_place
from couplax.cli._progress import working
from couplax.cli._subject import Subject, subject
from couplax.export import save_tensorflow, to_onnx, to_stablehlo

_SUFFIXES = {".onnx": "onnx", ".stablehlo": "stablehlo"}

# Which options say something to which target.
_OPTIONS = {
    "onnx": ("inputs", "outputs", "opset", "failures", "foreign", "verify"),
    "stablehlo": ("platforms", "failures", "gradients", "portable"),
    "tensorflow": ("inputs", "outputs", "platforms", "failures", "gradients"),
}


def add_to(commands: Any) -> None:
    """Adds the command to the parser's `commands`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "export",
        help="write a function for a runtime without JAX",
        description="Write a JAX function to an ONNX file, a StableHLO file or a SavedModel of TensorFlow.",
    )
    parser.add_argument("function", help="module.py:function, or package.module:function")
    add_arguments(parser)
    parser.add_argument("--out", type=Path, required=True, help="the file to write; a folder for TensorFlow")
    parser.add_argument("--target", choices=list(_OPTIONS), help="default: by the suffix of --out, else onnx")
    parser.add_argument(
        "--failures",
        choices=["nan", "ignore", "status"],
        help="what becomes of run-time checks",
    )
    parser.add_argument("--inputs", type=_listed, help="names of the inputs, separated by commas")
    parser.add_argument("--outputs", type=_listed, help="names of the outputs, separated by commas")
    onnx = parser.add_argument_group("ONNX")
    onnx.add_argument("--opset", type=int, help="the operator set; default: the lowest that serves")
    onnx.add_argument(
        "--foreign", choices=["error", "custom_op"], help="what becomes of foreign codes; default: an error"
    )
    onnx.add_argument(
        "--no-verify", dest="verify", action="store_false", default=None, help="do not compare with JAX"
    )
    rest = parser.add_argument_group("StableHLO and TensorFlow")
    rest.add_argument("--platforms", type=_listed, help="of cpu, cuda, rocm, tpu, separated by commas")
    rest.add_argument("--gradients", action="store_true", default=None, help="write the gradient too")
    rest.add_argument(
        "--portable", action="store_true", default=None, help="StableHLO: without calls of LAPACK"
    )
    parser.set_defaults(run=run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what says which arguments a function is taken at, and in which precision."""
    parser.add_argument("--args", nargs="*", default=[], metavar="ARG", help=HELP)
    parser.add_argument(
        "--dynamic", action="append", default=[], metavar="INPUT:AXIS=SIZE", help="an open axis, as x:0=batch"
    )
    parser.add_argument("--x64", action="store_true", help="in double precision")


def precision(chosen: argparse.Namespace) -> Any:
    """Returns the context that `--x64` asks for; without it JAX's own setting stands."""
    return jax.enable_x64(True) if chosen.x64 else nullcontext()


def run(chosen: argparse.Namespace) -> int:
    """Runs the command and returns its exit code."""
    target = chosen.target or _SUFFIXES.get(chosen.out.suffix, "onnx")
    options = _options(chosen, target)
    if not chosen.out.resolve().parent.is_dir():
        raise CommandError(f"There is no folder {chosen.out.parent} to write {chosen.out.name} into.")
    with precision(chosen):
        found = subject(chosen.function)
        args = arguments(found.fn, chosen.args, chosen.dynamic)
        message = f"Exporting {found.name} for {target}"
        with working(message), told_by_place(message, found.file):
            written = _WRITERS[target](found, args, chosen.out, options)
    print(f"{chosen.out}: {written}")
    return 0


def _options(chosen: argparse.Namespace, target: str) -> Mapping[str, Any]:
    """Returns the options that were typed, for the target that they are for.

    Raises:
        CommandError: one says nothing to this target.
    """
    known = dict.fromkeys(name for names in _OPTIONS.values() for name in names)
    typed = {name: getattr(chosen, name) for name in known if getattr(chosen, name) is not None}
    strange = [_spelled(name) for name in typed if name not in _OPTIONS[target]]
    if strange:
        raise CommandError(
            f"{quoted(strange)} says nothing to the target {target}, which has "
            f"{quoted(map(_spelled, _OPTIONS[target]))}."
        )
    return typed


def _spelled(option: str) -> str:
    return "--no-verify" if option == "verify" else f"--{option}"


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _onnx(found: Subject, args: tuple[Any, ...], out: Path, options: Mapping[str, Any]) -> str:
    import onnx

    proto = to_onnx(found.fn, *args, **options)
    onnx.save_model(proto, str(out))
    names = [", ".join(entry.name for entry in part) for part in (proto.graph.input, proto.graph.output)]
    compared = "equal to JAX" if options.get("verify", True) else "not compared with JAX"
    made_of = f"{len(proto.graph.node)} nodes, opset {proto.opset_import[0].version}"
    return f"({names[0]}) -> ({names[1]}), {made_of}, {size_of(out)}, {compared}"


def _stablehlo(found: Subject, args: tuple[Any, ...], out: Path, options: Mapping[str, Any]) -> str:
    from couplax.export import from_stablehlo

    blob = to_stablehlo(found.fn, *args, **options)
    out.write_bytes(blob)
    return f"{from_stablehlo(blob)!r}, {size_of(out)}"


def _tensorflow(found: Subject, args: tuple[Any, ...], out: Path, options: Mapping[str, Any]) -> str:
    save_tensorflow(out, found.fn, *args, **options)
    return "a SavedModel: `call`, and the signature `serving_default`"


def size_of(path: Path) -> str:
    """Returns the size of the file at `path`, as `4.2 kB`."""
    size = float(path.stat().st_size)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


_WRITERS: Mapping[str, Callable[..., str]] = {
    "onnx": _onnx,
    "stablehlo": _stablehlo,
    "tensorflow": _tensorflow,
}
