"""An exit guard for JAX's callbacks: Python waits for the call that is running and begins no other."""

import atexit
import time

from couplax._errors import ForeignError

_GRACE = 0.2
"""Seconds that a thread has to get from the end of a call out of JAX's own code, which needs Python too."""


class ExitGuard:
    """Knows how many callers are inside, and lets none in once it is closed."""

    def __init__(self) -> None:
        # One entry for each caller: appending and popping are atomic, and need no lock on the way of each
        # call.
        self._inside: list[None] = []
        self._closed = False
        self._last = -_GRACE

    def enter(self) -> None:
        """Marks the begin of a call.

        Raises:
            ForeignError: Python is exiting.
        """
        self._inside.append(None)
        if self._closed:
            self.leave()
            raise ForeignError("Python is exiting: a foreign call was not made.")

    def leave(self) -> None:
        """Marks the end of a call."""
        self._last = time.monotonic()
        self._inside.pop()

    def close(self) -> None:
        """Returns when the call that was running has ended, and its program had the time to end too."""
        self._closed = True
        while self._inside or time.monotonic() < self._last + _GRACE:
            time.sleep(1e-3)


exit_guard = ExitGuard()
atexit.register(exit_guard.close)
