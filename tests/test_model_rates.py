"""Rates of change in models, integrated by Diffrax: against closed forms."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax import ModelError, SolveError

TIMES = np.linspace(0.0, 1.0, 5)


@cpx.rate("x")
def forced(x: Any, t: Any, k: Any = 1.0) -> Any:
    return -k * x + jnp.sin(t)


def x_at(t: Any, x_0: Any = 1.0) -> Any:
    """Returns the solution of dx/dt = -x + sin t."""
    return (np.sin(t) - np.cos(t)) / 2 + (x_0 + 0.5) * np.exp(-t)


# For derivatives a loop is compiled in levels, one for each digit of the steps allowed, in base 16.
FEW = 256


def model(max_steps: int = FEW, **options: Any) -> cpx.Model:
    return cpx.Model(forced).close(cpx.Integrate(span=(0.0, 1.0), max_steps=max_steps, **options))


def test_time_moves() -> None:
    # A system that holds `t` constant gives 0.368.
    result = model().run(x_0=1.0)
    np.testing.assert_allclose(result["x"], x_at(1.0), rtol=1e-7)
    np.testing.assert_allclose(result["x"], 0.70240, atol=5e-6)
    assert float(result["t"]) == 1.0


def test_initial_states_and_parameters_are_inputs() -> None:
    assert model().inputs == ("k", "x_0")
    assert model().outputs == ("x", "t")
    result = model().run(x_0=3.0, k=1.0)
    np.testing.assert_allclose(result["x"], x_at(1.0, 3.0), rtol=1e-7)


def test_states_are_saved_at_times() -> None:
    result = model(save=TIMES).run(x_0=1.0)
    np.testing.assert_allclose(result["x"], x_at(TIMES), rtol=1e-6)
    np.testing.assert_array_equal(result["t"], TIMES)


def test_every_step_can_be_saved() -> None:
    result = model(save=diffrax.SaveAt(steps=True), max_steps=64).run(x_0=1.0)
    reached = np.isfinite(result["t"])
    assert 1 < reached.sum() < 64
    np.testing.assert_allclose(result["x"][reached], x_at(result["t"][reached]), rtol=1e-6)


def test_fixed_steps_are_those_of_the_scheme() -> None:
    decay = cpx.rate(lambda y: -y, "y", name="decay")
    closed = cpx.Model(decay).close(cpx.Integrate(span=(0, 1), solver=diffrax.Euler(), dt0=0.1))
    result = closed.run(y_0=100.0)
    np.testing.assert_allclose(result["y"], 100 * 0.9**10, rtol=1e-12)
    assert int(result.solves["decay"].iterations) == 10
    assert result.solves["decay"].status == "converged"


def test_a_stiff_solver_integrates_stiff_rates() -> None:
    fast = cpx.rate(lambda y, t: -1e4 * (y - jnp.cos(t)), "y", name="fast")
    options: dict[str, Any] = {"solver": diffrax.Kvaerno5(), "rtol": 1e-8, "atol": 1e-10}
    result = cpx.Model(fast).close(cpx.Integrate(span=(0.0, 1.0), **options)).run(y_0=0.0)
    # y = (k^2 cos t + k sin t) / (k^2 + 1) once the transient has died out.
    np.testing.assert_allclose(result["y"], (1e8 * np.cos(1) + 1e4 * np.sin(1)) / (1e8 + 1), rtol=1e-7)
    assert int(result.solves["fast"].iterations) < 500


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_the_integral_is_differentiated(mode: Any) -> None:
    slopes = mode(model().function(("x_0", "k"), "x"), argnums=(0, 1))(1.0, 1.0)
    np.testing.assert_allclose(slopes[0], np.exp(-1), rtol=1e-7)
    # By differences of a far finer integral.
    fine = model(rtol=1e-12, atol=1e-12).function(("x_0", "k"), "x")
    difference = (fine(1.0, 1.0 + 1e-4) - fine(1.0, 1.0 - 1e-4)) / 2e-4
    np.testing.assert_allclose(slopes[1], difference, rtol=1e-6)


def test_the_integral_has_second_derivatives() -> None:
    decay = cpx.rate(lambda y, k: -k * y, "y", name="decay")
    # Sixteen steps of fifth order, each with an error of some (k/16)^6 / 720.
    closed = cpx.Model(decay).close(cpx.Integrate(span=(0.0, 1.0), dt0=1 / 16, max_steps=16))
    curvature = jax.hessian(closed.function("k", "y", fixed={"y_0": 1.0}))(2.0)
    np.testing.assert_allclose(curvature, np.exp(-2), rtol=1e-6)


@pytest.mark.parametrize("adjoint", [diffrax.RecursiveCheckpointAdjoint(), diffrax.BacksolveAdjoint()])
def test_diffrax_adjoints_are_taken_as_they_are(adjoint: Any) -> None:
    slope = jax.grad(model(adjoint=adjoint).function("x_0", "x"))(1.0)
    np.testing.assert_allclose(slope, np.exp(-1), rtol=1e-6)


def test_the_integral_maps_over_initial_states() -> None:
    x_0 = jnp.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(jax.vmap(model().function("x_0", "x"))(x_0), x_at(1.0, x_0), rtol=1e-7)


@cpx.rate("position")
def motion(velocity: Any) -> Any:
    return velocity


@cpx.rate("velocity")
def force(acceleration: Any) -> Any:
    return acceleration


@cpx.component("acceleration")
def spring(position: Any, stiffness: Any) -> Any:
    return -stiffness * position


def oscillator(**options: Any) -> cpx.Model:
    return cpx.Model(motion, force, spring).close(cpx.Integrate(span=(0.0, 2.0), **options))


def test_coupled_rates_are_integrated_together_with_what_they_need() -> None:
    times = np.linspace(0.0, 2.0, 4)
    result = oscillator(save=times).run(position_0=1.0, velocity_0=0.0, stiffness=4.0)
    np.testing.assert_allclose(result["position"], np.cos(2 * times), atol=1e-7)
    np.testing.assert_allclose(result["velocity"], -2 * np.sin(2 * times), atol=1e-7)
    # What is evaluated inside the vector field is there at the times saved.
    np.testing.assert_allclose(result["acceleration"], -4 * np.cos(2 * times), atol=1e-6)


def test_a_trajectory_is_read_by_other_components() -> None:
    energy = cpx.component(
        lambda position, velocity, stiffness: velocity**2 / 2 + stiffness * position**2 / 2,
        "energy",
        name="energy",
    )
    closed = cpx.Model(energy, motion, force, spring).close(
        cpx.Integrate(span=(0.0, 2.0), save=[0.0, 1.0, 2.0])
    )
    result = closed.run(position_0=1.0, velocity_0=0.0, stiffness=4.0)
    np.testing.assert_allclose(result["energy"], [2.0, 2.0, 2.0], rtol=1e-7)


def test_what_does_not_change_in_time_is_evaluated_once() -> None:
    calls = []

    def slow(mass: Any) -> Any:
        calls.append(1)
        return np.asarray(4.0 / mass)

    box = cpx.component(cpx.foreign(slow, jnp.float64, name="slow"), "stiffness", name="slow")
    closed = cpx.Model(motion, force, spring, box).close(cpx.Integrate(span=(0.0, 2.0)))
    result = closed.run(position_0=1.0, velocity_0=0.0, mass=1.0)
    np.testing.assert_allclose(result["position"], np.cos(4), atol=1e-7)
    assert len(calls) == 1


def pendulum_with_constraint() -> cpx.Model:
    """Returns dy/dt = -u, where u + u^3 = y is solved at each time."""
    cycle = cpx.residual(lambda u, y: u + u**3 - y, cpx.output("u", guess=0.5), name="algebra")
    rate = cpx.rate(lambda u: -u, "y", name="rate")
    newton = cpx.Newton(rtol=1e-12, atol=1e-12)
    return (
        cpx.Model(cycle, rate)
        .close(newton)
        .close(cpx.Integrate(span=(0.0, 1.0), rtol=1e-10, atol=1e-10, max_steps=FEW))
    )


def test_an_algebraic_cycle_is_solved_at_each_time() -> None:
    result = pendulum_with_constraint().run(y_0=2.0)
    u = float(result["u"])
    np.testing.assert_allclose(u + u**3, result["y"], rtol=1e-9)
    # du/dt (1 + 3 u^2) = -u: log u + 3 u^2 / 2 falls by one in the time from 0 to 1, from u = 1.
    np.testing.assert_allclose(np.log(u) + 1.5 * u**2, 1.5 - 1.0, rtol=1e-8)


def test_an_algebraic_cycle_is_differentiated() -> None:
    slope = jax.grad(pendulum_with_constraint().function("y_0", "u"))(2.0)
    u = float(pendulum_with_constraint().run(y_0=2.0)["u"])
    # With F(u) = log u + 3 u^2 / 2: F'(u) du = F'(1) du_0, and dy_0 = (1 + 3) du_0.
    np.testing.assert_allclose(slope, (1 + 3) / (1 / u + 3 * u) / 4, rtol=1e-7)


def test_an_open_cycle_inside_says_to_close_it_first() -> None:
    cycle = cpx.residual(lambda u, y: u - y, cpx.output("u", guess=0.5), name="algebra")
    rate = cpx.rate(lambda u: -u, "y", name="rate")
    with pytest.raises(ModelError, match=r"`algebra` is not closed.*`y`.*Close it first"):
        cpx.Model(cycle, rate).close(cpx.Integrate(span=(0.0, 1.0)))


def test_the_span_may_be_a_variable() -> None:
    closed = cpx.Model(forced).close(cpx.Integrate(span=(0.0, "end"), max_steps=FEW))
    assert closed.inputs == ("k", "x_0", "end")
    fn = closed.function(("end", "x_0"), "x")
    np.testing.assert_allclose(fn(0.5, 1.0), x_at(0.5), rtol=1e-7)
    np.testing.assert_allclose(jax.grad(fn)(0.5, 1.0), -x_at(0.5) + np.sin(0.5), rtol=1e-6)


def test_an_event_ends_the_integral() -> None:
    fall = [cpx.rate(lambda v: v, "h", name="height"), cpx.rate(lambda g: -g, "v", name="speed")]
    closed = cpx.Model(*fall).close(cpx.Integrate(span=(0.0, 10.0), event="h", max_steps=FEW))
    result = closed.run(h_0=5.0, v_0=0.0, g=9.81)
    np.testing.assert_allclose(result["t"], np.sqrt(2 * 5 / 9.81), rtol=1e-6)
    np.testing.assert_allclose(result["v"], -np.sqrt(2 * 5 * 9.81), rtol=1e-6)
    slope = jax.grad(closed.function("h_0", "t", fixed={"v_0": 0.0, "g": 9.81}))(5.0)
    np.testing.assert_allclose(slope, 1 / np.sqrt(2 * 5 * 9.81), rtol=1e-5)


def test_an_event_of_diffrax_reads_states_and_inputs_by_name() -> None:
    event = diffrax.Event(lambda t, y, args, **_: y["x"] < args["k"] * 0.9)
    result = model(event=event, dt0=0.01).run(x_0=1.0, k=1.0)
    assert 0.89 < float(result["x"]) < 0.9


def test_an_initial_state_has_another_name_or_a_value() -> None:
    assert model(initial={"x": "start"}).inputs == ("k", "start")
    np.testing.assert_allclose(model(initial={"x": 3.0}).run()["x"], x_at(1.0, 3.0), rtol=1e-7)


def test_a_state_may_be_a_vector() -> None:
    matrix = jnp.array([[0.0, 1.0], [-1.0, 0.0]])
    turn = cpx.rate(lambda y: matrix @ y, "y", name="turn")
    result = (
        cpx.Model(turn).close(cpx.Integrate(span=(0.0, 1.0), save=[0.5, 1.0])).run(y_0=jnp.array([1.0, 0.0]))
    )
    np.testing.assert_allclose(result["y"], [[np.cos(s), -np.sin(s)] for s in (0.5, 1.0)], rtol=1e-6)


def test_two_sets_of_rates_are_integrated_apart() -> None:
    second = cpx.rate(lambda z, x: x - z, "z", name="second")
    both = cpx.Model(forced, second)
    first = both.close(cpx.Integrate(span=(0.0, 1.0), time="t"), cut="x")
    then = first.close(cpx.Integrate(span=(0.0, 2.0), time="tau"))
    result = then.run(x_0=1.0, z_0=0.0)
    # The second reads the end of the first, a constant.
    np.testing.assert_allclose(result["z"], x_at(1.0) * (1 - np.exp(-2)), rtol=1e-6)


def test_a_nested_model_is_integrated_under_its_name() -> None:
    named = model().nested("plant", promote=["k"])
    assert (named.inputs, named.outputs) == (("k", "plant.x_0"), ("plant.x", "plant.t"))
    np.testing.assert_allclose(named.run({"plant.x_0": 1.0})["plant.x"], x_at(1.0), rtol=1e-7)
    open_one = cpx.Model(forced).nested("plant").close(cpx.Integrate(span=(0.0, 1.0)))
    np.testing.assert_allclose(open_one.run({"plant.x_0": 1.0})["plant.x"], x_at(1.0), rtol=1e-7)


def test_a_trajectory_may_be_part_of_a_cycle() -> None:
    # The gain for which x(1) is 0.5, found by Newton around the integral.
    shoot = cpx.residual(lambda x, wanted: x - wanted, cpx.output("k", guess=1.0), name="shoot")
    decay = cpx.rate(lambda y, k: -k * y, "x", rename={"y": "x"}, name="decay")
    closed = cpx.Model(decay).close(cpx.Integrate(span=(0.0, 1.0), max_steps=FEW)) + shoot
    result = closed.close(cpx.Newton(rtol=1e-10, atol=1e-10)).run(x_0=1.0, wanted=0.5)
    np.testing.assert_allclose(result["k"], np.log(2), rtol=1e-7)


def test_an_integral_that_needs_more_steps_says_so() -> None:
    with pytest.raises(SolveError, match="steps"):
        model(dt0=1e-3, max_steps=10).run(x_0=1.0)
    solve = model(dt0=1e-3, max_steps=10).run(x_0=1.0, throw=False).solves["forced"]
    assert not solve.converged
    assert "max_steps" in solve.status


def test_a_model_prints_its_integrals_and_its_open_rates() -> None:
    assert "  rates motion + force: integrated from 0.0 to 2.0, Tsit5" in repr(oscillator())
    assert "  rate forced: open" in repr(cpx.Model(forced))


def test_equal_integrals_make_equal_models() -> None:
    assert model(save=TIMES) == model(save=list(TIMES))
    assert hash(model(save=TIMES)) == hash(model(save=TIMES))
    assert model(save=TIMES) != model()


def wrong(value: Any) -> Any:
    """Returns `value`, whose type is the fault."""
    return value


BAD = {
    "no rate": (lambda: cpx.Model(spring).close(cpx.Integrate(span=(0, 1))), ["no rate", "@couplax.rate"]),
    "a misspelt state": (
        lambda: oscillator(initial={"positon": 1.0}),
        ["`positon`", "state", "Close: `position`"],
    ),
    "a span of one end": (lambda: cpx.Integrate(span=wrong((1.0,))), ["span", "(start, end)"]),
    "a span of arrays": (lambda: cpx.Integrate(span=wrong((0.0, [1.0]))), ["list", "end"]),
    "times outside the span": (lambda: model(save=[0.0, 2.0]), ["outside the span 0 to 1"]),
    "times out of order": (lambda: model(save=[0.5, 0.2]), ["out of order"]),
    "a rate of another shape": (
        lambda: model().run(x_0=jnp.ones(1), k=jnp.ones(3)),
        ["`x`", "float64[3]", "`x_0`", "float64[1]"],
    ),
    "rates that nothing integrates": (
        lambda: cpx.Model(forced).run(),
        ["`forced`", "`x`", "couplax.Integrate"],
    ),
    "an event of no variable": (lambda: oscillator(event="hight"), ["`hight`", "changes with the states"]),
    "a missing initial state": (
        lambda: oscillator().run(position_0=1.0, stiffness=4.0),
        ["input `velocity_0`, read by `motion + force`", "Pass velocity_0=..."],
    ),
    "a number of times": (lambda: model(save=5), ["save=5", "type int", "times in a row"]),
    "a solver's class": (
        lambda: model(solver=diffrax.Tsit5),
        ["solver=", "diffrax.Tsit5()", "Write Tsit5(...)"],
    ),
    "no controller": (lambda: model(controller=5), ["controller=5", "step size controller"]),
    "dense output": (lambda: model(save=diffrax.SaveAt(dense=True)), ["dense output", "times instead"]),
    "steps backwards": (lambda: model(dt0=-0.1), ["dt0=-0.1", "from the start of the span to its end"]),
    "a negative tolerance": (lambda: model(rtol=-1.0), ["rtol=-1.0", "no positive number"]),
    "Newton for rates": (
        lambda: cpx.Model(forced).close(cpx.Newton()),
        ["`forced`", "couplax.Integrate(...)"],
    ),
    "no solver": (lambda: cpx.Model(forced).close(wrong(cpx.Newton)), ["no solver", "Write Newton(...)"]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(BAD))
def test_a_fault_is_told_with_place_and_remedy(name: str) -> None:
    call, parts = BAD[name]
    with pytest.raises(ModelError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
