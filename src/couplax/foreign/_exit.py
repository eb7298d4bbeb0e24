"""An exit guard for JAX's callbacks: Python waits for the call that is running and begins no other."""

import atexit
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from couplax._errors import ForeignError

_GRACE = 0.2
"""Seconds that a thread has to get from the end of a call out of JAX's own code, which needs Python too."""


class _Guard:
    """Counts the callers that are inside, and lets none in once it is closed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._inside = 0
        self._closed = False
        self._last = -_GRACE

    def enter(self) -> None:
        with self._condition:
            self._last = time.monotonic()
            if self._closed:
                raise ForeignError("Python is exiting: a foreign call was not made.")
            self._inside += 1

    def leave(self) -> None:
        with self._condition:
            self._last = time.monotonic()
            self._inside -= 1
            self._condition.notify_all()

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._condition.wait_for(lambda: self._inside == 0)
        # The program ends with the next call that it tries, or soon after this one.
        while time.monotonic() < self._last + _GRACE:
            time.sleep(_GRACE / 10)


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
