"""The trajectory of states whose rates of change are given, as a differentiable function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import optimistix as optx

from couplax._calls import codes_in
from couplax._errors import ModelError
from couplax._tree import describe
from couplax.graph import Kind, Node
from couplax.solve._integrate import Integrate
from couplax.solve._solve import Solve, verdict_of
from couplax.solve._varying import moved

if TYPE_CHECKING:
    import diffrax

Values = Mapping[str, Any]


def trajectory(
    nodes: Sequence[Node],
    initial: Mapping[str, str],
    integrate: Integrate,
    known: Values,
    guesses: Values,
) -> tuple[dict[str, Any], Solve]:
    """Returns the states, what is evaluated inside and the times, at the times saved, and how the solve went.

    Args:
        nodes: the rates, and what they need at each time, in the order in which they run.
        initial: for each state the name of its initial value.
        known: what the nodes read, the initial values, and the ends of the span that have names.
        guesses: where the unknowns of cycles solved inside start.
    """
    import diffrax

    field = Field(tuple(nodes), integrate.time)
    start = _start(field, initial, known, guesses)
    span = _instant(integrate.span[0], known), _instant(integrate.span[1], known)
    solve = _solved if integrate.adjoint is None else partial(_solution, adjoint=integrate.adjoint)
    times, states, went = solve(field, integrate, start, span, dict(known), dict(guesses))
    inside, converged = _saved(field, integrate, times, states, known, guesses)
    record = Solve(
        cut=(),
        solver=integrate.name,
        verdict=jnp.where(converged, went["verdict"], verdict_of(diffrax.RESULTS.nonlinear_divergence)),
        verdicts=diffrax.RESULTS,
        iterations=went["steps"],
        residual={},
        values={},
        codes=codes_in(field.rates, span[0], start, dict(known), dict(guesses)),
    )
    return {**inside, **states, integrate.time: times}, record


def _instant(end: float | str, known: Values) -> Any:
    """Returns an end of the span."""
    return jnp.asarray(known[end] if isinstance(end, str) else end, dtype=float)


@dataclass(frozen=True)
class Field:
    """A vector field: nodes that give the rates of change of states, and what those need at each time.

    Attributes:
        time: the variable that is time.
    """

    nodes: tuple[Node, ...]
    time: str

    def inside(self, t: Any, states: Values, known: Values, guesses: Values) -> tuple[dict[str, Any], Any]:
        """Returns what is evaluated beside the rates, and whether the cycles solved for it converged."""
        return self._evaluated(t, states, known, guesses, Kind.EXPLICIT)

    def rates(self, t: Any, states: Values, known: Values, guesses: Values) -> dict[str, Any]:
        """Returns the rates of change by state.

        They are NaN where a cycle does not converge, so that a step that adapts is tried again, shorter.
        """
        rates, converged = self._evaluated(t, states, known, guesses, Kind.RATE)
        return {
            name: jax.tree.map(lambda leaf: jnp.where(converged, leaf, jnp.nan), rates[name])
            for name in states
        }

    def _evaluated(
        self, t: Any, states: Values, known: Values, guesses: Values, kind: Kind
    ) -> tuple[dict[str, Any], Any]:
        values = {**known, **states, self.time: t}
        found: dict[str, Any] = {}
        converged: Any = True
        for node in self.nodes:
            if node.kind is Kind.RATE and kind is not Kind.RATE:
                continue
            written, solves = node.run(values, guesses)
            for solve in solves.values():
                converged = converged & solve.converged
            if node.kind is kind:
                found.update(written)
            if node.kind is not Kind.RATE:
                values.update(written)
        return found, converged


def _start(field: Field, initial: Mapping[str, str], known: Values, guesses: Values) -> dict[str, Any]:
    """Returns the initial states, in the dtypes that they have once their rates are added.

    Raises:
        ModelError: a rate does not have the shape of its state.
    """
    given = {state: jax.tree.map(jnp.asarray, known[name]) for state, name in initial.items()}
    time = jax.ShapeDtypeStruct((), jax.dtypes.canonicalize_dtype(float))
    rates = jax.eval_shape(field.rates, time, given, dict(known), dict(guesses))
    faults = [
        f"the rate of `{name}` is {_described(rates[name])}, but its initial value, `{initial[name]}`, is"
        f" {_described(given[name])}. Give an initial value of the rate's shape, or the other way round."
        for name in given
        if jax.tree.map(jnp.shape, rates[name]) != jax.tree.map(jnp.shape, given[name])
    ]
    if faults:
        raise ModelError(faults)
    return jax.tree.map(lambda y, rate: y.astype(jnp.result_type(y, rate.dtype, jnp.float32)), given, rates)


def _described(value: Any) -> str:
    return ", ".join(describe(leaf) for leaf in jax.tree.leaves(value))


def _solution(
    field: Field,
    integrate: Integrate,
    start: Values,
    span: tuple[Any, Any],
    known: Values,
    guesses: Values,
    *,
    adjoint: "diffrax.AbstractAdjoint",
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Returns the times saved, the states then, and how the solve went, by Diffrax."""
    import diffrax

    def rates(t: Any, states: Values, args: tuple[Values, Values]) -> dict[str, Any]:
        return jax.tree.map(lambda rate, y: rate.astype(y.dtype), field.rates(t, states, *args), dict(states))

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(rates),
        integrate.solver or diffrax.Tsit5(),
        span[0],
        span[1],
        integrate.dt0,
        dict(start),
        (known, guesses),
        saveat=_saveat(integrate),
        stepsize_controller=_controller(integrate),
        event=_event(integrate, field),
        max_steps=integrate.max_steps,
        adjoint=adjoint,
        throw=False,
    )
    ended: Any = diffrax.RESULTS.event_occurred
    converged = (solution.result == diffrax.RESULTS.successful) | (solution.result == ended)
    times: Any = solution.ts
    states: Any = solution.ys
    if integrate.save is None:
        times, states = jax.tree.map(lambda leaf: leaf[0], (times, states))
    verdict = jnp.where(converged, verdict_of(diffrax.RESULTS.successful), verdict_of(solution.result))
    return times, states, {"verdict": verdict, "steps": solution.stats["num_steps"]}


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _solved(
    field: Field, integrate: Integrate, start: Values, span: tuple[Any, Any], known: Values, guesses: Values
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Returns what `_solution` does, in a plain loop.

    It is differentiated through a loop of bounded length, which has derivatives of every mode and order.
    """
    import diffrax

    return _solution(field, integrate, start, span, known, guesses, adjoint=diffrax.ForwardMode())


@partial(_solved.defjvp, symbolic_zeros=True)
def _solved_jvp(field: Field, integrate: Integrate, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Returns the solution and its tangent."""
    import diffrax

    def solution(arguments: Any) -> Any:
        return _solution(field, integrate, *arguments, adjoint=diffrax.DirectAdjoint())

    return moved(solution, primals, tangents)


def _saveat(integrate: Integrate) -> "diffrax.SaveAt":
    """Returns what Diffrax saves."""
    import diffrax

    if integrate.save is None:
        return diffrax.SaveAt(t1=True)
    if isinstance(integrate.save, tuple):
        return diffrax.SaveAt(ts=jnp.asarray(integrate.save))
    return integrate.save


def _controller(integrate: Integrate) -> "diffrax.AbstractStepSizeController[Any, Any]":
    """Returns the controller given; else steps of `dt0`, or where that is not given either, adaptive ones."""
    import diffrax

    if integrate.controller is not None:
        return integrate.controller
    if integrate.dt0 is not None:
        return diffrax.ConstantStepSize()
    return diffrax.PIDController(rtol=integrate.rtol, atol=integrate.atol)


def _event(integrate: Integrate, field: Field) -> "diffrax.Event | None":
    """Returns the event in Diffrax's terms: of a variable, its change of sign, located to the tolerances."""
    import diffrax

    given = integrate.event
    if given is None:
        return None
    if isinstance(given, str):
        found = optx.Newton(rtol=integrate.rtol, atol=integrate.atol)
        return diffrax.Event(partial(_crossing, field, given), root_finder=found)
    conditions = jax.tree.map(lambda condition: partial(_condition, condition), given.cond_fn)
    return diffrax.Event(conditions, root_finder=given.root_finder, direction=given.direction)


def _crossing(field: Field, name: str, t: Any, y: Any, args: Any, **_: Any) -> Any:
    """Returns the value of the variable `name`: a state, or one evaluated inside."""
    return y[name] if name in y else field.inside(t, y, *args)[0][name]


def _condition(condition: Callable[..., Any], t: Any, y: Any, args: Any, **options: Any) -> Any:
    """Returns a condition of the user's own, whose `args` are what the rates read from outside, by name."""
    return condition(t, y, args[0], **options)


def _saved(
    field: Field, integrate: Integrate, times: Any, states: Values, known: Values, guesses: Values
) -> tuple[dict[str, Any], Any]:
    """Returns what is evaluated inside, at the times saved, and whether the cycles for it converged."""
    if all(node.kind is Kind.RATE for node in field.nodes):
        return {}, jnp.asarray(True)
    at = partial(field.inside, known=dict(known), guesses=dict(guesses))
    if integrate.save is None:
        return at(times, states)
    inside, converged = jax.vmap(at)(times, states)
    # Of a number of times that is not known before, those not reached are infinite.
    return inside, jnp.all(converged | ~jnp.isfinite(times))
