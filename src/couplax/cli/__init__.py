"""The command line: `couplax demo`, `export`, `verify` and `inspect`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from couplax._errors import CouplaxError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that `arguments` name and returns its exit code.

    It is 0, or 1 where the command failed or a file differs from JAX; what is no command ends with 2.
    """
    chosen = _parser().parse_args(arguments)
    try:
        return chosen.run(chosen)
    except CouplaxError as error:
        print(f"couplax: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    from couplax.cli import _export, _inspect, _verify

    parser = argparse.ArgumentParser(
        prog="couplax", description="Couple, differentiate and ship the code you have."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="run the main job end to end, and leave its files in a folder")
    demo.add_argument("--folder", type=Path, default=Path("demo"), help="where its files go (default: demo)")
    demo.set_defaults(run=_run_demo)
    _export.add_to(commands)
    _verify.add_to(commands)
    _inspect.add_to(commands)
    return parser


def _run_demo(chosen: argparse.Namespace) -> int:
    from couplax.cli._demo import demo

    return 0 if demo(chosen.folder) else 1
