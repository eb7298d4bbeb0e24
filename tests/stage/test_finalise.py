"""Finalising: no wrapper is left, the numbers stay, and checks become what was asked for."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.extend.core as jec
import jax.numpy as jnp
import lineax as lx
import numpy as np
import optimistix as optx
import pytest
from jax import lax

import couplax as cpx
from couplax import StageError
from couplax.stage import FINALISE_RULES, FinaliseContext, finalise, finalise_rule

OPERATIONS = {
    *(value.name for name, value in vars(jec.primitives).items() if name.endswith("_p")),
    # Operations of JAX that `jax.extend.core.primitives` does not list.
    *("random_wrap", "random_unwrap", "stack", "split", "lu_pivots_to_permutation"),
}
WRAPPERS = {"jit", "pjit", "custom_jvp_call", "custom_vjp_call", "checkpoint", "closed_call", "name", "copy"}


def equations(jaxpr: Any) -> Iterator[jec.JaxprEqn]:
    """Yields the equations of `jaxpr` and of the jaxprs inside it."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in jec.jaxprs_in_params(eqn.params):
            yield from equations(inner)


def primitives(closed: jec.ClosedJaxpr) -> set[str]:
    return {eqn.primitive.name for eqn in equations(closed.jaxpr)}


@jax.custom_jvp
def cubed(x: Any) -> Any:
    return x**3


cubed.defjvp(lambda primals, tangents: (cubed(*primals), 3 * primals[0] ** 2 * tangents[0]))


@jax.custom_vjp
def squared(x: Any) -> Any:
    return x**2


squared.defvjp(lambda x: (x**2, x), lambda x, cotangent: (2 * x * cotangent,))


def checked(x: Any) -> Any:
    return eqx.error_if(x, x < 0, "x is negative") * 2


def linear(x: Any) -> Any:
    matrix = jnp.array([[2.0, 1.0], [0.5, 3.0]]) * x
    return lx.linear_solve(lx.MatrixLinearOperator(matrix), jnp.array([1.0, 2.0])).value


def root(x: Any) -> Any:
    solver = optx.Newton(rtol=1e-8, atol=1e-8)
    return optx.root_find(lambda y, x: y**3 + y - x, solver, jnp.ones_like(x), x).value


def solve(y0: Any, solver: Any = None, controller: Any = None, **options: Any) -> Any:
    term = diffrax.ODETerm(lambda t, y, args: -y * jnp.cos(t))
    solution: Any = diffrax.diffeqsolve(
        term,
        solver or diffrax.Tsit5(),
        t0=0,
        t1=1,
        dt0=0.125,
        y0=y0,
        stepsize_controller=controller or diffrax.ConstantStepSize(),
        **options,
    )
    return solution


def last(y0: Any, **options: Any) -> Any:
    return solve(y0, **options).ys


def dense(y0: Any) -> Any:
    return solve(y0, saveat=diffrax.SaveAt(dense=True)).evaluate(0.3)


def event(y0: Any) -> Any:
    stop = diffrax.Event(lambda t, y, args, **rest: y < 0.6)
    return solve(y0, event=stop).ys


def cube_root(x: Any) -> Any:
    """Returns y with y^3 + y = x, by Newton's iteration."""

    def solve(f: Any, guess: Any) -> Any:
        return lax.fori_loop(0, 20, lambda _, y: y - f(y) / (3 * y**2 + 1), guess)

    return lax.custom_root(lambda y: y**3 + y - x, jnp.ones_like(x), solve, lambda g, y: y / g(1.0))


def matrix_free(x: Any) -> Any:
    matrix = jnp.array([[2.0, 1.0], [0.5, 3.0]]) * x
    return lax.custom_linear_solve(
        lambda v: matrix @ v,
        jnp.array([1.0, 2.0]),
        lambda _, b: jnp.linalg.inv(matrix) @ b,
        lambda _, b: jnp.linalg.inv(matrix.T) @ b,
    )


def scaled(x: Any) -> Any:
    return jax.custom_derivatives.linear_call(lambda r, v: r * v, lambda r, v: r * v, x, x * 2)


@jax.custom_batching.custom_vmap
def mapped(x: Any) -> Any:
    return jnp.sin(x) * 2


mapped.def_vmap(lambda size, batched, x: (jnp.sin(x) * 2, batched[0]))


PID = diffrax.PIDController(rtol=1e-6, atol=1e-6)

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "jit": jax.jit(lambda x: jnp.sin(x) + 1),
    "custom_jvp": cubed,
    "custom_vjp": squared,
    "checkpoint": jax.checkpoint(lambda x: jnp.sin(jnp.cos(x))),
    "a gradient through checkpoint": jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)))),
    "checkpoint with a policy": jax.grad(
        jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)), policy=jax.checkpoint_policies.nothing_saveable)
    ),
    "custom_root": cube_root,
    "a gradient through custom_root": jax.grad(cube_root),
    "custom_linear_solve": matrix_free,
    "custom_linear_solve under vmap": lambda x: jax.vmap(matrix_free)(jnp.stack([x, x + 1])),
    "a gradient through custom_linear_solve": jax.grad(lambda x: matrix_free(x).sum()),
    "linear_call": scaled,
    "custom_vmap": mapped,
    "custom_vmap under vmap": lambda x: jax.vmap(mapped)(jnp.stack([x, x + 1])),
    "named_call": jax.named_call(jnp.sin, name="sine"),
    "platform_dependent": lambda x: lax.platform_dependent(x, cpu=lambda x: x * 2, default=lambda x: x * 3),
    "stop_gradient": lambda x: lax.stop_gradient(x) * x,
    "optimization_barrier": lambda x: lax.optimization_barrier(x) * x,
    "device_put": lambda x: jax.device_put(x) * x,
    "wrappers inside loops": lambda x: lax.fori_loop(0, 3, lambda _, c: cubed(jax.jit(jnp.sin)(c)), x),
    "wrappers inside branches": lambda x: lax.cond(x > 0, cubed, squared, x),
    "an accumulated cotangent": jax.grad(
        lambda x: lax.scan(lambda c, s: (c * x + s, c), x, jnp.ones(3))[1].sum()
    ),
    "associative_scan": lambda x: lax.associative_scan(jnp.multiply, jnp.full(5, x)),
    "fft": lambda x: jnp.abs(jnp.fft.fft(jnp.full(4, x))),
    "solve": lambda x: jnp.linalg.solve(jnp.diag(jnp.full(2, x)) + 0.1, jnp.ones(2)),
    "eqx.error_if": checked,
    "eqx.error_if under vmap": lambda x: jax.vmap(checked)(jnp.stack([x, x + 1])),
    "eqx while": lambda x: eqx.internal.while_loop(lambda c: c < 9, lambda c: c * 2, x, kind="lax"),
    "lineax": linear,
    "lineax under vmap": lambda x: jax.vmap(linear)(jnp.stack([x, x + 1])),
    "optimistix": root,
    "optimistix under grad": jax.grad(root),
    "optimistix under vmap": lambda x: jax.vmap(root)(jnp.stack([x, x + 1])),
    "diffrax Euler": partial(last, solver=diffrax.Euler()),
    "diffrax Tsit5": last,
    "diffrax Kvaerno3": partial(last, solver=diffrax.Kvaerno3(), controller=PID),
    "diffrax PID": partial(last, controller=PID),
    "diffrax SaveAt ts": partial(last, saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 1.0, 4))),
    "diffrax SaveAt steps": partial(last, saveat=diffrax.SaveAt(steps=True), max_steps=16),
    "diffrax dense": dense,
    "diffrax event": event,
    "diffrax under vmap": lambda x: jax.vmap(partial(last, controller=PID))(jnp.stack([x, 2 * x])),
    "diffrax under grad": jax.grad(lambda x: last(x, max_steps=16)[0]),
    "a known key": lambda x: jax.random.normal(jax.random.key(0)) + x,
    "a key from the input": lambda x: jax.random.normal(jax.random.fold_in(jax.random.key(0), x.astype(int))),
    "keys in a loop": lambda x: lax.fori_loop(0, 3, lambda k, c: c + jax.random.normal(jax.random.key(k)), x),
}


@pytest.mark.long_table(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_staged_program_holds_operations_alone_and_gives_the_same(name: str) -> None:
    fn, x = PROGRAMS[name], jnp.asarray(1.25)
    finalised = finalise(jax.make_jaxpr(fn)(x))
    assert primitives(finalised) <= OPERATIONS
    assert not primitives(finalised) & WRAPPERS
    jec.check_jaxpr(finalised.jaxpr)
    staged = cpx.stage(fn, x)
    # The same operations run, but XLA fuses the two programs differently: a few roundings each.
    jax.tree.map(
        partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-13), jax.jit(staged)(x), jax.jit(fn)(x)
    )


def test_finalising_twice_changes_nothing() -> None:
    once = finalise(jax.make_jaxpr(root)(1.25))
    assert primitives(finalise(once)) == primitives(once)
    assert len(list(equations(finalise(once).jaxpr))) == len(list(equations(once.jaxpr)))


def test_a_check_that_fires_makes_what_passes_through_it_nan() -> None:
    staged = cpx.stage(checked, 1.0, failures="nan")
    assert float(staged(3.0)) == 6
    assert np.isnan(staged(-3.0))


def test_a_check_that_fires_makes_integers_zero() -> None:
    staged = cpx.stage(lambda n: eqx.error_if(n, n < 0, "n is negative"), 1)
    assert [int(staged(n)) for n in (5, -5)] == [5, 0]


def test_an_ignored_check_is_gone() -> None:
    staged = cpx.stage(checked, 1.0, failures="ignore")
    assert primitives(staged.jaxpr) == {"mul"}
    assert float(staged(-3.0)) == -6


def test_callbacks_and_prints_stay_and_are_not_run() -> None:
    calls: list[Any] = []

    def host(x: Any) -> Any:
        calls.append(x)
        return np.asarray(x) * 2

    def fn(x: Any) -> Any:
        jax.debug.callback(calls.append, x)
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), float), jnp.asarray(3.0)) + x

    staged = cpx.stage(fn, 1.0)
    assert calls == []
    assert float(staged(1.0)) == 7
    jax.effects_barrier()
    assert len(calls) == 2


def test_a_foreign_code_is_never_run_while_staging() -> None:
    box = cpx.foreign(lambda x: np.sin(x), jnp.float64, name="sine")

    def fn(x: Any) -> Any:
        return box(2.0) + lax.fori_loop(0, 3, lambda k, c: c + box(c) + box(jnp.asarray(k, float)), x)

    staged = cpx.stage(fn, 1.0)
    assert box.tally.calls == 0
    np.testing.assert_allclose(staged(1.0), fn(1.0), rtol=1e-15)


def wrapping(name: str, impl: Callable[..., Any]) -> jec.Primitive:
    """Returns a primitive of a user's own, implemented by `impl`."""
    primitive = jec.Primitive(name)
    primitive.def_impl(impl)
    primitive.def_abstract_eval(lambda aval, **params: aval)
    return primitive


def test_a_users_primitive_becomes_its_implementation() -> None:
    doubled_p = wrapping("doubled", lambda x, *, by: jnp.sin(x) * by)
    staged = cpx.stage(lambda x: doubled_p.bind(x, by=2.0), 1.0)
    assert primitives(staged.jaxpr) == {"sin", "mul"}
    assert float(staged(1.0)) == 2 * float(jnp.sin(1.0))


def test_an_implementation_that_cannot_be_traced_is_named_with_its_place() -> None:
    stubborn_p = wrapping("stubborn", lambda x: np.sin(np.asarray(x)))

    def calls_stubborn(x: Any) -> Any:
        return stubborn_p.bind(x)

    with pytest.raises(StageError) as caught:
        cpx.stage(calls_stubborn, 1.0)
    assert "`stubborn`" in str(caught.value)
    assert "test_finalise.py" in str(caught.value)
    assert "(calls_stubborn)" in str(caught.value)
    assert "finalise_rule" in str(caught.value)


def test_a_function_spread_over_devices_is_named_with_its_place() -> None:
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("i")

    def spread(x: Any) -> Any:
        return jax.shard_map(jnp.sin, mesh=mesh, in_specs=spec, out_specs=spec)(x)

    with pytest.raises(StageError, match=r"`shard_map`, reached at test_finalise.py:\d+ \(spread\)"):
        cpx.stage(spread, np.zeros(2))


@pytest.mark.parametrize("error", [ValueError, KeyError, NotImplementedError])
def test_an_implementation_that_fails_for_a_tracer_is_named(error: type[Exception]) -> None:
    def impl(x: Any) -> Any:
        raise error("not for tracers\nwhich are more than can be said in a line")

    choosy_p = wrapping(f"choosy_{error.__name__}", impl)
    with pytest.raises(StageError, match=f"`choosy_{error.__name__}`, reached at test_finalise.py") as caught:
        cpx.stage(lambda x: choosy_p.bind(x), 1.0)
    assert len(str(caught.value).splitlines()) == 2


def test_a_users_rule_is_used_and_gets_params_by_name() -> None:
    stubborn_p = wrapping("stubborn_with_a_rule", lambda x, *, by: np.sin(np.asarray(x)) * by)

    @finalise_rule(stubborn_p)
    def rule(context: FinaliseContext, x: Any, *, by: float) -> list[Any]:
        return [jnp.sin(x) * by]

    try:
        assert float(cpx.stage(lambda x: stubborn_p.bind(x, by=3.0), 1.0)(0.5)) == 3 * float(jnp.sin(0.5))
        with pytest.raises(ValueError, match="`stubborn_with_a_rule` has a rule already"):
            finalise_rule("stubborn_with_a_rule")(rule)
    finally:
        del FINALISE_RULES["stubborn_with_a_rule"]


def test_a_table_of_two_rules_can_be_brought() -> None:
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
    rules: dict[str, Callable[..., Any]] = {
        "sin": lambda context, x, **params: [lax.cos(x)],
        "mul": lambda context, x, y, **params: [lax.add(x, y)],
    }
    (came,) = jec.jaxpr_as_fun(finalise(closed, rules=rules))(1.0)
    assert float(came) == float(jnp.cos(1.0)) + 2


def test_a_mapped_while_with_a_condition_per_lane_goes_on_until_all_lanes_end() -> None:
    def halved(x: Any, step: Any) -> Any:
        return jax.lax.while_loop(lambda c: c[0].sum() > 1, lambda c: (c[0] / 2, c[1] + step), (x, 0.0))

    mapped = jax.vmap(halved, (0, None))
    x = jnp.array([[5.0, 1.0], [0.5, 0.1], [100.0, 3.0]])
    staged = cpx.stage(mapped, x, 1.5)
    for came, want in zip(staged(x, 1.5), mapped(x, 1.5), strict=True):
        np.testing.assert_array_equal(came, want)
