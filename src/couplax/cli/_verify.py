"""`couplax verify`: an ONNX file against the function that it was made from."""

import argparse
from pathlib import Path
from typing import Any

from couplax.cli._arguments import arguments
from couplax.cli._export import add_arguments, precision
from couplax.cli._fault import told_by_place
from couplax.cli._file import read_onnx
from couplax.cli._progress import working
from couplax.cli._subject import subject
from couplax.export import verify


def add_to(commands: Any) -> None:
    """Adds the command to the parser's `commands`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "verify",
        help="compare an ONNX file with the function in JAX",
        description="Run an ONNX file in ONNX Runtime and the function in JAX, and compare the numbers.",
    )
    parser.add_argument("file", type=Path, help="the ONNX file")
    parser.add_argument("function", help="module.py:function, or package.module:function")
    add_arguments(parser)
    parser.add_argument(
        "--tolerance", type=float, help="the largest error, relative to the largest magnitude"
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Runs the command and returns its exit code: 1 where a number differs."""
    proto = read_onnx(chosen.file)
    with precision(chosen):
        found = subject(chosen.function)
        args = arguments(found.fn, chosen.args, chosen.dynamic)
        message = f"Comparing {chosen.file.name} with {found.name}"
        with working(message), told_by_place(message, found.file):
            report = verify(proto, found.fn, *args, tolerance=chosen.tolerance)
    print(report)
    print("equal to JAX" if report.ok else "DIFFERS from JAX")
    return 0 if report.ok else 1
