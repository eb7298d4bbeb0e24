"""Units of variables, and how one is converted into another, by pint."""

import dataclasses
import functools
from typing import Any

import jax

from couplax._errors import MissingExtraError

from ._variables import REQUIRED, Input


def as_read(read: Input, value: Any) -> Any:
    """Returns `value`, as it is given, in the units in which the component reads it."""
    return value if read.comes_in is None else _converted(value, read.comes_in, str(read.units))


def as_given(read: Input) -> Input:
    """Returns the input in the units in which its value is given, its default included."""
    if read.comes_in is None:
        return read
    default = REQUIRED if read.required else _converted(read.default, str(read.units), read.comes_in)
    return dataclasses.replace(read, default=default, units=read.comes_in, comes_in=None)


def _converted(value: Any, given: str, wanted: str) -> Any:
    factor, offset = conversion(given, wanted)
    return jax.tree.map(lambda leaf: leaf * factor + offset if offset else leaf * factor, value)


@functools.cache
def conversion(given: str, wanted: str) -> tuple[float, float]:
    """Returns factor and offset such that a value in units `given` is value * factor + offset in `wanted`.

    Raises:
        MissingExtraError: pint is not installed.
        ValueError: a unit is unknown, or the one does not convert into the other.
    """
    pint, registry = _registry()
    try:
        offset = float(registry.Quantity(0.0, given).to(wanted).magnitude)
        far = float(registry.Quantity(_FAR, given).to(wanted).magnitude)
    except (pint.PintError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error
    return (far - offset) / _FAR, offset


# A power of two, so far away that a difference of temperatures is exact.
_FAR = 2.0**30


@functools.cache
def _registry() -> tuple[Any, Any]:
    try:
        import pint
    except ImportError as error:
        raise MissingExtraError(
            "Units are converted by pint, which is not installed. Install it: pip install 'couplax[units]'; "
            "or declare the same units at both ends."
        ) from error
    return pint, pint.UnitRegistry()
