"""The live table of an optimisation."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from couplax._errors import MissingExtraError

from ._history import Iteration

_SHOWN = 15
_HEADS = ("iteration", "objective", "infeasibility", "analyses")


def cells(iteration: Iteration) -> tuple[str, ...]:
    """Returns the row of an iteration."""
    return (
        str(iteration.number),
        f"{iteration.objective:.10g}",
        f"{iteration.infeasibility:.2e}",
        str(iteration.analyses),
    )


@contextmanager
def live_table(title: str, *, wanted: bool | None) -> Generator[Callable[[Iteration], None]]:
    """Yields what adds an iteration to a table on the terminal, or does nothing where none is shown.

    Args:
        wanted: None shows the table where the output is a terminal and the package `rich` is installed.

    Raises:
        MissingExtraError: a table is wanted and `rich` is not installed.
    """
    installed = find_spec("rich") is not None
    if wanted and not installed:
        raise MissingExtraError(
            "The table of an optimisation needs `rich`, not installed here. Install it with: pip install "
            "rich; or pass progress=False."
        )
    if not (wanted or (wanted is None and installed and sys.stdout.isatty())):
        yield _nothing
        return
    from rich.live import Live  # loaded where a table is shown

    rows: list[tuple[str, ...]] = []
    with Live(_table(title, rows), refresh_per_second=8, transient=False) as live:

        def told(iteration: Iteration) -> None:
            rows.append(cells(iteration))
            live.update(_table(title, rows))

        yield told


def _nothing(_: Iteration) -> None:
    """Shows nothing."""


def _table(title: str, rows: list[tuple[str, ...]]) -> Any:
    """Returns the last rows as a table of `rich`."""
    from rich.table import Table
    from rich.text import Text

    # Names may hold brackets, which `rich` would read as markup.
    table = Table(title=Text(title))
    for head in _HEADS:
        table.add_column(head, justify="right")
    for row in rows[-_SHOWN:]:
        table.add_row(*row)
    return table
