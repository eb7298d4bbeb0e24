"""What a component reads and writes: named variables, and what is said of them."""

import enum
from dataclasses import dataclass
from typing import Any, Final, Literal

from ._same import same


class Required(enum.Enum):
    """The type of `REQUIRED`."""

    REQUIRED = "REQUIRED"

    def __repr__(self) -> str:
        return self.value


REQUIRED: Final[Literal[Required.REQUIRED]] = Required.REQUIRED
"""Stands where an input has no default."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Input:
    """A variable that a component reads.

    Attributes:
        default: the value where nothing gives one; `REQUIRED` if there is none.
    """

    name: str
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        """Whether the input has no default."""
        return self.default is REQUIRED

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Input) and self.name == other.name and same(self.default, other.default)

    def __hash__(self) -> int:
        return hash((Input, self.name))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Output:
    """A variable that a component writes.

    Attributes:
        guess: where a solver starts that has this variable as an unknown.
        units: for tables and drawings.
        shape: what the component promises to return; None promises nothing.
        dtype: what the component promises to return; None promises nothing.
        description: for tables and drawings.
    """

    name: str
    guess: Any = None
    units: str | None = None
    shape: tuple[int, ...] | None = None
    dtype: Any = None
    description: str | None = None

    def _rest(self) -> tuple[Any, ...]:
        """Returns all but the guess, which may be an array."""
        return (self.name, self.units, self.shape, self.dtype, self.description)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and self._rest() == other._rest() and same(self.guess, other.guess)

    def __hash__(self) -> int:
        return hash((Output, self.name))
