"""What is said, and raised, where a solve does not converge."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.core
import numpy as np

from couplax._errors import SolveError
from couplax.solve._solve import Solve


def check(values: Any, solves: Mapping[str, Solve]) -> Any:
    """Returns `values` where every solve converged.

    Outside a transformation a failure raises here; inside one, where nothing is known yet, a run-time check
    is left in the program, which raises when it runs.

    Raises:
        SolveError: a solve did not converge.
    """
    for name, solve in solves.items():
        if isinstance(solve.converged, jax.core.Tracer):
            values = eqx.error_if(
                values, ~solve.converged, f"The solve of cycle `{name}` ({solve.solver}) did not converge."
            )
        elif not bool(solve.converged):
            raise SolveError(explain(name, solve))
    return values


def explain(name: str, solve: Solve) -> str:
    """Returns why the solve of cycle `name` failed, where it stood, and what may help."""
    sizes = {unknown: float(np.max(np.abs(value))) for unknown, value in solve.residual.items()}
    worst = max(sizes, key=lambda unknown: (not np.isfinite(sizes[unknown]), sizes[unknown]))
    rows = [
        f"  {unknown}: residual {size:.3g} at {_short(solve.values[unknown])}"
        f"{'  <- the worst' if unknown == worst and len(sizes) > 1 else ''}"
        for unknown, size in sizes.items()
    ]
    return "\n".join(
        [
            f"The solve of cycle `{name}` did not converge: {solve.solver} ended after "
            f"{int(solve.iterations)} steps.",
            f"  {solve.status}",
            *rows,
            "Start nearer with guess={...}, loosen rtol and atol, allow more max_steps, or cut the cycle "
            "elsewhere. run(..., throw=False) returns the values as they are.",
        ]
    )


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), threshold=6)
