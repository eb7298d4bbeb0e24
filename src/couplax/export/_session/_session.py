"""A session of ONNX Runtime with operators of this process: what `couplax.onnx_session` returns."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import jax.numpy as jnp
import numpy as np

from couplax._errors import ExportError
from couplax.export._session._operator import Operator
from couplax.export._session._process import Process


@dataclass(frozen=True, slots=True)
class Entry:
    """An input or output of a file, as ONNX Runtime tells of it: `type` is such as `tensor(double)`."""

    name: str
    type: str
    shape: list[int | str | None]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a file says of itself, by key."""

    custom_metadata_map: Mapping[str, str]


class Session:
    """A file in ONNX Runtime, its foreign codes called here; it is used like `onnxruntime.InferenceSession`.

    ONNX Runtime runs in a process of its own. That ends with the session, by `close`, or at the end of a
    `with`.
    """

    def __init__(self, model: bytes | Path, operators: Iterable[Operator] = ()) -> None:
        self._model = model
        self._operators = {operator.name: operator for operator in operators}
        self._lock = threading.RLock()
        self._is_running = self._is_closed = False
        self._process = Process(self._model, self._operators)
        self._facts = self._process.facts

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None
    ) -> list[np.ndarray[Any, Any]]:
        """Returns the outputs of those names, of None all, for inputs by name.

        Raises:
            ForeignError: a foreign code failed.
            ExportError: the inputs do not fit, ONNX Runtime does not run the file, or its process ended.
        """
        feeds = {name: _plain(name, value) for name, value in input_feed.items()}
        with self._lock:
            self._check_free(run_options)
            self._is_running = True
            try:
                return [_told(array) for array in self._running().run(output_names, feeds)]
            finally:
                self._is_running = False

    def get_inputs(self) -> list[Entry]:
        """Returns the name, type and shape of each input."""
        return [Entry(*entry) for entry in self._facts["inputs"]]

    def get_outputs(self) -> list[Entry]:
        """Returns the name, type and shape of each output."""
        return [Entry(*entry) for entry in self._facts["outputs"]]

    def get_modelmeta(self) -> Metadata:
        """Returns what the file says of itself."""
        return Metadata(self._facts["metadata"])

    def close(self) -> None:
        """Ends the process; nothing can be run any more."""
        with self._lock:
            self._is_closed = True
            self._process.end()

    def __enter__(self) -> Self:
        """Returns the session itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the process."""
        self.close()

    def _running(self) -> Process:
        """Returns the process, a new one where the last has ended."""
        if not self._process.is_alive:
            self._process.end()
            self._process = Process(self._model, self._operators)
        return self._process

    def _check_free(self, run_options: Any) -> None:
        if run_options is not None:
            raise ExportError("This session takes no options for a run. Leave `run_options` out.")
        if self._is_closed:
            raise ExportError("The session is closed. Open another by `couplax.onnx_session`.")
        if self._is_running:
            raise ExportError(
                "A foreign code of this session runs the session itself, which waits for the code. Give the "
                "code a session of its own."
            )


def _told(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an output, whose bytes are bfloat16 where numpy has no name for them."""
    return array.view(jnp.bfloat16) if array.dtype.kind == "V" else array


def _plain(name: str, value: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" and array.dtype != jnp.bfloat16:
        raise ExportError(f"Input `{name}` is of dtype {array.dtype}; numbers or booleans are wanted.")
    return array
