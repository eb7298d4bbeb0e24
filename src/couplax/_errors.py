"""The exceptions of couplax, and the words their messages are made of.

    CouplaxError
    ├── ModelError              faults of a model, all of them together (a ValueError)
    ├── GuessError              a guess that is missing or does not fit (a ValueError)
    ├── ForeignError            a foreign code failed, or returned what it did not declare (a RuntimeError)
    ├── DerivativeError         a derivative that a foreign code does not offer (a TypeError)
    ├── SolveError              a solve that did not converge (a RuntimeError)
    ├── OptimiseError           an optimisation that did not converge (a RuntimeError)
    ├── MissingExtraError       an optional dependency that is not installed (an ImportError)
    ├── StageError              a program that cannot be staged (a ValueError)
    └── ExportError             a program that cannot be written for the target (a ValueError)
        ├── MissingRuleError    a primitive without a rule
        └── VerificationError   the exported file differs from JAX

Every message says the place, what came, what was wanted, and what to do.
"""

import difflib
import inspect
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any


class CouplaxError(Exception):
    """The base of every exception that couplax raises for a user's fault."""


class ModelError(CouplaxError, ValueError):
    """A model that cannot be built: `faults` holds each fault as one sentence."""

    faults: tuple[str, ...]

    def __init__(self, faults: Sequence[str]) -> None:
        """Keeps `faults` and writes them as one numbered list."""
        self.faults = tuple(faults)
        count = len(self.faults)
        head = f"Model has {count} fault{'s' if count != 1 else ''}:"
        lines = [f"  {number}. {fault}" for number, fault in enumerate(self.faults, start=1)]
        super().__init__("\n".join([head, *lines]))


class GuessError(CouplaxError, ValueError):
    """A guess that is missing or does not fit its unknown."""


class ForeignError(CouplaxError, RuntimeError):
    """A foreign code failed, or returned what it did not declare."""


class DerivativeError(CouplaxError, TypeError):
    """A derivative was asked for that the foreign code does not offer."""


class SolveError(CouplaxError, RuntimeError):
    """A solve ended without converging.

    Attributes:
        cycle: the name of the cycle; None where there is none, as for the others.
        solve: how its solve went, in numpy.
        inputs: what the cycle read, by name.
    """

    def __init__(
        self, message: str, *, cycle: str | None = None, solve: Any = None, inputs: Any = None
    ) -> None:
        """Keeps what the message was made of."""
        super().__init__(message)
        self.cycle = cycle
        self.solve = solve
        self.inputs = inputs


class OptimiseError(CouplaxError, RuntimeError):
    """An optimisation ended without converging; `optimum` is how far it came, None where it did not start."""

    optimum: Any

    def __init__(self, message: str, optimum: Any = None) -> None:
        """Keeps how far the optimisation came."""
        self.optimum = optimum
        super().__init__(message)


class MissingExtraError(CouplaxError, ImportError):
    """An optional dependency is needed and is not installed."""


class StageError(CouplaxError, ValueError):
    """A program cannot be staged."""


class ExportError(CouplaxError, ValueError):
    """A program cannot be written for the target."""


class MissingRuleError(ExportError):
    """A primitive has no rule for the target."""


class VerificationError(ExportError):
    """The exported file does not give the numbers that JAX gives."""


def close_matches(name: str, known: Iterable[str]) -> list[str]:
    """Returns up to three of `known` that `name` may have been meant to be, the closest first."""
    known = list(known)
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    return [by_lower[match] for match in found]


def quoted(names: Iterable[str]) -> str:
    """Returns `names` in backticks, separated by commas; `nothing` if there are none."""
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def place_of(fn: Callable[..., object]) -> str:
    """Returns `file.py:line` where `fn` was written, or its name where that is not known."""
    fn = inspect.unwrap(fn)
    code = getattr(fn, "__code__", None)
    if code is None:
        return getattr(fn, "__name__", type(fn).__name__)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


_kept: list[Exception] = []


def keep_error(error: Exception) -> None:
    """Keeps the original of an exception on its way through compiled code, which keeps only its text."""
    _kept[:] = [error]


@contextmanager
def original_errors() -> Generator[None]:
    """Raises the original of an exception of foreign code, in place of what compiled code makes of it."""
    _kept.clear()
    try:
        yield
    except Exception as error:  # the boundary to compiled code: its type varies with JAX's route
        if not _kept or _kept[0] is error:
            raise
        original = _kept.pop()
        raise original from original.__cause__
