"""Which inputs and outputs of a foreign code a call or a derivative is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from couplax.foreign._declaration import Outputs

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The static part of a call: how flat arrays become arguments, and what is differentiated.

    Attributes:
        arguments: the flat inputs as declared, in the structure of the positional arguments.
        out: the flat outputs as declared.
        inputs: places of the inputs that vary; `outputs`: places of the outputs whose derivative is wanted.
    """

    arguments: Outputs
    out: Outputs
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()

    def as_arguments(self, leaves: Arrays) -> tuple[Any, ...]:
        """Returns flat inputs as the tuple of the code's positional arguments."""
        return jax.tree.unflatten(self.arguments.tree, leaves)

    def as_outputs(self, leaves: Arrays) -> Any:
        """Returns flat outputs in the structure that the code returns."""
        return jax.tree.unflatten(self.out.tree, leaves)

    def all_inputs(self, vectors: Arrays) -> list[np.ndarray | None]:
        """Returns, per input, its vector, or None where it does not vary."""
        given = dict(zip(self.inputs, vectors, strict=True))
        return [given.get(place) for place in range(len(self.arguments.structs))]

    def all_outputs(self, vectors: Arrays) -> list[np.ndarray]:
        """Returns, per output, its vector, or zeros where it is not wanted."""
        given = dict(zip(self.outputs, vectors, strict=True))
        return [given.get(k, np.zeros(s.shape, s.dtype)) for k, s in enumerate(self.out.structs)]
