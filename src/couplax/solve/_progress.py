"""What every solver of couplax keeps of its iteration, and how that ends."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
from equinox import AbstractVar
from jaxtyping import Array, Bool, Float, Int, PyTree


class Progress(eqx.Module):
    """How far an iteration has come.

    Attributes:
        residual: f at the point reached.
        converged: whether the point reached is within tolerance.
        result: what went wrong; successful while nothing did.
        steps: how many steps were taken.
        history: the largest |f_i| at the start and after each step, NaN for the steps not taken.
    """

    residual: PyTree[Array]
    converged: Bool[Array, ""]
    result: optx.RESULTS
    steps: Int[Array, ""]
    history: Float[Array, " counts"]


def begun(residual: PyTree[Array], converged: Bool[Array, ""], max_steps: int) -> Progress:
    """Returns the progress at the first point, where f is `residual`; it went wrong if that is not finite."""
    largest = optx.max_norm(residual)
    return Progress(
        residual=residual,
        converged=converged,
        result=optx.RESULTS.where(jnp.isfinite(largest), optx.RESULTS.successful, optx.RESULTS.nonfinite),
        steps=jnp.array(0),
        history=jnp.full(max_steps + 1, jnp.nan, largest.dtype).at[0].set(largest),
    )


def advanced(
    progress: Progress, residual: PyTree[Array], converged: Bool[Array, ""], result: optx.RESULTS
) -> Progress:
    """Returns the progress one step on, at a point where f is `residual`."""
    steps = progress.steps + 1
    return Progress(
        residual=residual,
        converged=converged,
        result=result,
        steps=steps,
        history=progress.history.at[steps].set(optx.max_norm(residual), mode="drop"),
    )


def picked(condition: Bool[Array, ""], new: Any, old: Any) -> Any:
    """Returns the pytree `new` where `condition` holds, else `old`."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


class AbstractRecorded(eqx.Module):
    """A solver whose state has a `progress`: what ends the iteration, and what is told of it.

    The iteration ends when it converged, when something went wrong, and after `max_steps` steps. The stats
    hold `residuals`, the largest |f_i| at the start and after each step.
    """

    max_steps: AbstractVar[int]

    def terminate(
        self,
        fn: Any,
        y: PyTree[Array],
        args: PyTree[Any],
        options: dict[str, Any],
        state: Any,
        tags: frozenset[object],
    ) -> tuple[Bool[Array, ""], optx.RESULTS]:
        """Returns whether the iteration ends here, and how."""
        progress: Progress = state.progress
        limit: Any = optx.RESULTS.nonlinear_max_steps_reached
        failed = progress.result != optx.RESULTS.successful
        out_of_steps = progress.steps >= self.max_steps
        outcome = optx.RESULTS.where(out_of_steps & ~failed, limit, progress.result)
        result = optx.RESULTS.where(progress.converged, optx.RESULTS.successful, outcome)
        return progress.converged | failed | out_of_steps, result

    def postprocess(
        self,
        fn: Any,
        y: PyTree[Array],
        aux: PyTree[Any],
        args: PyTree[Any],
        options: dict[str, Any],
        state: Any,
        tags: frozenset[object],
        result: optx.RESULTS,
    ) -> tuple[PyTree[Array], PyTree[Any], dict[str, Any]]:
        """Returns the point reached as it is, and the residuals on the way."""
        return y, aux, {"residuals": state.progress.history}
