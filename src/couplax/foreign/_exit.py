"""An exit guard for JAX's callbacks: Python waits for the call that is running and begins no other."""

import atexit
import threading
from collections.abc import Generator
from contextlib import contextmanager

from couplax._errors import ForeignError


class _Guard:
    """Counts the callers that are inside, and lets none in once it is closed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._inside = 0
        self._closed = False

    def enter(self) -> None:
        with self._condition:
            if self._closed:
                raise ForeignError("Python is exiting: a foreign call was not made.")
            self._inside += 1

    def leave(self) -> None:
        with self._condition:
            self._inside -= 1
            self._condition.notify_all()

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._condition.wait_for(lambda: self._inside == 0)


_guard = _Guard()
atexit.register(_guard.close)


@contextmanager
def host_call() -> Generator[None]:
    """Marks a call from a program to Python.

    Raises:
        ForeignError: Python is exiting.
    """
    _guard.enter()
    try:
        yield
    finally:
        _guard.leave()
