"""Models: what they give, what that costs, and what they say of a fault."""

from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest
from jax.test_util import check_grads

import couplax as cpx
from couplax import GuessError, ModelError, SolveError

AT_1_2: dict[str, Any] = {
    "point": {"x_1": 1.0, "z_1": 1.0, "z_2": 2.0},
    "values": {"y_1": 3.0506762937470167, "y_2": 4.746618531264915, "f": 6.059357293905945},
    "slopes": {"f": {"z_1": 1.689612612212272, "z_2": 1.746116160894939, "x_1": 2.9434964513173334}},
}
AT_5_2: dict[str, Any] = {
    "point": {"x_1": 1.0, "z_1": 5.0, "z_2": 2.0},
    "values": {
        "y_1": 25.588302369877677,
        "y_2": 12.058488150611572,
        "f": 28.58830816503374,
        "g_1": -22.428302369877677,
        "g_2": -11.941511849388428,
    },
    "slopes": {
        "f": {"z_1": 9.610010556989954, "z_2": 1.784485335631366, "x_1": 2.9806139134842877},
        "g_1": {"z_1": -9.610021856910958, "z_2": -0.7844915801559971, "x_1": -0.9806144751949958},
        "g_2": {"z_1": 1.9498907154451972, "z_2": 1.0775420992200162, "x_1": 0.09692762402502011},
    },
}
NEWTON = cpx.Newton(rtol=1e-10, atol=1e-10)
NAMES = ("x_1", "z_1", "z_2")


@cpx.component("y_1")
def d1(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
    return z_1**2 + z_2 + x_1 - 0.2 * y_2


@cpx.component("y_2")
def d2(y_1: Any, z_1: Any, z_2: Any) -> Any:
    return jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2


@cpx.component("f")
def objective(x_1: Any, z_2: Any, y_1: Any, y_2: Any) -> Any:
    return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)


@cpx.component("g_1", "g_2")
def constraints(y_1: Any, y_2: Any) -> Any:
    return 3.16 - y_1, y_2 - 24


def d2_numpy(y_1: Any, z_1: Any, z_2: Any) -> Any:
    return np.sqrt(np.abs(y_1)) + z_1 + z_2


def sellar(second: cpx.Component = d2, solver: Any = NEWTON) -> cpx.Model:
    return cpx.Model(d1, second, objective, constraints).close(solver, cut="y_2")


def objective_of(model: cpx.Model) -> Any:
    return model.function(NAMES, "f", guess={"y_2": 1.0})


@pytest.mark.parametrize("case", [AT_1_2, AT_5_2], ids=["z=(1,2)", "z=(5,2)"])
def test_sellar_gives_its_reference(case: Any) -> None:
    result = sellar().run(**case["point"], guess={"y_2": 1.0})
    for name, wanted in case["values"].items():
        # The residual is within 1e-10 (1 + |y_2|), and so is what follows from it.
        np.testing.assert_allclose(result[name], wanted, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("case", [AT_1_2, AT_5_2], ids=["z=(1,2)", "z=(5,2)"])
def test_sellars_slopes_are_those_of_the_reference(case: Any, jitted: bool, mode: Any) -> None:
    outputs = tuple(case["slopes"])
    fn = sellar().function(NAMES, outputs, guess={"y_2": 1.0})
    slopes = mode(jax.jit(fn) if jitted else fn, argnums=(0, 1, 2))(*case["point"].values())
    for output, row in zip(outputs, slopes, strict=True):
        for name, slope in zip(NAMES, row, strict=True):
            np.testing.assert_allclose(slope, case["slopes"][output][name], rtol=1e-10)


def test_the_hessian_is_the_difference_of_gradients() -> None:
    fn = objective_of(sellar())
    check_grads(fn, (1.0, 1.0, 2.0), order=2, modes=["fwd", "rev"], rtol=1e-4, atol=1e-4)


def test_a_model_maps_over_points() -> None:
    points = [AT_1_2["point"], AT_5_2["point"]]
    columns = [jnp.array([point[name] for point in points]) for name in NAMES]
    values = jax.vmap(objective_of(sellar()))(*columns)
    np.testing.assert_allclose(values, [AT_1_2["values"]["f"], AT_5_2["values"]["f"]], rtol=1e-10)


def test_the_numpy_discipline_is_called_seven_times_and_nine_with_the_gradient() -> None:
    box = cpx.foreign(d2_numpy, jnp.float64, name="d2_counted")
    model = sellar(cpx.component(box, "y_2", name="d2"))
    box.tally.reset()
    result = model.run(**AT_1_2["point"], guess={"y_2": 1.0})
    assert box.tally.calls == 7
    np.testing.assert_allclose(result["f"], AT_1_2["values"]["f"], atol=1e-9)
    box.tally.reset()
    fn = model.function(("z_1", "x_1"), "f", fixed={"z_2": 2.0}, guess={"y_2": 1.0})
    slopes = jax.grad(fn, argnums=(0, 1))(1.0, 1.0)
    assert box.tally.calls == 9
    # Forward differences with a step of the root of the precision.
    np.testing.assert_allclose(slopes, [1.689612612212272, 2.9434964513173334], atol=1e-7)


def equations(jaxpr: Any) -> list[jec.JaxprEqn]:
    inner = [eqn for one in jaxpr.eqns for sub in jec.jaxprs_in_params(one.params) for eqn in equations(sub)]
    return [*jaxpr.eqns, *inner]


def test_no_iteration_is_unrolled_in_a_derivative() -> None:
    short, long = (objective_of(sellar(solver=cpx.Newton(max_steps=count))) for count in (5, 500))
    sizes = [len(equations(jax.make_jaxpr(jax.grad(fn))(1.0, 1.0, 2.0).jaxpr)) for fn in (short, long)]
    assert sizes[0] == sizes[1]
    names = {eqn.primitive.name for eqn in equations(jax.make_jaxpr(jax.grad(short))(1.0, 1.0, 2.0).jaxpr)}
    assert "while" in names


def test_a_second_run_and_an_equal_model_trace_nothing_anew() -> None:
    traces: list[int] = []

    def counted(a: Any, b: Any) -> Any:
        traces.append(1)
        return jnp.sin(b) / 2 + a

    def model() -> cpx.Model:
        return cpx.Model(cpx.component(counted, cpx.output("b", guess=0.0), name="c")).close(NEWTON)

    first = model().run(a=1.0)
    once = len(traces)
    second = model().run(a=2.0)
    assert once > 0
    assert len(traces) == once
    for a, result in ((1.0, first), (2.0, second)):
        b = float(result["b"])
        np.testing.assert_allclose(b, np.sin(b) / 2 + a, rtol=1e-10)


def test_several_unknowns_of_several_shapes_are_solved_together() -> None:
    matrix = np.array([[0.2, 0.1], [0.0, 0.3]])
    first = cpx.component(lambda u, v: v @ matrix + u, cpx.output("w", shape=(2,)), name="first")
    second = cpx.component(lambda w, b: w * 0.5 + b, cpx.output("v", shape=(2,)), name="second")
    third = cpx.component(lambda w: jnp.sum(w) * 0.1, "u", name="third")
    model = cpx.Model(first, second, third).close(NEWTON, cut=("v", "u"))
    b = np.array([1.0, 2.0])
    result = model.run(b=b, guess={"v": np.zeros(2), "u": 0.0})
    # v = w/2 + b and w = M^T v + u 1 with u = 0.1 sum(w): one linear system in w.
    system = np.eye(2) - matrix.T / 2 - 0.1 * np.ones((2, 2))
    np.testing.assert_allclose(result["w"], np.linalg.solve(system, matrix.T @ b), rtol=1e-9)


def test_two_cycles_are_closed_each_by_its_own_solver() -> None:
    one = cpx.component(lambda a, x: jnp.cos(a) * 0.5 + x, cpx.output("a", guess=0.0), name="one")
    two = cpx.component(lambda a, b: jnp.sin(b) * 0.5 + a, cpx.output("b", guess=0.0), name="two")
    model = cpx.Model(one, two).close(NEWTON, cut="a").close(cpx.Newton(rtol=1e-6, atol=1e-6), cut="b")
    result = model.run(x=0.25)
    a, b = float(result["a"]), float(result["b"])
    np.testing.assert_allclose([a, b], [np.cos(a) / 2 + 0.25, np.sin(b) / 2 + a], rtol=1e-6)
    assert set(result.solves) == {"one", "two"}


def test_a_model_without_cycles_runs_as_it_is() -> None:
    double = cpx.component(lambda a: 2 * a, "b", name="double")
    result = cpx.Model(double).run(a=3.0)
    assert (float(result["b"]), result.solves) == (6.0, {})


def test_a_function_runs_only_what_its_outputs_need() -> None:
    def fails(x_1: Any) -> Any:
        raise AssertionError("not needed")

    model = cpx.Model(d1, d2, cpx.component(fails, "never", name="fails"), constraints)
    # The cycle is needed by g_1, so it is closed; `fails` is not.
    fn = model.close(NEWTON, cut="y_2").function(NAMES, "g_1", guess={"y_2": 1.0})
    np.testing.assert_allclose(fn(1.0, 5.0, 2.0), AT_5_2["values"]["g_1"], rtol=1e-10)


def test_an_open_cycle_that_an_output_does_not_need_is_no_fault() -> None:
    double = cpx.component(lambda a: 2 * a, "b", name="double")
    assert float(cpx.Model(d1, d2, double).function("a", "b")(2.0)) == 4


def test_results_are_a_mapping_and_a_pytree_that_leaves_a_jit() -> None:
    model = sellar()

    @jax.jit
    def doubled(x_1: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf * 2, model.run(x_1=x_1, z_1=1.0, z_2=2.0, guess={"y_2": 1.0}))

    result = model.run(**AT_1_2["point"], guess={"y_2": 1.0})
    assert list(result) == ["x_1", "z_1", "z_2", "y_1", "y_2", "f", "g_1", "g_2"]
    assert (len(result), "f" in result, "h" in result) == (8, True, False)
    np.testing.assert_allclose(doubled(1.0)["f"], 2 * result["f"], rtol=1e-12)


def test_results_print_as_a_table_with_a_line_for_the_solve() -> None:
    lines = repr(sellar().run(**AT_1_2["point"], guess={"y_2": 1.0})).splitlines()
    assert lines[3].split()[0] == "y_1"
    np.testing.assert_allclose(float(lines[3].split()[1]), AT_1_2["values"]["y_1"], rtol=1e-11)
    assert lines[-1].startswith("d1 + d2: cut at y_2, Newton, converged in ")


def test_models_are_values() -> None:
    assert sellar() == sellar()
    assert hash(sellar()) == hash(sellar())
    assert sellar() != sellar(solver=cpx.Newton())
    assert sellar() != cpx.Model(d1, d2, objective, constraints)


def test_closing_a_model_leaves_it_as_it_was() -> None:
    model = cpx.Model(d1, d2)
    model.close(NEWTON, cut="y_2")
    assert model.closures == ()
    with pytest.raises(AttributeError):
        model.inputs = ()  # pyright: ignore[reportAttributeAccessIssue]  # what must not work


def test_a_model_prints_its_names_and_cycles() -> None:
    text = repr(sellar())
    assert "4 components: d1, d2, objective, constraints" in text
    assert "inputs: x_1, z_1, z_2" in text
    assert "cycle d1 + d2: cut at `y_2`, Newton" in text
    assert "cycle d1 + d2: open" in repr(cpx.Model(d1, d2))


def test_a_function_carries_its_names() -> None:
    fn = sellar().function(("z_1", "x_1"), ("f", "g_1"), fixed={"z_2": 2.0}, guess={"y_2": 1.0})
    assert (fn.inputs, fn.outputs) == (("z_1", "x_1"), ("f", "g_1"))
    assert repr(fn) == "<function of a model: (z_1, x_1) -> (f, g_1)>"
    with pytest.raises(TypeError, match=r"takes 2 arguments, \(z_1, x_1\), and was given 1"):
        fn(1.0)


def faults(call: Any) -> str:
    with pytest.raises((ModelError, GuessError)) as caught:
        call()
    return str(caught.value)


POINT: dict[str, Any] = AT_1_2["point"]
GUESS = {"y_2": 1.0}


def bad_inputs() -> dict[str, tuple[Any, list[str]]]:
    """Returns faults by name: a call that has one, and what its message must say."""
    model = sellar()
    again = cpx.component(lambda z_1: z_1, "y_1", name="again")
    return {
        "a misspelt input": (
            lambda: model.run(x_1=1.0, z_1=1.0, Z_2=2.0, guess=GUESS),
            ["`Z_2`", "input", "Close: `z_2`", "`z_2`"],
        ),
        "an input that nothing gives": (
            lambda: model.run(x_1=1.0, z_1=1.0, guess=GUESS),
            ["`z_2`", "`d1`"],
        ),
        "a misspelt output": (lambda: model.function(NAMES, "g1", guess=GUESS), ["`g1`", "output", "`g_1`"]),
        "a misspelt guess": (lambda: model.run(**POINT, guess={"y2": 1.0}), ["`y2`", "unknown", "`y_2`"]),
        "a misspelt cut": (
            lambda: cpx.Model(d1, d2).close(NEWTON, cut="y2"),
            ["`y2`", "coupling variable", "`y_2`"],
        ),
        "two writers of one name": (lambda: cpx.Model(d1, d2, again), ["`y_1`", "`d1`", "`again`", "Rename"]),
        "an open cycle": (
            lambda: cpx.Model(d1, d2).run(**POINT),
            ["cycle `d1 + d2` is not closed", "`y_1`", "model.close(", "cut="],
        ),
        "a missing guess": (
            lambda: model.run(**POINT),
            ["`y_2`", "d1 + d2", "no guess", "guess={'y_2': ...}"],
        ),
        "a guess of another shape": (
            lambda: model.run(**POINT, guess={"y_2": np.ones(3)}),
            ["`y_2`", "(3,)", "()", "test_model.py"],
        ),
        "a cut that leaves a loop": (
            lambda: cpx.Model(
                cpx.component(lambda p, q: p + q, "p", "q2", name="loops"),
                cpx.component(lambda q2, p: q2 + p, "q", name="back"),
            ).close(NEWTON, cut="q"),
            ["p"],
        ),
        "nothing to close": (lambda: model.close(NEWTON), ["no open cycle"]),
        "an input given twice": (
            lambda: model.function(("x_1", "x_1", "z_1", "z_2"), "f", guess=GUESS),
            ["`x_1`", "2 times"],
        ),
    }


@pytest.mark.parametrize("name", list(bad_inputs()))
def test_a_fault_is_told_with_place_and_remedy(name: str) -> None:
    call, parts = bad_inputs()[name]
    message = faults(call)
    for part in parts:
        assert part in message


def test_all_faults_of_a_call_are_told_at_once() -> None:
    message = faults(lambda: sellar().run(X_1=1.0, z_1=1.0, guess=GUESS))
    assert "3 faults" in message


def rootless() -> cpx.Model:
    away = cpx.component(lambda x, a: x**2 + x + 1 + a, cpx.output("x", guess=0.5), name="away")
    return cpx.Model(away).close(cpx.Newton(max_steps=20))


def test_a_solve_that_fails_raises_with_its_state() -> None:
    with pytest.raises(SolveError, match=r"(?s)cycle `away` did not converge: Newton ended after \d+ steps"):
        rootless().run(a=1.0)


def test_a_solve_that_fails_raises_where_a_gradient_is_taken() -> None:
    with pytest.raises((SolveError, RuntimeError), match="cycle `away`"):
        jax.grad(rootless().function("a", "x"))(1.0)


def test_a_solve_that_fails_raises_inside_the_users_own_jit() -> None:
    with pytest.raises(RuntimeError, match="cycle `away`"):
        jax.block_until_ready(jax.jit(rootless().function("a", "x"))(1.0))


def test_an_input_that_is_nan_is_told_apart_from_a_singular_jacobian() -> None:
    with pytest.raises(SolveError, match="infinite or NaN"):
        rootless().run(a=np.nan)


def test_a_staged_solve_that_fails_gives_nan() -> None:
    staged = cpx.stage(rootless().function("a", "x"), 1.0)
    assert np.isnan(staged(1.0))
    np.testing.assert_allclose(staged(-2.0), 1.0, rtol=1e-7)


def test_a_failure_may_be_kept_as_a_status() -> None:
    solve = rootless().run(a=1.0, throw=False).solves["away"]
    assert solve.status != "converged"


def test_a_fixed_point_solver_closes_a_cycle_as_it_is() -> None:
    solver = optx.FixedPointIteration(rtol=1e-10, atol=1e-10)
    model = cpx.Model(d1, d2, objective).close(solver, cut="y_2")
    point = {"x_1": 1.0, "z_1": 1.0, "z_2": 2.0}
    result = model.run(guess={"y_2": 1.0}, throw=True, **point)
    np.testing.assert_allclose(result["f"], 6.059357293905945, rtol=1e-9)
    f = model.function("z_1", "f", fixed={"x_1": 1.0, "z_2": 2.0}, guess={"y_2": 1.0})
    np.testing.assert_allclose(jax.grad(f)(1.0), 1.689612612212272, rtol=1e-8)


def test_results_keep_their_order_and_print_whatever_they_hold() -> None:
    model = cpx.Model(d1, d2, objective).close(cpx.Newton(), cut="y_2")

    def run(x_1: Any) -> cpx.Results:
        return model.run(x_1=x_1, z_1=1.0, z_2=2.0, guess={"y_2": 1.0})

    order = ["x_1", "z_1", "z_2", "y_1", "y_2", "f"]
    assert list(run(1.0)) == list(jax.jit(run)(1.0)) == order
    assert "solved by Newton" in repr(jax.vmap(run)(jnp.arange(3.0)))
    assert "y_1" in repr(jax.tree.map(jnp.shape, run(1.0)))
