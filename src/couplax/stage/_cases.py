"""Cases: numbers that are unknown, but one of a few known ones, as some choice decides.

`where(first, 0, 1)` is 0 or 1, and `where(first, 0, 1) + 2` is 2 or 3, by the same choice. So a loop that
starts there is known in each case, and what comes out the same in every case is known after all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np

from couplax.stage._fold import fold
from couplax.stage._interpret import Value, is_known
from couplax.stage._known import Budget, identical, is_foldable


@dataclass(frozen=True, slots=True)
class Cases:
    """What a value may be.

    Attributes:
        which: the unknown number, a boolean or an index, that decides.
        values: the known value for each number that `which` may be, from zero up.
    """

    which: Value
    values: tuple[Value, ...]

    @property
    def settled(self) -> bool:
        """Whether all the values are the same."""
        return all(identical(self.values[0], value) for value in self.values[1:])


class CaseTable:
    """The cases of the values met so far; of a value made while tracing, which is itself and no other."""

    def __init__(self) -> None:
        # The value is kept beside its cases, so that its identity stays its own.
        self._noted: dict[int, tuple[Value, Cases]] = {}

    def note(self, value: Value, cases: Cases) -> None:
        """Notes that `value`, where it is unknown, is one of `cases`."""
        if not is_known(value):
            self._noted.setdefault(id(value), (value, cases))

    def of(self, value: Value) -> Cases | None:
        """Returns what `value` may be, or None; a boolean decides itself."""
        if is_known(value):
            return None
        noted = self._noted.get(id(value))
        if noted is not None:
            return noted[1]
        return Cases(value, (np.False_, np.True_)) if is_flag(value) else None

    def shared(self, inputs: Sequence[Value]) -> list[Cases] | None:
        """Returns the cases of each of `inputs` where one choice decides all of them, else None.

        Those of a known input are all itself.
        """
        found = [self.of(value) for value in inputs]
        deciding = [cases for value, cases in zip(inputs, found, strict=True) if not is_known(value)]
        first = deciding[0] if deciding else None
        if first is None or not all(cases is not None and _alike(cases, first) for cases in deciding):
            return None
        return [
            cases or Cases(first.which, (value,) * len(first.values))
            for value, cases in zip(inputs, found, strict=True)
        ]


def is_flag(value: Value) -> bool:
    """Returns whether `value` is one boolean."""
    aval = jax.typeof(value)
    return aval.shape == () and aval.dtype == jnp.bool_


def _alike(left: Cases, right: Cases) -> bool:
    return left.which is right.which and len(left.values) == len(right.values)


def fold_cases(eqn: jec.JaxprEqn, inputs: Sequence[Value], table: CaseTable, budget: Budget) -> Cases | None:
    """Returns the cases of the one number that `eqn` gives on `inputs`, or None where it is no such number.

    Loops and branches are never run for it: in a case that does not occur they need not end.
    """
    if not _gives_one_number(eqn) or len(inputs) == 0:
        return None
    shared = table.shared(inputs)
    if shared is None:
        return None
    which = shared[0].which
    rows = [[cases.values[k] for cases in shared] for k in range(len(shared[0].values))]
    if not all(is_foldable(eqn, row, budget) for row in rows):
        return None
    return Cases(which, tuple(fold(eqn, row)[0] for row in rows))


def _gives_one_number(eqn: jec.JaxprEqn) -> bool:
    if len(eqn.outvars) != 1 or any(True for _ in jec.jaxprs_in_params(eqn.params)):
        return False
    sizes = [getattr(atom.aval, "shape", None) for atom in (*eqn.invars, *eqn.outvars)]
    dtype = getattr(eqn.outvars[0].aval, "dtype", None)
    return all(size is not None and np.prod(size) == 1 for size in sizes) and dtype in _NUMBERS


_NUMBERS = frozenset(map(np.dtype, ("bool", "int32", "int64", "uint32", "uint64", "float32", "float64")))


def decided(cases: Cases) -> Value | None:
    """Returns the value of `cases` without an equation of its own: one known, or the choice itself."""
    if cases.settled:
        return cases.values[0]
    flags = (np.False_, np.True_)
    if len(cases.values) == 2 and all(map(identical, cases.values, flags)) and is_flag(cases.which):
        return cases.which
    return None
