"""How rates of change are integrated in time, by Diffrax."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from couplax._errors import ModelError
from couplax.graph import TIME

End = float | str


@dataclass(frozen=True, eq=True)
class Integrate:
    """Closes the rates of a model by Diffrax: `model.close(Integrate(span=(0, 1)))`.

    What the rates need at each time (components that read a state or the time, cycles closed by a solver) is
    evaluated inside the vector field; all else is evaluated once. The model then writes the states, what is
    evaluated inside, and the times, each at the times saved; its further inputs are the initial states,
    `x_0` for a state `x`.

    With `dt0` and no controller the steps have that length; without `dt0` they adapt to the tolerances.

    Derivatives: forward, reverse and second ones, through the steps taken. Diffrax's own adjoints are taken
    as they are; `diffrax.RecursiveCheckpointAdjoint(checkpoints=...)` bounds the memory of reverse ones.

    Attributes:
        span: when the integral starts and ends, each a number or the name of a variable.
        solver: a Diffrax solver; `diffrax.Tsit5()` if not given. For stiff rates: `diffrax.Kvaerno5()`.
        save: the times whose states are saved, or a `diffrax.SaveAt`; None saves the end only.
        controller: a Diffrax step size controller; from `dt0`, `rtol` and `atol` if not given.
        dt0: the length of the first step, and of all where no controller is given.
        rtol: relative tolerance of adaptive steps; `atol`: absolute tolerance, in the states' units.
        event: ends the integral: the name of a variable inside that changes its sign, or a `diffrax.Event`.
        adjoint: how Diffrax differentiates the solve.
        max_steps: how many steps are allowed.
        initial: for a state the name of the input that is its initial value, if not `x_0`, or the value
            itself, as that input's default.
        time: the variable that is time.

    Source: P. Kidger, "On Neural Differential Equations" (2021), chapter 5, for Diffrax and its adjoints.
    """

    span: tuple[End, End]
    solver: Any = None
    save: Any = None
    controller: Any = None
    dt0: float | None = None
    rtol: float = 1e-8
    atol: float = 1e-8
    event: Any = None
    adjoint: Any = None
    max_steps: int = 4096
    initial: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    time: str = TIME

    def __post_init__(self) -> None:
        """Raises where the span or the times to save are not what they should be."""
        faults = [*_span_faults(self.span), *_save_faults(self.span, self.save), *self._other_faults()]
        if faults:
            raise ModelError(faults)
        # Numbers that compare and hash as a whole, so that equal models compile once.
        if isinstance(self.save, _TIMES):
            object.__setattr__(self, "save", tuple(np.ravel(self.save).tolist()))
        object.__setattr__(self, "span", tuple(self.span))

    def _other_faults(self) -> Iterator[str]:
        """Yields what is wrong with the rest."""
        import diffrax

        kinds = {
            "solver": (diffrax.AbstractSolver, "a Diffrax solver, such as diffrax.Tsit5()"),
            "controller": (diffrax.AbstractStepSizeController, "a Diffrax step size controller"),
            "adjoint": (diffrax.AbstractAdjoint, "one of Diffrax's adjoints"),
            "event": ((str, diffrax.Event), "the name of a variable, or a diffrax.Event"),
            "save": ((*_TIMES, diffrax.SaveAt), "times in a row, a diffrax.SaveAt, or None for the end"),
        }
        for name, (kind, wanted) in kinds.items():
            given = getattr(self, name)
            if given is not None and not isinstance(given, kind):
                hint = f" Write {given.__name__}(...)." if isinstance(given, type) else ""
                came = f"Integrate({name}={given!r:.40}) is of type {type(given).__name__}"
                yield f"{came}. Wanted: {wanted}.{hint}"
        if isinstance(self.save, diffrax.SaveAt) and self.save.dense:
            yield "Integrate(save=...) asks for dense output, which is no array. Give the times instead."
        for name in ("rtol", "atol", "max_steps"):
            if not getattr(self, name) > 0:
                yield f"Integrate({name}={getattr(self, name)!r}) is no positive number."
        if self.dt0 is not None and not self._goes_forward():
            yield f"Integrate(dt0={self.dt0!r}) does not lead from the start of the span to its end."

    def _goes_forward(self) -> bool:
        """Returns whether a step of `dt0` leads from the start to the end, as far as these are numbers."""
        start, end = self.span
        if isinstance(start, str) or isinstance(end, str):
            return self.dt0 != 0
        return self.dt0 is not None and self.dt0 * (end - start) > 0

    def __hash__(self) -> int:
        """Returns a hash of the span: the rest may hold arrays."""
        return hash((Integrate, self.span))

    @property
    def name(self) -> str:
        """The solver's name."""
        return "Tsit5" if self.solver is None else type(self.solver).__name__


_TIMES = (tuple, list, range, np.ndarray, jax.Array)


def _span_faults(span: Any) -> list[str]:
    """Returns what is wrong with `span`."""
    wanted = "Wanted: (start, end), each a number or the name of a variable."
    if not isinstance(span, tuple | list) or len(span) != 2:
        return [f"Integrate(span={span!r}) has no start and end. {wanted}"]
    return [
        f"Integrate(span=...) has {end!r} of type {type(end).__name__} as an end. {wanted}"
        for end in span
        if not isinstance(end, str | int | float | np.number)
    ]


def _save_faults(span: tuple[End, End], save: Any) -> list[str]:
    """Returns what is wrong with the times to save."""
    if not isinstance(save, _TIMES):
        return []
    times = np.asarray(save, dtype=float)
    if times.ndim != 1 or times.size == 0 or not np.isfinite(times).all():
        return [f"Integrate(save=...) has times of shape {times.shape}. Wanted: finite times in a row."]
    start, end = (None if isinstance(each, str) else float(each) for each in span)
    backward = start is not None and end is not None and end < start
    if (np.diff(-times if backward else times) < 0).any():
        return ["Integrate(save=...) has times out of order. Wanted: as they come between the span's ends."]
    if start is None or end is None or min(start, end) <= times.min() <= times.max() <= max(start, end):
        return []
    return [
        f"Integrate(save=...) asks for times from {times[0]:g} to {times[-1]:g}, outside the span"
        f" {start:g} to {end:g}."
    ]
