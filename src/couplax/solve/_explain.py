"""Why a solve failed, in less than 25 lines: its status, where it stood, what it was given, what may help."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import optimistix as optx

from couplax.solve._check import Lane
from couplax.solve._numbers import text_of
from couplax.solve._plot import blocks
from couplax.solve._solve import Solve, verdict_of

_ROWS = 6


def explain(
    name: str,
    solve: Solve,
    inputs: Mapping[str, Any],
    *,
    lane: Lane | None = None,
    diagnosis: str = "",
) -> str:
    """Returns why the solve of cycle, or the integral, `name` failed; no JAX runs meanwhile.

    Args:
        inputs: what the cycle read.
        lane: where in a `vmap` this solve was one of several.
        diagnosis: what was found out at the point where the solve ended.
    """
    lines = [
        f"The {'solve of cycle' if solve.cut else 'integral of'} `{name}` did not converge: "
        f"{solve.solver} ended after {steps(solve.iterations)}{_place(lane)}.",
        f"  {solve.status}",
        *_unknowns(solve),
        *_inputs(inputs),
        *_history(solve),
        *([f"  {diagnosis}"] if diagnosis else []),
        _hint(solve),
        "run(..., throw=False) returns the values as they are.",
    ]
    return "\n".join(lines)


def steps(count: Any) -> str:
    """Returns `1 step`, `2 steps` and so on."""
    return f"{int(count)} step{'' if int(count) == 1 else 's'}"


def _place(lane: Lane | None) -> str:
    if lane is None or not lane.index:
        return ""
    index = lane.index[0] if len(lane.index) == 1 else lane.index
    return f", in lane {index} of a vmap, the first of {lane.failed} that failed out of {lane.lanes}"


def _unknowns(solve: Solve) -> Iterator[str]:
    """Yields a line for each unknown, the largest residual first, and how many were left out."""
    rows = sorted((_Row.of(name, solve) for name in solve.cut), key=lambda row: row.size, reverse=True)
    for number, row in enumerate(rows[:_ROWS]):
        worst = "  <- the worst" if number == 0 and len(rows) > 1 else ""
        yield f"  {row.label}: residual {row.residual:.3g} at {row.value}{worst}"
    if len(rows) > _ROWS:
        yield f"  and {len(rows) - _ROWS} more unknowns"


@dataclass(frozen=True, slots=True)
class _Row:
    """The worst element of one unknown: what it is called, its residual, and its value in words."""

    label: str
    residual: Any
    value: str

    @property
    def size(self) -> float:
        """How bad it is: a residual that is not finite is the worst of all."""
        return float(np.abs(self.residual)) if np.isfinite(self.residual) else np.inf

    @classmethod
    def of(cls, name: str, solve: Solve) -> "_Row":
        """Returns the worst element of the unknown `name`."""
        residuals = jax.tree.leaves_with_path(solve.residual[name])
        values = jax.tree.leaves(solve.values[name])
        rows = [
            cls._of_leaf(name + jax.tree_util.keystr(path), np.asarray(residual), np.asarray(value))
            for (path, residual), value in zip(residuals, values, strict=True)
        ]
        return max(rows, key=lambda row: row.size, default=cls(name, 0.0, "nothing: it is empty"))

    @classmethod
    def _of_leaf(cls, label: str, residual: np.ndarray[Any, Any], value: np.ndarray[Any, Any]) -> "_Row":
        if residual.size == 0:
            return cls(label, 0.0, "nothing: it is empty")
        if residual.ndim == 0:
            return cls(label, residual[()], text_of(value, 8))
        sizes = np.where(np.isfinite(residual), np.abs(residual), np.inf)
        index = tuple(int(place) for place in np.unravel_index(np.argmax(sizes), residual.shape))
        at = ",".join(map(str, index))
        return cls(f"{label}[{at}]", residual[index], f"{text_of(value[index], 8)}; {label} {text_of(value)}")


def _inputs(inputs: Mapping[str, Any]) -> Iterator[str]:
    if inputs:
        shown = [f"{name} = {text_of(value, 8)}" for name, value in list(inputs.items())[:_ROWS]]
        more = f", and {len(inputs) - _ROWS} more" if len(inputs) > _ROWS else ""
        yield f"  inputs: {', '.join(shown)}{more}"


def _history(solve: Solve) -> Iterator[str]:
    history = solve.residuals
    if len(history) > 1:
        course = f"{history[0]:.3g} at the start, {history[-1]:.3g} at the end"
        yield f"  largest residual: {course} {blocks(history)}".rstrip()


def _hint(solve: Solve) -> str:
    """Returns what may help against this end of a solve."""
    if solve.verdicts is not optx.RESULTS:
        return (
            "Allow more steps, max_steps=..., loosen rtol and atol, or take a solver for stiff rates, "
            "couplax.Integrate(solver=diffrax.Kvaerno5())."
        )
    hint = _HINTS.get(int(solve.verdict))
    if hint is not None:
        return hint(solve)
    return (
        "Start nearer with guess={...}, loosen rtol and atol, allow more max_steps, or cut the cycle "
        "elsewhere."
    )


def _at_the_limit(solve: Solve) -> str:
    history = solve.residuals
    if len(history) > 3 and history[-1] < 0.9 * history[-4]:
        return (
            "The residual was still falling: allow more steps, max_steps=..., or start nearer, guess={...}."
        )
    return (
        "Start nearer with guess={...}, relax or take another solver, or check that there is a solution "
        "here; more max_steps help where the residual still falls."
    )


def _at_a_singular_point(solve: Solve) -> str:
    return "Start elsewhere with guess={...}, cut the cycle elsewhere, or fix the residual."


def _where_not_finite(solve: Solve) -> str:
    return "Check the inputs, start elsewhere with guess={...}, or give the unknowns bounds."


def _where_stalled(solve: Solve) -> str:
    return (
        "There may be no solution here, or the derivatives or the accuracy of a component do not carry the "
        "tolerance: start elsewhere with guess={...}, loosen rtol and atol, or check the derivatives "
        "(couplax.check_derivatives)."
    )


_HINTS: dict[int, Callable[[Solve], str]] = {
    int(verdict_of(optx.RESULTS.nonlinear_max_steps_reached)): _at_the_limit,
    int(verdict_of(optx.RESULTS.singular)): _at_a_singular_point,
    int(verdict_of(optx.RESULTS.nonfinite)): _where_not_finite,
    int(verdict_of(optx.RESULTS.nonlinear_divergence)): _where_stalled,
}
