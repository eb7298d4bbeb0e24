"""The last points at which a code was evaluated, with what it returned there."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from couplax.foreign._direct import key_bytes

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]


class Memo:
    """Remembers the outputs at the `size` points last asked for, by the exact bytes of the inputs.

    What is remembered is copied, so that neither a caller's nor XLA's reuse of a buffer changes it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._outputs: OrderedDict[bytes, tuple[Array, ...]] = OrderedDict()

    def find(self, key: bytes) -> tuple[Array, ...] | None:
        """Returns the outputs at the point of `key`, or None where they are not remembered."""
        found = self._outputs.get(key)
        if found is not None:
            self._outputs.move_to_end(key)
        return found

    def keep(self, key: bytes, outputs: Arrays) -> tuple[Array, ...]:
        """Returns a copy of `outputs`, now remembered; the point asked for longest ago is forgotten."""
        copies = tuple([_copy(output) for output in outputs])
        self._outputs[key] = copies
        while len(self._outputs) > self._size:
            self._outputs.popitem(last=False)
        return copies

    def clear(self) -> None:
        """Forgets everything."""
        self._outputs.clear()


def key_of(inputs: Arrays) -> bytes:
    """Returns what makes two points the same: dtypes, shapes and bytes of the inputs."""
    return key_bytes(inputs) + b"".join([x.tobytes() for x in inputs])


def _copy(output: Any) -> Any:
    # A scalar cannot be changed by whoever returned it.
    return output if isinstance(output, float | np.generic) else np.array(output)
