"""What a terminal shows while a command works."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def working(message: str) -> AbstractContextManager[Any]:
    """Returns a context that shows `message` beside a spinner, on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)
