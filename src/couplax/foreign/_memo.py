"""The last points at which a code was evaluated, with what it returned there."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

Arrays = Sequence[np.ndarray]


class Memo:
    """Remembers the outputs at the `size` points last asked for, by the exact bytes of the inputs.

    What is remembered is copied, so that neither a caller's nor XLA's reuse of a buffer changes it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._outputs: OrderedDict[bytes, tuple[np.ndarray, ...]] = OrderedDict()

    def find(self, inputs: Arrays) -> tuple[np.ndarray, ...] | None:
        """Returns the outputs at `inputs`, or None where they are not remembered."""
        key = _key(inputs)
        found = self._outputs.get(key)
        if found is not None:
            self._outputs.move_to_end(key)
        return found

    def keep(self, inputs: Arrays, outputs: Arrays) -> tuple[np.ndarray, ...]:
        """Returns a copy of `outputs`, now remembered; the point asked for longest ago is forgotten."""
        copies = tuple(np.array(output) for output in outputs)
        self._outputs[_key(inputs)] = copies
        while len(self._outputs) > self._size:
            self._outputs.popitem(last=False)
        return copies

    def clear(self) -> None:
        """Forgets everything."""
        self._outputs.clear()


def _key(inputs: Arrays) -> bytes:
    # A code is always called with the same shapes and dtypes in one program, not in two: both belong to the
    # key.
    return b"".join(part for x in inputs for part in (repr((x.shape, x.dtype.str)).encode(), x.tobytes()))
