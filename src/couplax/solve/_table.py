"""Results on a terminal: a row for each value, a line for each solve."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import jax
import numpy as np

from couplax._calls import Count
from couplax._errors import quoted
from couplax.solve._about import About
from couplax.solve._explain import steps
from couplax.solve._numbers import text_of
from couplax.solve._plot import blocks
from couplax.solve._solve import Solve

_MOST_ROWS, _FIRST_ROWS, _LAST_ROWS = 100, 60, 20


class Shown(Protocol):
    """What is shown of results."""

    @property
    def solves(self) -> Mapping[str, Solve]: ...
    @property
    def counts(self) -> Mapping[str, Count]: ...
    @property
    def about(self) -> About: ...
    @property
    def nonfinite(self) -> tuple[str, ...]: ...
    @property
    def first_nonfinite(self) -> str | None: ...
    def items(self) -> Any: ...


def table(results: Shown) -> str:
    """Returns the table: names, values, units and descriptions; then what is to be said of the run."""
    rows = [
        (name, text_of(value), results.about.label(name).units, results.about.label(name).description)
        for name, value in shortened(list(results.items()))
    ]
    remarks = [*flaws(results), *(f"{name}: {outcome(solve)}" for name, solve in results.solves.items())]
    return "\n".join([*_aligned(rows), *remarks, *calls_outside(results)])


def shortened(values: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Returns the values that a table shows: of very many the first and the last, and how many between."""
    if len(values) <= _MOST_ROWS:
        return values
    between = f"{len(values) - _FIRST_ROWS - _LAST_ROWS} more values"
    return [*values[:_FIRST_ROWS], ("...", between), *values[-_LAST_ROWS:]]


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yields the rows with their columns below each other; an empty column is left out."""
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    widths = [min(max(map(len, column)), 60) for column in columns]
    for row in zip(*columns, strict=True):
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def outcome(solve: Solve, *, plotted: bool = True) -> str:
    """Returns how a solve went, in a line.

    Args:
        plotted: whether the course of the residual is drawn in characters.
    """
    cut = f"cut at {', '.join(solve.cut)}, " if solve.cut else ""
    if solve.is_traced:
        return f"{cut}solved by {solve.solver}"
    calls = "".join(f", {_times(count)} of {name}" for name, count in solve.calls.items())
    if solve.lanes:
        lanes = math.prod(solve.lanes)
        return f"{cut}solved by {solve.solver} in {lanes} lanes: {_ended_by_lane(solve)}{calls}"
    plot = blocks(solve.residuals) if plotted else ""
    taken = steps(solve.iterations)
    ended = f"converged in {taken}" if solve.converged else f"not converged after {taken} ({solve.status})"
    return f"{cut}{solve.solver}, {ended}{_residual(solve)}{calls} {plot}".rstrip()


def _ended_by_lane(solve: Solve) -> str:
    least, most = int(np.min(solve.iterations, initial=0)), int(np.max(solve.iterations, initial=0))
    taken = f"{least} to {steps(most)}" if least < most else steps(most)
    return f"{solve.status} in {taken}{_residual(solve)}"


def _residual(solve: Solve) -> str:
    """Returns the largest residual in words; nothing for an integral, which has none."""
    return f", residual {worst(solve):.2g}" if solve.cut else ""


def worst(solve: Solve) -> float:
    """Returns the largest residual at the end, of all unknowns and lanes."""
    leaves = jax.tree.leaves(solve.residual)
    return max((float(np.max(np.abs(leaf), initial=0.0)) for leaf in leaves), default=0.0)


def _times(count: int) -> str:
    return f"{count} call{'' if count == 1 else 's'}"


def flaws(results: Shown) -> Iterator[str]:
    """Yields what is not finite, and which component made it so."""
    names = results.nonfinite
    if names:
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        source = results.first_nonfinite
        origin = f"; the first to give it is `{source}`" if source else ""
        yield f"NaN or infinite: {quoted(names[:8])}{more}{origin}"


def calls_outside(results: Shown) -> Iterator[str]:
    """Yields the calls of codes that no solve tells of, and what codes returned that is not finite."""
    told = {name for solve in results.solves.values() for name in solve.calls}
    others = {name: count for name, count in results.counts.items() if name not in told}
    untold = [f"{_times(count.calls)} of {name}" for name, count in others.items()]
    if untold:
        yield f"foreign codes: {', '.join(untold)}"
    for name, count in results.counts.items():
        yield from _flaws_of_code(name, count)


def _flaws_of_code(name: str, count: Count) -> Iterator[str]:
    for output, times in count.nonfinite.items():
        place = f" in output `{output}`" if output else ""
        yield f"{name}: {_times(times)} returned NaN or an infinity{place}"
    if count.failures:
        yield f"{name}: {_times(count.failures)} failed and became NaN"
