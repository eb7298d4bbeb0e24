"""An executable as one process in its folder: started, waited for, stopped with all its children."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from couplax._errors import ForeignError

STDOUT, STDERR = "stdout.txt", "stderr.txt"
_GRACE = 2.0  # How long a process has, between being asked to stop and being stopped [s].
_TAIL = 12  # How many lines of what a process printed a message shows.


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How an executable is started, and when it counts as having succeeded.

    Attributes:
        arguments: the executable and its arguments, with placeholders.
        stdin: whether the input file is its standard input as well.
        timeout: how long it may run [s]; without end by default.
        allowed: the return codes that mean success.
        environment: variables set for it; `inherit`: whether it has this process's variables besides.
    """

    arguments: tuple[str, ...]
    stdin: bool
    timeout: float | None
    allowed: tuple[int, ...]
    environment: tuple[tuple[str, str], ...]
    inherit: bool

    def run(self, arguments: Sequence[str], folder: Path, stdin: Path | None) -> None:
        """Returns when the process has succeeded; what it printed is in `stdout.txt` and `stderr.txt`.

        Raises:
            ForeignError: it could not be started, ran past the timeout, or returned no allowed code.
        """
        code = self._returned(arguments, folder, stdin)
        if code in self.allowed:
            return
        spelt = shlex.join(arguments)
        if code is None:
            raise ForeignError(
                f"`{spelt}` was still running after {self.timeout:g} s, and was stopped with its children. "
                f"Raise `timeout=`, or find what it waits for.{printed(folder)}"
            )
        wanted = " or ".join(map(str, self.allowed))
        raise ForeignError(
            f"`{spelt}` {_ended(code)}, where {wanted} means success (`allowed=`).{printed(folder)}"
        )

    def _returned(self, arguments: Sequence[str], folder: Path, stdin: Path | None) -> int | None:
        """Returns the return code, or None where the time was over first."""
        with (
            open(stdin or os.devnull, "rb") as read,
            open(folder / STDOUT, "wb") as out,
            open(folder / STDERR, "wb") as err,
        ):
            process = self._started(arguments, folder, (read.fileno(), out.fileno(), err.fileno()))
        try:
            return process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # Ctrl-C lands here too: the process has a group of its own, which a terminal does not interrupt.
            if process.poll() is None:
                _stop(process)

    def _started(
        self, arguments: Sequence[str], folder: Path, streams: tuple[int, int, int]
    ) -> subprocess.Popen[bytes]:
        environment = {**(os.environ if self.inherit else {}), **dict(self.environment)}
        stdin, stdout, stderr = streams
        program = shutil.which(arguments[0], path=environment.get("PATH"))
        if program is None:
            raise ForeignError(
                f"There is no executable `{arguments[0]}`, neither by that path nor on the PATH. Give its "
                "full path, or set PATH in `environment=`."
            )
        try:
            return subprocess.Popen(
                [program, *arguments[1:]],
                cwd=folder,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise ForeignError(f"`{program}` could not be started: {error.strerror}.") from error


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Asks the process and its children to stop, and stops those that do not."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(code: int) -> str:
    if code >= 0:
        return f"returned {code}"
    known = {int(number): number.name for number in signal.Signals}
    return f"was ended by {known.get(-code, f'signal {-code}')}"


def printed(folder: Path) -> str:
    """Returns the last lines printed to standard error, else to standard output, for a message."""
    for stream, name in ((STDERR, "Standard error"), (STDOUT, "Standard output")):
        path = folder / stream
        lines = path.read_text(errors="replace").splitlines()[-_TAIL:] if path.exists() else []
        if any(map(str.strip, lines)):
            return "\n".join([f"\n{name} ends with:", *(f"  {line}" for line in lines)])
    return "\nIt printed nothing."
