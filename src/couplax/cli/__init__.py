"""The command line: `couplax demo`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from couplax._errors import CouplaxError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that `arguments` name and returns its exit code: 0, or 1 where it failed."""
    parser = argparse.ArgumentParser(
        prog="couplax", description="Couple, differentiate and ship the code you have."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="run the main job end to end, and leave its files in a folder")
    demo.add_argument("--folder", type=Path, default=Path("demo"), help="where its files go (default: demo)")
    chosen = parser.parse_args(arguments)
    try:
        return _run_demo(chosen.folder)
    except CouplaxError as error:
        print(f"couplax: {error}", file=sys.stderr)
        return 1


def _run_demo(folder: Path) -> int:
    from couplax.cli._demo import demo

    return 0 if demo(folder) else 1
