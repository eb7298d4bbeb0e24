"""How a solve went."""

from typing import Any

import equinox as eqx
import optimistix as optx
from jaxtyping import Array, Bool, Int


class Solve(eqx.Module):
    """How a solve went.

    Attributes:
        cut: the unknowns, where the cycle was cut.
        solver: the solver's name.
        converged: whether it did; `result`: optimistix's verdict, `RESULTS.successful` where it did.
        iterations: how many steps the solver took.
        residual: per unknown the change of its value through one pass over the cycle, at the end.
        values: per unknown its value at the end.
    """

    cut: tuple[str, ...] = eqx.field(static=True)
    solver: str = eqx.field(static=True)
    converged: Bool[Array, ""]
    result: optx.RESULTS
    iterations: Int[Array, ""]
    residual: dict[str, Any]
    values: dict[str, Any]

    @property
    def status(self) -> str:
        """`converged`, or why the solve ended without."""
        known = (text for result, text in _STATUS if bool(self.result == result))
        return next(known, optx.RESULTS[self.result].strip())


_STATUS = (
    (optx.RESULTS.successful, "converged"),
    (optx.RESULTS.singular, "the Jacobian of the residual with respect to the unknowns is singular"),
    (optx.RESULTS.nonlinear_max_steps_reached, "the limit of steps was reached"),
    (optx.RESULTS.nonlinear_divergence, "the residual falls no further along the search direction"),
    (optx.RESULTS.nonfinite, "an unknown or its residual is infinite or NaN"),
)
