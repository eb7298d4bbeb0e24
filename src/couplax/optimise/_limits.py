"""What a value is held between: bounds of design variables and of constraints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._layout import Block

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers that a flat vector is held between, infinite where there are none."""

    lower: Vector
    upper: Vector

    @property
    def equal(self) -> Vector:
        """Where both are one number: an equality."""
        return self.lower == self.upper

    @property
    def any_finite(self) -> bool:
        """Whether there is a limit at all."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    def violation(self, values: Vector) -> Vector:
        """Returns by how much each value is outside, zero where it is within."""
        return np.maximum(np.maximum(self.lower - values, values - self.upper), 0.0)

    def scaled(self, scale: Vector) -> "Limits":
        """Returns the limits of values that are divided by `scale`."""
        return Limits(self.lower / scale, self.upper / scale)


def joined(parts: Sequence[Limits]) -> Limits:
    """Returns the limits of several values one after the other."""
    return Limits(
        np.concatenate([np.zeros(0), *(part.lower for part in parts)]),
        np.concatenate([np.zeros(0), *(part.upper for part in parts)]),
    )


def free(block: Block) -> Limits:
    """Returns no limits."""
    return Limits(np.full(block.size, -np.inf), np.full(block.size, np.inf))


class LimitsFault(ValueError):
    """What is wrong with limits, in words that follow the name of what they limit."""


def limits_of(given: Any, block: Block) -> Limits:
    """Returns the limits that a user's `given` says: a pair, each side a number, an array or None.

    Raises:
        LimitsFault: they are not understood, do not fit the block, or are the wrong way round.
    """
    lower, upper = _sides(given)
    limits = Limits(_side(lower, -np.inf, block), _side(upper, np.inf, block))
    for number, (low, high) in enumerate(zip(limits.lower, limits.upper, strict=True)):
        if np.isnan(low) or np.isnan(high):
            raise LimitsFault(f"has a limit that is NaN at `{block.labels[number]}`. Pass None for no limit.")
        if low > high:
            raise LimitsFault(
                f"has its limits the wrong way round at `{block.labels[number]}`: "
                f"lower {low:g}, upper {high:g}. Pass (lower, upper)."
            )
    return limits


def _sides(given: Any) -> tuple[Any, Any]:
    """Returns the lower and the upper side of what the user gave; a number or an array alone is both."""
    if isinstance(given, tuple | list) and len(given) == 2:
        return given[0], given[1]
    if isinstance(given, tuple | list | str | Mapping):
        raise LimitsFault(
            f"has limits {given!r}. Wanted: a pair (lower, upper), each side a number, an array or None; "
            "or one number, which holds the value there."
        )
    return given, given


def _side(given: Any, otherwise: float, block: Block) -> Vector:
    """Returns one side, spread over the block."""
    if given is None:
        return np.full(block.size, otherwise)
    try:
        return block.flat(given)
    except (TypeError, ValueError):
        shapes = ", ".join(str(struct.shape) for struct in block.structs)
        raise LimitsFault(
            f"has a limit of shape {np.shape(given)}, and its own shape is {shapes}. "
            "Pass a number, or an array of that shape."
        ) from None
