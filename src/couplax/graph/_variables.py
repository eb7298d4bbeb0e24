"""What a component reads and writes: named variables, and what is said of them."""

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any, Final, Literal

import jax
import numpy as np

from ._same import same

Bounds = tuple[Any, Any]


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
        units: in which the component reads it, as pint spells them; what is written in other units is
            converted.
        shape: what the component takes; None takes any.
        dtype: what the component takes; None takes any.
        bounds: the least and the greatest value, each a number, an array, or None for none.
        description: for tables and drawings.
        comes_in: the units that the value is given in, where it has to be converted; the graph says so.
    """

    name: str
    default: Any = REQUIRED
    units: str | None = None
    shape: tuple[int, ...] | None = None
    dtype: Any = None
    bounds: Bounds | None = None
    description: str | None = None
    comes_in: str | None = None

    @property
    def required(self) -> bool:
        """Whether the input has no default."""
        return self.default is REQUIRED

    def merged(self, other: "Input") -> "Input":
        """Returns what is known of a variable that is read twice: here first, then by `other`."""
        said = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        missing = [name for name, value in said.items() if value is None or value is REQUIRED]
        return dataclasses.replace(self, **{name: getattr(other, name) for name in missing})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Input) and _same_fields(self, other)

    def __hash__(self) -> int:
        return hash((Input, self.name))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Output:
    """A variable that a component writes.

    Attributes:
        guess: where a solver starts that has this variable as an unknown.
        units: in which the component writes it, as pint spells them.
        shape: what the component promises to return; None promises nothing.
        dtype: what the component promises to return; None promises nothing.
        bounds: the least and the greatest value where a solver or an optimiser looks for it, each a number,
            an array, or None for none.
        description: for tables and drawings.
    """

    name: str
    guess: Any = None
    units: str | None = None
    shape: tuple[int, ...] | None = None
    dtype: Any = None
    bounds: Bounds | None = None
    description: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and _same_fields(self, other)

    def __hash__(self) -> int:
        return hash((Output, self.name))


def is_outside(value: Any, bounds: Bounds) -> bool:
    """Returns whether any number of `value`, an array or a tree of them, is outside `bounds`."""
    lower, upper = bounds
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(value)]
    below = lower is not None and any((leaf < lower).any() for leaf in leaves)
    return bool(below or (upper is not None and any((leaf > upper).any() for leaf in leaves)))


def _same_fields(left: Any, right: Any) -> bool:
    """Returns whether two records of one class are equal; what they hold may be arrays."""
    names = [field.name for field in dataclasses.fields(left)]
    return all(same(getattr(left, name), getattr(right, name)) for name in names)


def output(
    name: str,
    *,
    guess: Any = None,
    units: str | None = None,
    shape: tuple[int, ...] | None = None,
    dtype: Any = None,
    bounds: Bounds | None = None,
    description: str | None = None,
) -> Output:
    """Returns an output that says more than its name.

    Args:
        guess: where a solver starts that has this variable as an unknown.
        units: in which it is written, as pint spells them: `"m/s"`; who reads it in others gets it converted.
        shape: what is promised; checked, and known before anything runs.
        dtype: what is promised; as `shape`.
        bounds: the least and the greatest value where a solver or an optimiser looks for it; None for none.
        description: for tables and drawings.
    """
    return Output(
        name=name,
        guess=guess,
        units=units,
        shape=shape,
        dtype=dtype,
        bounds=bounds,
        description=description,
    )


def input(
    name: str,
    *,
    default: Any = REQUIRED,
    units: str | None = None,
    shape: tuple[int, ...] | None = None,
    dtype: Any = None,
    bounds: Bounds | None = None,
    description: str | None = None,
) -> Input:
    """Returns an input that says more than its name; it is given to `couplax.component` beside the outputs.

    Args:
        name: the function's parameter.
        default: the value where nothing gives one; a default in the signature goes before it.
        units: in which the function takes it, as pint spells them; what is written in others is converted.
        shape: what the function takes; checked, and known before anything runs.
        dtype: what the function takes; as `shape`.
        bounds: the least and the greatest value, such as an optimiser may try; None for none.
        description: for tables and drawings.
    """
    return Input(
        name=name,
        default=default,
        units=units,
        shape=shape,
        dtype=dtype,
        bounds=bounds,
        description=description,
    )
