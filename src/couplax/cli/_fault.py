"""Faults of the one who types a command: a line, and no traceback."""

import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from couplax._errors import CouplaxError


class CommandError(CouplaxError):
    """What was typed cannot be done."""


@contextmanager
def told_by_place(what: str, file: Path) -> Generator[None]:
    """Raises what the user's own code raises as one line, with the line of `file` that it came from.

    Args:
        what: what was being done, such as "Importing model.py".

    Raises:
        CommandError: with the type and the message of the exception.
    """
    try:
        yield
    except CouplaxError:
        raise
    except (ArithmeticError, AttributeError, ImportError, LookupError, NameError, SyntaxError) as error:
        raise _told(what, file, error) from error
    except (AssertionError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise _told(what, file, error) from error


def _told(what: str, file: Path, error: Exception) -> CommandError:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename) == file]
    place = f", at {file.name}:{own[-1].lineno} ({own[-1].name})" if own else ""
    return CommandError(f"{what} failed{place}: {type(error).__name__}: {error}")
