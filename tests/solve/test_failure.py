"""What is raised where a solve does not converge: with which numbers, and under which transformations."""

import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from couplax import SolveError


def rootless(**options: Any) -> cpx.Model:
    """Returns a cycle whose residual is x^2 + 1 + a: it has a root where a <= -1, else none."""
    away = cpx.component(lambda x, a: x**2 + x + 1 + a, cpx.output("x", guess=0.5), name="away")
    return cpx.Model(away).close(cpx.Newton(max_steps=20, **options))


AWAY = rootless()
FUNCTION = AWAY.function("a", "x")


def raised(call: Callable[[], Any], kind: type[Exception] = SolveError) -> Any:
    with pytest.raises(kind) as caught:
        jax.block_until_ready(call())
    return caught.value


def test_a_failure_carries_the_cycle_its_solve_and_what_it_read() -> None:
    error = raised(lambda: AWAY.run(a=1.5))
    assert error.cycle == "away"
    assert float(error.inputs["a"]) == 1.5
    assert (int(error.solve.iterations), error.solve.converged) == (20, False)
    x = float(error.solve.values["x"])
    np.testing.assert_allclose(error.solve.residual["x"], x**2 + 1 + 1.5, rtol=1e-12)


def test_the_message_has_status_steps_residual_inputs_and_the_way_out() -> None:
    message = str(raised(lambda: AWAY.run(a=1.5)))
    for part in (
        "cycle `away` did not converge: Newton ended after 20 steps",
        "the limit of steps was reached",
        "x: residual 2.5",
        "a = 1.5",
        "throw=False",
    ):
        assert part in message


TRANSFORMED: dict[str, Callable[[], Any]] = {
    "called as it is": lambda: FUNCTION(1.5),
    "under grad": lambda: jax.grad(FUNCTION)(1.5),
    "under vmap": lambda: jax.vmap(FUNCTION)(jnp.array([-2.0, 1.5])),
    "under vmap of grad": lambda: jax.vmap(jax.grad(FUNCTION))(jnp.array([-2.0, 1.5])),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_outside_programs_the_failure_itself_is_raised(name: str) -> None:
    error = raised(TRANSFORMED[name])
    assert error.cycle == "away"
    assert float(error.inputs["a"]) == 1.5
    assert "a = 1.5" in str(error)


LANES = jnp.array([-2.0, 1.5])
COMPILED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a function": (FUNCTION, 1.5),
    "a gradient": (jax.grad(FUNCTION), 1.5),
    "a tangent": (lambda a: jax.jvp(FUNCTION, (a,), (1.0,))[1], 1.5),
    "lanes": (jax.vmap(FUNCTION), LANES),
    "a loop": (lambda a: jax.lax.fori_loop(0, 3, lambda _, a: a + 3.0 + 0 * FUNCTION(a), a), -4.5),
    "a branch": (lambda a: jax.lax.cond(a > 0, FUNCTION, jnp.sin, a), 1.5),
    "a run": (lambda a: AWAY.run(a=a), 1.5),
}


@pytest.mark.parametrize("name", COMPILED)
def test_inside_a_users_program_the_message_has_the_same_numbers(name: str) -> None:
    fn, at = COMPILED[name]
    program = jax.jit(fn)
    for _ in range(2):
        # JAX makes it a RuntimeError at first, and a ValueError where the program ran before.
        with pytest.raises((RuntimeError, ValueError)) as caught:
            jax.block_until_ready(program(at))
        for part in ("cycle `away`", "after 20 steps", "the limit of steps", "x: residual 2.5", "a = 1.5"):
            assert part in str(caught.value)


def test_a_gradient_that_needs_no_value_is_checked_all_the_same() -> None:
    # x is linear in what follows the cycle: the value itself is dead code.
    program = jax.jit(jax.grad(lambda a: 3 * FUNCTION(a)))
    raised(lambda: program(1.5), RuntimeError)
    # x = -sqrt(-1 - a) from this guess or its negative: dx/da = -1/(2 x).
    x = float(FUNCTION(-2.0))
    np.testing.assert_allclose(program(-2.0), -3 / (2 * x), rtol=1e-8)


def test_a_branch_not_taken_is_not_checked() -> None:
    safe = jax.jit(lambda a: jax.lax.cond(a < 0, FUNCTION, jnp.sin, a))
    np.testing.assert_allclose(safe(1.5), np.sin(1.5), rtol=1e-12)


def test_the_first_lane_that_failed_is_told_of() -> None:
    points = jnp.array([[-2.0, -3.0, 1.5], [2.5, -4.0, -5.0]])
    error = raised(lambda: jax.vmap(jax.vmap(FUNCTION))(points))
    assert "in lane (0, 2) of a vmap, the first of 2 that failed out of 6" in str(error)
    assert float(error.inputs["a"]) == 1.5
    message = str(raised(lambda: jax.jit(jax.vmap(FUNCTION))(points[0]), RuntimeError))
    assert "in lane 2 of a vmap, the first of 1 that failed out of 3" in message


def test_a_check_changes_no_value_and_no_gradient() -> None:
    points = jnp.array([-2.0, -3.0, -10.0])
    x = jax.jit(jax.vmap(FUNCTION))(points)
    np.testing.assert_allclose(x**2, -1 - points, rtol=1e-9)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(FUNCTION)))(points), -1 / (2 * x), rtol=1e-9)
    np.testing.assert_allclose(jax.hessian(FUNCTION)(-2.0), -1 / (4 * x[0] ** 3), rtol=1e-7)


def test_a_staged_failure_makes_values_and_gradients_nan_or_is_dropped() -> None:
    both = jax.value_and_grad(FUNCTION)
    assert np.isnan(cpx.stage(both, 1.5)(1.5)).all()
    kept = cpx.stage(both, 1.5, failures="ignore")
    assert np.isfinite(kept(1.5)).all()
    np.testing.assert_allclose(kept(-2.0), [1.0, -0.5], rtol=1e-7)


def test_a_staged_failure_makes_its_own_lane_nan_and_no_other() -> None:
    points = jnp.array([-2.0, 1.5, -5.0])
    # The roots are those of x^2 = -1 - a.
    np.testing.assert_allclose(cpx.stage(jax.vmap(FUNCTION), points)(points) ** 2, [1, np.nan, 4], rtol=1e-7)


def test_an_exported_failure_is_nan() -> None:
    ort = pytest.importorskip("onnxruntime")
    proto = cpx.to_onnx(jax.value_and_grad(FUNCTION), -2.0)
    session = ort.InferenceSession(proto.SerializeToString())
    name = session.get_inputs()[0].name
    np.testing.assert_allclose(session.run(None, {name: np.asarray(-2.0)}), [1.0, -0.5], rtol=1e-7)
    assert np.isnan(session.run(None, {name: np.asarray(1.5)})).all()


def test_a_model_inside_a_component_raises_its_own_failure() -> None:
    outer = cpx.Model(cpx.component(lambda b: FUNCTION(b) + 1, "y", name="outer"))
    assert raised(lambda: outer.run(b=1.5)).cycle == "away"
    np.testing.assert_allclose(outer.run(b=-2.0)["y"], 2.0, rtol=1e-7)


def test_what_a_foreign_code_raised_is_raised_by_functions_too() -> None:
    def touchy(x: Any) -> Any:
        if x > 1:
            raise ValueError("outside the table") from KeyError("row 7")
        return x / 2

    model = cpx.Model(cpx.component(cpx.foreign(touchy, jnp.float64), "y", name="table"))
    fn = model.function("x", "y")
    for call, at in ((fn, 2.0), (jax.grad(fn), 2.0), (jax.vmap(fn), jnp.full(2, 2.0))):
        with pytest.raises(ValueError, match="outside the table") as caught:
            call(at)
        assert isinstance(caught.value.__cause__, KeyError)


def test_without_throwing_the_status_is_had_everywhere() -> None:
    def status(a: Any) -> cpx.Results:
        return AWAY.run(a=a, throw=False)

    solve = status(1.5).solves["away"]
    assert (solve.converged, solve.status) == (False, "the limit of steps was reached")
    assert not jax.jit(status)(1.5).solves["away"].converged
    lanes = jax.vmap(status)(jnp.array([-2.0, 1.5])).solves["away"]
    assert lanes.converged.tolist() == [True, False]
    assert lanes.status == "1 converged, 1 the limit of steps was reached"


def test_an_error_survives_a_trip_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(raised(lambda: AWAY.run(a=1.5))))
    assert (error.cycle, float(error.inputs["a"])) == ("away", 1.5)
    assert error.solve.status == "the limit of steps was reached"


# ---- what is found out


def closed(*components: cpx.Component, cut: Any = None, **options: Any) -> cpx.Model:
    return cpx.Model(*components).close(cpx.Newton(**options), cut=cut)


def test_nan_is_traced_to_the_component_that_gave_it_first() -> None:
    first = cpx.component(lambda x, a: x + a, "y", name="first")
    logarithm = cpx.component(lambda y: jnp.log(y - 10), "z", name="logarithm")
    last = cpx.component(lambda z: z * 2, cpx.output("x", guess=0.25), name="last")
    error = raised(lambda: closed(first, logarithm, last, cut="x").run(a=1.0))
    assert "Component `logarithm` (test_failure.py:" in str(error)
    assert "gives `z` = nan from y = 1.25" in str(error)


def test_nan_of_a_foreign_code_is_traced_to_its_component() -> None:
    box = cpx.foreign(lambda x: np.where(x > 1, np.nan, x), jnp.float64, name="table")
    boxed = cpx.component(box, cpx.output("x", guess=3.0), name="boxed")
    error = raised(lambda: closed(boxed).run())
    assert "Component `boxed`" in str(error)
    assert "gives `x` = nan from x = 3" in str(error)


def test_an_input_that_is_nan_is_named() -> None:
    assert "The input `a` is nan" in str(raised(lambda: AWAY.run(a=np.nan)))


def test_a_singular_jacobian_names_the_unknown_and_the_residual() -> None:
    one = cpx.component(lambda u, a: u + a, cpx.output("u", guess=1.0), name="one")
    two = cpx.component(lambda u, v: u + v, cpx.output("v", guess=1.0), name="two")
    coupled = cpx.component(lambda u, v: u * 0 + v * 0, "w", name="coupled")
    model = cpx.Model(one, two, coupled).close(cpx.Newton(), cut=("u", "v"))
    message = str(raised(lambda: model.run(a=1.0)))
    assert "singular" in message
    assert "residual `u` depends on no unknown" in message


def test_dependent_residuals_are_named_by_element() -> None:
    matrix = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    linear = cpx.component(lambda w, b: w + matrix @ w - b, cpx.output("w", guess=np.ones(3)), name="linear")
    message = str(raised(lambda: closed(linear).run(b=np.ones(3))))
    assert "singular" in message
    assert "`w[0]`" in message
    assert "`w[1]`" in message
    assert "`w[2]`" not in message


def test_a_residual_that_still_falls_asks_for_more_steps() -> None:
    slow = cpx.component(lambda x: x - x**9, cpx.output("x", guess=2.0), name="slow")
    assert "still falling: allow more steps" in str(raised(lambda: closed(slow, max_steps=6).run()))
    assert "still falling" not in str(raised(lambda: AWAY.run(a=1.5)))


def test_of_many_unknowns_the_worst_are_told_in_less_than_25_lines() -> None:
    ring = [
        cpx.component(
            lambda before, k=k: before**2 + k + 1,
            cpx.output(f"p{k}", guess=1.0),
            name=f"node{k}",
            rename={"before": f"p{(k - 1) % 8}", "k": f"k{k}"},
        )
        for k in range(8)
    ]
    model = closed(*ring, cut=[f"p{k}" for k in range(8)], max_steps=2)
    message = str(raised(model.run))
    assert len(message.splitlines()) < 25
    assert "and 2 more unknowns" in message
    first = next(line for line in message.splitlines() if "<- the worst" in line)
    # The residual at the guess, 1 + k + 1 - 1, is largest for the last.
    assert first.startswith("  p7: residual")
    assert "inputs: " in message
    assert "k5 = 5, and 2 more" in message


def test_an_array_is_told_by_its_worst_element() -> None:
    wide = cpx.component(
        lambda w, a: w**2 + w + 1 + a, cpx.output("w", guess=np.full(20, 0.5), shape=(20,)), name="wide"
    )
    a = np.full(20, -2.0)
    a[7] = 3.0
    message = str(raised(lambda: closed(wide, max_steps=10).run(a=a)))
    assert "w[7]: residual" in message
    assert "a = float64[20] min -2, max 3" in message


def test_two_solves_that_fail_are_told_one_by_one_the_first_first() -> None:
    def parts() -> list[cpx.Component]:
        def apart(x: Any, a: Any) -> Any:
            return x**2 + x + 1 + a

        return [
            cpx.component(
                apart, cpx.output(f"{n}_x", guess=0.5), name=n, rename={"x": f"{n}_x", "a": f"{n}_a"}
            )
            for n in ("zeta", "alpha")
        ]

    model = closed(*parts(), max_steps=20)
    assert raised(lambda: model.run(zeta_a=1.0, alpha_a=1.0)).cycle == "zeta"
    assert raised(lambda: model.run(zeta_a=-2.0, alpha_a=1.0)).cycle == "alpha"


def test_of_nested_solves_the_inner_one_is_told_where_it_fails() -> None:
    link = cpx.component(lambda x, q: 0.1 * x + q, cpx.output("a", guess=-2.0), name="link")
    model = cpx.Model(AWAY, link).close(cpx.Newton(max_steps=15), cut="a")
    # x^2 + 1 + a = 0 with a = x/10 + q.
    x = float(model.run(q=-3.0)["x"])
    np.testing.assert_allclose(x**2 + 0.1 * x, 2.0, rtol=1e-7)
    fn = model.function("q", "x")
    for call in (lambda: model.run(q=3.0), lambda: fn(3.0)):
        error = raised(call)
        assert error.cycle == "away"
        np.testing.assert_allclose(error.inputs["a"], 3 + 0.1 * error.solve.values["x"], atol=1)


def test_an_integral_that_fails_is_told_with_what_it_was_given() -> None:
    blows = cpx.rate(lambda x: x**2, "x", name="blows")
    model = cpx.Model(blows).close(cpx.Integrate(span=(0.0, 2.0), max_steps=40))
    fn = model.function("x_0", "x")
    # x = x_0 / (1 - x_0 t) is infinite at t = 1 for x_0 = 1; for x_0 = 1/4 it is 1/2 at t = 2.
    np.testing.assert_allclose(fn(0.25), 0.5, rtol=1e-4)
    error = raised(lambda: fn(1.0))
    assert error.cycle == "blows"
    assert "The integral of `blows` did not converge: Tsit5 ended after 40 steps" in str(error)
    assert "x_0 = 1" in str(error)


def test_a_solver_that_keeps_no_history_and_a_fixed_point_are_told_of_too() -> None:
    grows = cpx.component(lambda x, a: 2 * x + a, cpx.output("x", guess=1.0), name="grows")
    model = cpx.Model(grows).close(optx.FixedPointIteration(rtol=1e-9, atol=1e-9))
    error = raised(lambda: model.run(a=1.0))
    assert "FixedPointIteration ended after" in str(error)
    assert error.solve.residuals.size == 0
