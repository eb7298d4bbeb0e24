"""An operator that this process supplies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from couplax._errors import ForeignError

Arrays = Sequence[np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """What ONNX Runtime calls by a name.

    Attributes:
        name: of the operator, with its domain: `couplax::disc_value`.
        code: what messages call what computes it; `places`: where the function that was exported calls it.
        takes: the dtypes of its inputs; `gives`: of its outputs.
        call: what computes it.
    """

    name: str
    code: str
    places: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    call: Callable[[Arrays], Arrays]

    def __call__(self, arrays: Arrays) -> Arrays:
        """Returns the outputs.

        Raises:
            ForeignError: the code failed.
        """
        try:
            return self.call(arrays)
        except Exception as error:  # the boundary to foreign code: whatever it raises
            said = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
            raise ForeignError(
                f"Foreign code `{self.code}`, called at {' or '.join(self.places)}, failed where ONNX "
                f"Runtime called it.\n{said}"
            ) from error
