"""How a solve went."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.core
import numpy as np
import optimistix as optx


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["verdict", "iterations", "residual", "values", "history"],
    meta_fields=["cut", "solver", "verdicts", "stalled", "codes"],
    drop_fields=["calls"],
)
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Solve:
    """How a solve went; a JAX pytree. Under a `vmap` its arrays have a leading axis of lanes.

    Attributes:
        cut: the unknowns, where the cycle was cut.
        solver: the solver's name.
        verdict: the number of the solver's result; see `verdict_of`.
        iterations: how many steps the solver took.
        residual: per unknown its residual at the end, the change of its value through one pass over the cycle
            unless it is the unknown of a residual of its own.
        values: per unknown its value at the end.
        history: the largest residual at the start and after each step, NaN for the steps not taken; None
            where the solver keeps none.
        verdicts: the enumeration that the result is of: optimistix's, or Diffrax's for an integral.
        stalled: what it means where the residual falls no further, if the solver knows.
        codes: the foreign codes that the cycle calls.
        calls: how often each of `codes` was called in the whole run; of a run outside transformations alone.
    """

    cut: tuple[str, ...]
    solver: str
    verdict: Any
    iterations: Any
    residual: Mapping[str, Any]
    values: Mapping[str, Any]
    history: Any = None
    verdicts: Any = optx.RESULTS
    stalled: str | None = None
    codes: tuple[str, ...] = ()
    calls: Mapping[str, int] = field(init=False, default_factory=dict[str, int])

    def called(self, calls: Mapping[str, int]) -> "Solve":
        """Returns the record with how often its codes were called, from the calls of all codes."""
        if not self.codes:
            return self
        record = replace(self)
        object.__setattr__(record, "calls", {name: calls.get(name, 0) for name in self.codes})
        return record

    @property
    def is_traced(self) -> bool:
        """Whether the solve stands in a program that is being traced, so that nothing is known yet."""
        return isinstance(self.verdict, jax.core.Tracer)

    @property
    def converged(self) -> Any:
        """Whether the solve converged: a bool; an array of them under a `vmap`, a tracer where it is one."""
        if self.is_traced:
            return self.verdict == _CONVERGED
        converged = np.asarray(self.verdict) == _CONVERGED
        return converged if self.lanes else bool(converged)

    @property
    def is_known_to_converge(self) -> bool:
        """Whether every lane converged and that is known: inside a transformation nothing is."""
        if self.is_traced:
            return False
        return int(self.verdict) == _CONVERGED if np.ndim(self.verdict) == 0 else bool(np.all(self.converged))

    @property
    def lanes(self) -> tuple[int, ...]:
        """The leading axes that each of the arrays has: none outside a `vmap`."""
        return np.shape(self.verdict)

    @property
    def residuals(self) -> np.ndarray[Any, Any]:
        """The largest residual at the start and after each step; empty where the solver keeps none.

        Under a `vmap` a row for each lane, NaN beyond its last step.
        """
        if self.history is None:
            return np.empty((*self.lanes, 0))
        history = np.asarray(self.history)
        return history[..., : int(np.max(self.iterations, initial=0)) + 1]

    def _said(self, verdict: int) -> str:
        """Returns a verdict in words."""
        if self.stalled and verdict == _STALLED:
            return self.stalled
        return _in_words(self.verdicts, verdict)

    @property
    def status(self) -> str:
        """`converged`, or why the solve ended without; under a `vmap` how many lanes ended how."""
        if self.is_traced:
            return "not known yet"
        if not self.lanes:
            return self._said(int(self.verdict))
        kinds, counts = np.unique(np.asarray(self.verdict), return_counts=True)
        pairs = zip(kinds, counts, strict=True)
        return ", ".join(f"{count} {self._said(int(kind))}" for kind, count in pairs)

    def __repr__(self) -> str:
        """Returns the solver, where it cut and how it ended."""
        cut = f" for {', '.join(self.cut)}" if self.cut else ""
        return f"<solve by {self.solver}{cut}: {self.status}>"


def verdict_of(result: Any) -> Any:
    """Returns the number of an optimistix result: to compare it, and to say it, takes no JAX on the host."""
    (number,) = jax.tree.leaves(result)
    return number


def _in_words(verdicts: Any, verdict: int) -> str:
    """Returns one of the `verdicts` in words."""
    if verdict == _CONVERGED or (verdicts is optx.RESULTS and verdict in _STATUS):
        return _STATUS[verdict]
    result: Any = jax.tree.unflatten(jax.tree.structure(verdicts.successful), [np.asarray(verdict)])
    return " ".join(verdicts[result].split())


_SAID = (
    (optx.RESULTS.successful, "converged"),
    (optx.RESULTS.singular, "the Jacobian of the residual with respect to the unknowns is singular"),
    (optx.RESULTS.nonlinear_max_steps_reached, "the limit of steps was reached"),
    (optx.RESULTS.nonlinear_divergence, "the residual falls no further along the search direction"),
    (optx.RESULTS.nonfinite, "an unknown or its residual is infinite or NaN"),
)
_STATUS = {int(verdict_of(result)): text for result, text in _SAID}
_CONVERGED = int(verdict_of(optx.RESULTS.successful))
_STALLED = int(verdict_of(optx.RESULTS.nonlinear_divergence))
