"""The staged program: what it is called with, what it says of itself, and how far programs come down."""

import inspect
import sys
from functools import partial
from typing import Any

import diffrax
import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax import StageError
from couplax.stage import count_equations, stage


def euler(y0: Any, steps: int = 10) -> Any:
    term = diffrax.ODETerm(lambda t, y, args: -y)
    solution: Any = diffrax.diffeqsolve(
        term, diffrax.Euler(), t0=0, t1=1, dt0=1 / steps, y0=y0, max_steps=steps + 1
    )
    return solution.ys[0]


def names(jaxpr: Any) -> list[str]:
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_ten_euler_steps_come_down_to_thirty_equations() -> None:
    staged = cpx.stage(euler, 1.0)
    count = names(staged.jaxpr.jaxpr).count
    assert (count("neg"), count("mul"), count("add")) == (10, 10, 10)
    assert len(staged.jaxpr.eqns) == 30


def test_euler_in_float32_gives_the_reference() -> None:
    with jax.enable_x64(False):
        staged = cpx.stage(euler, 1.0)
        np.testing.assert_allclose(staged(100.0), 34.867847, rtol=1e-6)


def test_a_thousand_euler_steps_come_down_to_one_counted_loop() -> None:
    staged = cpx.stage(lambda y0: euler(y0, 1000), 1.0)
    (loop,) = [eqn for eqn in staged.jaxpr.eqns if eqn.primitive.name in {"scan", "while"}]
    assert loop.primitive.name == "scan"
    assert loop.params["length"] == 1000
    assert len(loop.params["jaxpr"].jaxpr.eqns) <= 5
    # Times are summed in another order than 1 - k / 1000: a thousand roundings.
    np.testing.assert_allclose(staged(1.0), (1 - 1 / 1000) ** 1000, rtol=1e-12)


def lorenz(y0: Any, solver: Any = None) -> Any:
    def field(t: Any, y: Any, args: Any) -> Any:
        return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    solution: Any = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        solver or diffrax.Tsit5(),
        t0=0,
        t1=0.25,
        dt0=0.01,
        y0=y0,
        stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-6),
    )
    return solution.ys[0]


def inner(jaxpr: Any) -> list[jec.JaxprEqn]:
    """Returns the equations of `jaxpr` and of the jaxprs inside it."""
    below = [eqn for each in jaxpr.eqns for sub in jec.jaxprs_in_params(each.params) for eqn in inner(sub)]
    return [*jaxpr.eqns, *below]


@pytest.mark.parametrize(("solver", "most"), [("Tsit5", 190), ("Dopri5", 190), ("Bosh3", 130)])
def test_a_step_of_an_embedded_method_with_a_controller_has_no_loop_inside(solver: str, most: int) -> None:
    fn = partial(lorenz, solver=getattr(diffrax, solver)())
    y0 = jnp.array([1.0, 0.5, 20.0])
    staged = cpx.stage(fn, y0)
    (loop,) = [eqn for eqn in inner(staged.jaxpr.jaxpr) if eqn.primitive.name in {"while", "scan"}]
    assert count_equations(loop.params["body_jaxpr"].jaxpr) <= most
    # The same operations on the same numbers; XLA may contract a product and a sum in one of the two.
    np.testing.assert_allclose(jax.jit(staged)(y0), jax.jit(fn)(y0), rtol=1e-12)


def test_the_summary_tells_what_each_pass_left() -> None:
    summary = cpx.stage(euler, 1.0).summary()
    lines = summary.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["traced", "finalised", "specialised", "simplified"]
    assert lines[3].split()[1:3] == ["30", "equations,"]
    assert lines[4] == "no loop remains"


def test_the_summary_tells_how_much_was_known() -> None:
    summary = cpx.stage(lambda x: x * jnp.cos(jnp.sin(jnp.asarray(2.0))), 1.0).summary()
    finalised = summary.splitlines()[1]
    assert finalised.split(maxsplit=1)[1] == "3 equations, 2 of them known before it runs, 0 loops"


def test_the_summary_tells_what_loops_carry_and_where_they_come_from() -> None:
    def settled(x: Any, n: Any) -> Any:
        def turn(c: Any) -> Any:
            y = jax.lax.while_loop(lambda d: d[0] > n, lambda d: jnp.sin(d), c[0])
            return y * 2, c[1] / 2

        return jax.lax.while_loop(lambda c: c[1] > n, turn, (x, n))

    lines = cpx.stage(settled, jnp.ones(3), 0.5).summary().splitlines()
    outer, inner = lines[-2:]
    assert "carries float64[3], float64[], from test_staged.py:" in outer
    assert outer.endswith("(settled)")
    assert inner.startswith("  a loop until its condition fails, 1 equation a trip, carries float64[3],")
    assert lines[3].endswith(", 2 loops")


@pytest.mark.parametrize(
    ("name", "told"),
    [("finalise", "finalised"), ("specialise", "specialised"), ("simplify", "simplified")],
)
def test_a_pass_that_breaks_a_program_is_named(name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def backwards(closed: Any, **options: Any) -> jec.ClosedJaxpr:
        eqns = list(reversed(closed.jaxpr.eqns))
        return jec.ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)

    monkeypatch.setattr(sys.modules[stage.__module__], name, backwards)
    with pytest.raises(StageError, match=f"The program that was {told} does not type-check"):
        cpx.stage(lambda x: jnp.sin(jnp.cos(x)), 1.0)


def test_the_summary_tells_of_the_loops_that_remain() -> None:
    def halved(x: Any, n: Any) -> Any:
        y = jax.lax.scan(lambda c, _: (jnp.sin(c), None), x, length=1000)[0]
        return jax.lax.while_loop(lambda c: c > n, lambda c: c / 2, y)

    summary = cpx.stage(halved, 1.0, 0.5).summary()
    assert "a loop of 1000 trips, 1 equation a trip" in summary
    assert "a loop until its condition fails, 1 equation a trip" in summary


def test_trees_come_and_go() -> None:
    staged = cpx.stage(lambda point: {"sum": point["a"] + point["b"][0]}, {"a": 1.0, "b": (2.0,)})
    assert float(staged({"a": 3.0, "b": (4.0,)})["sum"]) == 7


@pytest.mark.parametrize("args", [(np.zeros(4),), (np.zeros(3, np.int64),), (1.0, 2.0), ([np.zeros(3)],)])
def test_other_arguments_than_it_was_staged_for_are_named(args: tuple[Any, ...]) -> None:
    staged = cpx.stage(lambda x: x + 1, jax.ShapeDtypeStruct((3,), float))
    with pytest.raises(StageError, match=r"staged for .* of \(float64\[3\]\).*Stage it again"):
        staged(*args)


def test_a_staged_program_is_a_function_for_jax() -> None:
    staged = cpx.stage(lambda x: jnp.sin(x) * 2, 1.0)
    assert float(jax.jit(staged)(1.0)) == 2 * float(jnp.sin(1.0))
    np.testing.assert_allclose(jax.grad(staged)(1.0), 2 * jnp.cos(1.0), rtol=1e-15)
    np.testing.assert_allclose(jax.vmap(staged)(jnp.ones(3)), 2 * jnp.sin(jnp.ones(3)), rtol=1e-15)


def test_equations_keep_the_users_line() -> None:
    def drag(x: Any) -> Any:
        return jnp.sin(x)

    (eqn,) = cpx.stage(jax.jit(drag), 1.0).jaxpr.eqns
    frame = eqn.source_info.traceback
    assert frame is not None
    assert any("drag" in str(entry.function_name) for entry in frame.frames)


def test_a_staged_jaxpr_type_checks() -> None:
    jec.check_jaxpr(cpx.stage(euler, 1.0).jaxpr.jaxpr)


def test_what_is_staged_is_taken_as_it_is_and_keeps_its_names() -> None:
    def scaled(mass: Any, speed: Any) -> Any:
        return mass * speed

    staged = stage(scaled, 1.0, 2.0)
    assert stage(staged, 3.0, 4.0) is staged
    assert list(inspect.signature(staged).parameters) == ["mass", "speed"]
    with pytest.raises(StageError, match="was staged for"):
        stage(staged, 3)
