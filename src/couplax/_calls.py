"""Calls of codes outside JAX: how many were made meanwhile, and which codes a program calls."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import jax
import jax.extend.core as jec


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often a code was called.

    Attributes:
        calls: all calls, for values and for derivatives.
        failures: calls that raised, where that makes NaN.
        nonfinite: per output the calls that returned an infinity or NaN in it.
    """

    calls: int = 0
    failures: int = 0
    nonfinite: Mapping[str, int] = field(default_factory=dict[str, int])

    def __add__(self, other: "Count") -> "Count":
        return self._merged(other, 1)

    def __sub__(self, other: "Count") -> "Count":
        return self._merged(other, -1)

    def _merged(self, other: "Count", sign: int) -> "Count":
        outputs = dict.fromkeys([*self.nonfinite, *other.nonfinite])
        sums = {name: self.nonfinite.get(name, 0) + sign * other.nonfinite.get(name, 0) for name in outputs}
        return Count(
            calls=self.calls + sign * other.calls,
            failures=self.failures + sign * other.failures,
            nonfinite={name: count for name, count in sums.items() if count},
        )


_NOTHING = Count()


class AbstractCounted(ABC):
    """What calls a code and counts the calls; a parameter of the primitives that stand for the code.

    Counts never fall, but where the user resets them.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call the code."""

    @property
    @abstractmethod
    def is_exact_backwards_alone(self) -> bool:
        """Whether the code offers an adjoint and no tangent: forwards its derivatives are differences."""

    @abstractmethod
    def count(self) -> Count:
        """Returns how often the code was called so far."""


_live: "WeakSet[AbstractCounted]" = WeakSet()

Counts = Mapping[AbstractCounted, Count]


def register(counted: AbstractCounted) -> None:
    """Makes `counted` known, for as long as it lives."""
    _live.add(counted)


def counts() -> Counts:
    """Returns how often each code that is known was called so far."""
    return {counted: counted.count() for counted in _live} if _live else {}


def counted_since(before: Counts) -> dict[str, Count]:
    """Returns by the code's name what was counted since `before`, in every thread.

    Codes of one name are added up.
    """
    found: dict[str, Count] = {}
    for counted, now in counts().items():
        earlier = before.get(counted, _NOTHING)
        if now != earlier:
            found[counted.name] = found.get(counted.name, _NOTHING) + (now - earlier)
    return found


def codes_in(fn: Callable[..., Any], *args: Any) -> tuple[str, ...]:
    """Returns the names of the codes that a JAX function calls at `args`, in loops and branches too."""
    return tuple(dict.fromkeys(counted.name for counted in counted_in(fn, *args)))


def counted_in(fn: Callable[..., Any], *args: Any) -> tuple[AbstractCounted, ...]:
    """Returns the codes that a JAX function calls at `args`, in loops and branches too."""
    return tuple(dict.fromkeys(_counted(jax.make_jaxpr(fn)(*args).eqns)))


def _counted(equations: Iterable[jec.JaxprEqn]) -> Iterator[AbstractCounted]:
    for eqn in equations:
        yield from (value for value in eqn.params.values() if isinstance(value, AbstractCounted))
        for inner in jec.jaxprs_in_params(eqn.params):
            yield from _counted(inner.eqns)
