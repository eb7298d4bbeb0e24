"""The other process as this one sees it: started, talked to, and ended without fail."""

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import numpy as np

from couplax._errors import ExportError
from couplax.export._session import _child
from couplax.export._session._child import Arrays, Message, headed, packed, unpacked, with_arrays
from couplax.export._session._operator import Operator

_REPLY = headed("reply")

_ENDED = (EOFError, OSError)
"""What reading and writing raise where the other process is no more."""


class Process:
    """A process with one session of ONNX Runtime.

    Attributes:
        facts: what the session says of the file.
    """

    def __init__(self, model: bytes | Path, operators: Mapping[str, Operator]) -> None:
        self._operators = operators
        self._owner = os.getpid()
        self._channel, theirs = Pipe()
        with theirs:
            self._process = _started(theirs)
        self.end = weakref.finalize(self, _end, self._owner, self._process, self._channel)
        try:
            self.facts: dict[str, Any] = self._asked("load", *_loading(model, operators))[1]
        except ExportError:
            self.end()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked again; a fork of its owner cannot."""
        return self.end.alive and os.getpid() == self._owner and self._process.poll() is None

    def run(self, outputs: Sequence[str] | None, feeds: Mapping[str, Any]) -> Arrays:
        """Returns the outputs of the file.

        Raises:
            ExportError: ONNX Runtime does not run it, or the process ended.
            ForeignError: a code failed.
        """
        about = {"inputs": list(feeds), "outputs": None if outputs is None else list(outputs)}
        return self._asked("run", about, list(feeds.values()))[2]

    def _asked(self, kind: str, about: Any, arrays: Arrays) -> Message:
        """Returns the answer; on the way to it the operators are computed that are asked for."""
        try:
            answer = self._exchanged(packed(kind, about, arrays))
            while answer[0] == "call":
                results = self._operators[answer[1]](answer[2])
                answer = self._exchanged(with_arrays(_REPLY, results))
        except BaseException:
            # It waits for an operator that it will not get: nothing more can be asked of it.
            self.end()
            raise
        if answer[0] == "fault":
            raise ExportError(f"ONNX Runtime does not {kind} the file: {answer[1]}")
        return answer

    def _exchanged(self, message: bytes) -> Message:
        try:
            self._channel.send_bytes(message)
            return unpacked(self._channel.recv_bytes())
        except _ENDED as error:
            raise ExportError(
                f"The process that ran ONNX Runtime {_ending(self._process)}. The next run starts another."
            ) from error


def _started(theirs: Connection) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", str(_child.__file__), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # Ctrl-C in a terminal is for this process, which then ends the other.
        start_new_session=True,
    )


def _loading(model: bytes | Path, operators: Mapping[str, Operator]) -> tuple[Any, Arrays]:
    """Returns what the first message is about, and the model as an array where it is no file."""
    kinds = [[name, operator.takes, operator.gives] for name, operator in operators.items()]
    if isinstance(model, Path):
        return {"operators": kinds, "path": str(model)}, []
    return {"operators": kinds}, [np.frombuffer(model, np.uint8)]


def _end(owner: int, process: subprocess.Popen[bytes], channel: Connection) -> None:
    """Ends the process, which holds nothing that is not held here; a fork of its owner leaves it alone."""
    channel.close()
    if os.getpid() == owner:
        process.kill()
        process.wait()


def _ending(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    if code >= 0:
        return f"ended with exit code {code}"
    known = {int(number): number.name for number in signal.Signals}
    return f"was ended by {known.get(-code, f'signal {-code}')}"
