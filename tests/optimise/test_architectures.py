"""What MDF, IDF and SAND make of a model: what runs, what the optimiser gives, what must agree."""

from typing import Any

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.optimise._architecture import AbstractArchitecture
from couplax.solve import Closure
from optimised_models import F_SELLAR, SELLAR, d1, d2, objective, sellar

pytestmark = pytest.mark.long_table(2)

ARCHITECTURES = {"MDF": cpx.MDF(), "IDF": cpx.IDF(), "SAND": cpx.SAND()}
over_architectures = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)


def formulated(architecture: AbstractArchitecture, model: cpx.Model = sellar) -> Any:
    return architecture.formulate(model.graph, architecture.states(model.graph), started=())


def test_mdf_closes_the_cycle_and_gives_the_optimiser_nothing() -> None:
    formulation = formulated(cpx.MDF())
    (closure,) = [node for node in formulation.graph.nodes if isinstance(node, Closure)]
    assert closure.name == "d1 + d2"
    assert formulation.states == ()
    assert formulation.graph.inputs == sellar.inputs


def test_mdf_cuts_where_a_start_is_given_and_everywhere_for_a_solver_that_asks_for_it() -> None:
    def cut(solver: Any) -> tuple[str, ...]:
        graph = cpx.MDF(solver=solver).formulate(sellar.graph, (), started=("y_1",)).graph
        (closure,) = [node for node in graph.nodes if isinstance(node, Closure)]
        return closure.cut

    assert cut(cpx.Newton()) == ("y_1",)
    assert cut(cpx.Jacobi()) == ("y_1", "y_2")


@pytest.mark.parametrize(
    "solver", [cpx.Broyden(), cpx.Anderson(), cpx.GaussSeidel()], ids=lambda each: type(each).__name__
)
def test_any_solver_closes_the_cycle_of_mdf(solver: Any) -> None:
    optimum = cpx.minimise(sellar, "f", **SELLAR, architecture=cpx.MDF(solver=solver))
    # These solvers stop within 1e-8 of the couplings.
    np.testing.assert_allclose(optimum["f"], F_SELLAR, atol=1e-6)


def test_what_is_no_solver_is_refused() -> None:
    with pytest.raises(cpx.ModelError, match="which is no solver"):
        cpx.minimise(sellar, "f", **SELLAR, architecture=cpx.MDF(solver="newton"))


def test_idf_runs_each_component_once_without_a_loop() -> None:
    formulation = formulated(cpx.IDF())
    assert formulation.graph.cycles == ()
    assert not any(isinstance(node, Closure) for node in formulation.graph.nodes)
    names = [component.name for component in formulation.graph.components]
    assert sorted(names) == sorted(
        ["d1", "d2", "objective", "constraints", "y_1 - target(y_1)", "y_2 - target(y_2)"]
    )


def test_by_idf_disciplines_read_targets_and_all_else_reads_what_they_return() -> None:
    by_name = {component.name: component for component in formulated(cpx.IDF()).graph.components}
    assert [read.name for read in by_name["d1"].inputs] == ["x_1", "z_1", "z_2", "target(y_2)"]
    assert [read.name for read in by_name["d2"].inputs] == ["target(y_1)", "z_1", "z_2"]
    assert [read.name for read in by_name["objective"].inputs] == ["x_1", "z_2", "y_1", "y_2"]


def test_by_sand_the_states_are_inputs_that_all_read() -> None:
    formulation = formulated(cpx.SAND())
    assert [state.name for state in formulation.states] == ["y_1", "y_2"]
    assert {"y_1", "y_2"} <= set(formulation.graph.inputs)
    assert {"computed(y_1)", "computed(y_1) - y_1"} <= set(formulation.graph.outputs)


def test_sand_takes_over_what_a_cycle_writes_for_others_too_and_idf_does_not() -> None:
    first = cpx.component(lambda a, x: (0.3 * a + x, a - x), "b", "extra", name="first")
    second = cpx.component(lambda b: 0.2 * b, "a", name="second")
    cost = cpx.component(lambda extra, b: extra**2 + b**2, "f", name="cost")
    model = cpx.Model(first, second, cost)
    assert [state.variable for state in cpx.IDF().states(model.graph)] == ["b", "a"]
    assert [state.variable for state in cpx.SAND().states(model.graph)] == ["b", "extra", "a"]


def test_couplings_outside_cycles_are_nobodys_but_the_models() -> None:
    chain = cpx.Model(cpx.component(lambda x: x**2, "y", name="one"), cpx.component(lambda y: y, "f"))
    for architecture in (cpx.IDF(), cpx.SAND()):
        assert architecture.states(chain.graph) == ()


def test_idf_and_sand_open_what_the_model_has_closed() -> None:
    model = sellar.close(cpx.Newton(), cut="y_2")
    for architecture in (cpx.IDF(), cpx.SAND()):
        optimum = cpx.minimise(model, "f", **SELLAR, architecture=architecture)
        np.testing.assert_allclose(optimum["f"], F_SELLAR, atol=1e-9)
        assert not any(isinstance(node, Closure) for node in formulated(architecture, model).graph.nodes)


@cpx.component(cpx.output("b", guess=1.0))
def inner_one(a: Any, y: Any) -> Any:
    return 0.4 * jnp.sin(a) + 0.1 * y


@cpx.component("a")
def inner_two(b: Any, x: Any) -> Any:
    return 0.5 * b + x


@cpx.component(cpx.output("y", guess=1.0))
def outer(a: Any, x: Any) -> Any:
    return 0.3 * a**2 - x


@cpx.component("f")
def cost(a: Any, b: Any, y: Any, x: Any) -> Any:
    return (a - 1) ** 2 + b**2 + y**2 + 0.1 * x**2


inner = cpx.Model(inner_one, inner_two).close(cpx.Newton(rtol=1e-12, atol=1e-12))
nested = cpx.Model(inner, outer, cost)


def least_by_scan() -> float:
    """Returns the least f of the nested model, by fixed-point iteration at each x of a fine parabola fit."""

    def f(x: Any) -> Any:
        a, b, y = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
        for _ in range(200):
            b = 0.4 * np.sin(a) + 0.1 * y
            a = 0.5 * b + x
            y = 0.3 * a**2 - x
        return (a - 1) ** 2 + b**2 + y**2 + 0.1 * x**2

    coarse = np.linspace(-1, 2, 3001)
    best = coarse[np.argmin(f(coarse))]
    fine = best + np.linspace(-1e-3, 1e-3, 2001)
    return float(np.min(f(fine)))


@over_architectures
def test_a_cycle_closed_inside_a_larger_one_is_optimised_alike(architecture: Any) -> None:
    optimum = cpx.minimise(nested, "f", design={"x": (-1, 2)}, start={"x": 0.5}, architecture=architecture)
    # The scan is within 1e-6 of the best x, and the objective is flat there.
    np.testing.assert_allclose(optimum["f"], least_by_scan(), rtol=1e-9)


def test_by_idf_a_cycle_closed_inside_a_larger_one_is_one_discipline() -> None:
    assert [state.variable for state in cpx.IDF().states(nested.graph)] == ["a", "y"]
    assert [state.variable for state in cpx.SAND().states(nested.graph)] == ["b", "a", "y"]
    assert [node.name for node in formulated(cpx.IDF(), nested).graph.nodes if isinstance(node, Closure)] == [
        "inner_one + inner_two"
    ]


def cubic(u: Any, x: Any, w: Any) -> Any:
    return u**3 + u - x - 0.1 * w


@cpx.component(cpx.output("w", guess=0.5))
def reader(u: Any) -> Any:
    return u**2


@cpx.component("f")
def miss(u: Any, w: Any, x: Any) -> Any:
    return (u - 1) ** 2 + w * 0.1 + 0.01 * x**2


implicit = cpx.Model(cpx.residual(cpx.output("u", guess=0.5))(cubic), reader, miss)


@over_architectures
def test_a_residual_in_a_cycle_is_optimised_alike(architecture: Any) -> None:
    optimum = cpx.minimise(implicit, "f", design={"x": (-5, 5)}, start={"x": 1.0}, architecture=architecture)
    # With w = u^2 and x = u^3 + u - w / 10, f is a polynomial of u alone.
    x = np.polynomial.Polynomial([0, 1, -0.1, 1])
    u = np.polynomial.Polynomial([0, 1])
    f = (u - 1) ** 2 + 0.1 * u**2 + 0.01 * x**2
    roots = f.deriv().roots()
    (best,) = roots[np.abs(roots.imag) < 1e-12].real
    np.testing.assert_allclose(optimum["u"], best, atol=1e-5)
    np.testing.assert_allclose(optimum["f"], f(best), rtol=1e-9)


def test_by_idf_a_residual_solves_for_itself_and_by_sand_the_optimiser_does() -> None:
    (closure,) = [node for node in formulated(cpx.IDF(), implicit).graph.nodes if isinstance(node, Closure)]
    assert closure.cut == ("u",)
    by_sand = formulated(cpx.SAND(), implicit)
    assert not any(isinstance(node, Closure) for node in by_sand.graph.nodes)
    assert [state.residual for state in by_sand.states] == ["residual(u)", "computed(w) - w"]


@over_architectures
def test_a_component_that_reads_what_it_writes_is_optimised_alike(architecture: Any) -> None:
    # Kepler's equation, E = M + e sin E: the eccentric anomaly is 2 where M = 2 - e sin 2.
    kepler = cpx.component(lambda E, M: M + 0.6 * jnp.sin(E), cpx.output("E", guess=1.0), name="kepler")
    aim = cpx.component(lambda E: (E - 2) ** 2, "f", name="aim")
    optimum = cpx.minimise(
        cpx.Model(kepler, aim), "f", design={"M": (0, 3)}, start={"M": 1.0}, architecture=architecture
    )
    np.testing.assert_allclose(optimum["M"], 2 - 0.6 * np.sin(2), atol=1e-4)


@over_architectures
def test_a_coupling_is_given_to_each_reader_in_its_own_units(architecture: Any) -> None:
    pytest.importorskip("pint")
    in_cm = cpx.input("span", units="cm")
    long = cpx.component(
        lambda mass, x: 3 + 0.01 * mass - x,
        cpx.output("span", units="m", guess=3.0),
        cpx.input("mass", units="kg"),
        name="long",
    )
    heavy = cpx.component(lambda span: 0.0002 * span, cpx.output("mass", units="Mg", guess=0.1), in_cm)
    aim = cpx.component(lambda span, x: (span - 300) ** 2 + x**2, "f", in_cm)
    optimum = cpx.minimise(
        cpx.Model(long, heavy, aim),
        "f",
        design={"x": (-50, 50)},
        start={"x": 1.0},
        architecture=architecture,
    )
    # In m and kg: mass = 20 span, so span = (3 - x) / 0.8, and f = 100^2 ((3 - x) / 0.8 - 3)^2 + x^2.
    x = 1e4 * 1.25 * 0.75 / (1e4 * 1.25**2 + 1)
    np.testing.assert_allclose(optimum["x"], x, rtol=1e-5)
    np.testing.assert_allclose(optimum["span"], (3 - x) / 0.8, rtol=1e-5)


def test_declared_bounds_of_a_coupling_are_bounds_of_its_target() -> None:
    bounded = cpx.component(d2.fn, cpx.output("y_2", bounds=(3.9, 24)), name="d2")
    model = cpx.Model(d1, bounded, objective, sellar.components[3])
    problem: Any = {**SELLAR, "start": {**SELLAR["start"], "y_2": 4.0}}
    for architecture, target in ((cpx.IDF(), "target(y_2)"), (cpx.SAND(), "y_2")):
        optimum = cpx.minimise(model, "f", **problem, architecture=architecture)
        np.testing.assert_allclose(optimum["y_2"], 3.9)
        assert optimum.active[target] == -1
        assert optimum["f"] > F_SELLAR + 1e-3


def test_a_start_of_a_target_outside_its_declared_bounds_is_told() -> None:
    bounded = cpx.component(d2.fn, cpx.output("y_2", bounds=(3.9, 24)), name="d2")
    model = cpx.Model(d1, bounded, objective, sellar.components[3])
    with pytest.raises(cpx.ModelError, match=r"`target\(y_2\)` starts at 1, outside its bounds, 3.9 to 24"):
        cpx.minimise(model, "f", **SELLAR, architecture=cpx.IDF())


def test_couplings_without_a_start_start_at_what_the_others_make_of_them() -> None:
    optimum = cpx.minimise(sellar, "f", **SELLAR, architecture=cpx.IDF())
    # At z = (5, 2), x_1 = 1 and y_2 = 1.
    np.testing.assert_allclose(optimum.history.design["target(y_1)"][0], 25 + 2 + 1 - 0.2)
    np.testing.assert_allclose(optimum.history.design["target(y_2)"][0], 1)


@cpx.component("p")
def pressed(x: Any, q: Any) -> Any:
    return 0.2 * q + x


@cpx.component(cpx.output("q"))
def bent(p: Any) -> Any:
    return 0.3 * jnp.sin(p) + jnp.array([1.0, 2.0, 3.0])


@cpx.component("f")
def spread_cost(p: Any, q: Any) -> Any:
    return jnp.sum(p**2) + jnp.sum(q**2)


@over_architectures
def test_a_scalar_start_is_spread_over_the_shape_of_its_coupling(architecture: Any) -> None:
    optimum = cpx.minimise(
        cpx.Model(pressed, bent, spread_cost),
        "f",
        design={"x": (-5, 5)},
        start={"x": np.zeros(3), "q": 0.0},
        architecture=architecture,
    )
    assert optimum["q"].shape == (3,)
    # For each number by itself: the least p^2 + q^2 with q = .3 sin p + (1, 2, 3), over all p.
    p = np.linspace(-3, 3, 600001)[:, None]
    least = np.min(p**2 + (0.3 * np.sin(p) + np.array([1.0, 2.0, 3.0])) ** 2, axis=0)
    np.testing.assert_allclose(optimum["f"], np.sum(least), rtol=1e-8)


@pytest.mark.parametrize("architecture", [cpx.IDF(), cpx.SAND()], ids=lambda each: each.name)
def test_a_start_from_which_the_model_cannot_be_run_is_told(architecture: Any) -> None:
    first = cpx.component(lambda q, x: q[0] + x, "p", name="first")
    second = cpx.component(lambda p: jnp.stack([0.1 * p, p]), "q", name="second")
    with pytest.raises(cpx.ModelError, match=r"cannot be run from its starts, .*`q`: float64\[\]"):
        cpx.minimise(
            cpx.Model(first, second, cpx.component(lambda p: p**2, "f", name="aim")),
            "f",
            design={"x": (-5, 5)},
            start={"x": 1.0, "q": 0.0, "p": 0.0},
            architecture=architecture,
        )


@over_architectures
def test_an_integral_in_a_cycle_is_optimised_alike(architecture: Any) -> None:
    decay = cpx.rate("x")(lambda x, k: -k * x)
    integral = cpx.Model(decay).close(
        cpx.Integrate(span=(0.0, 1.0), controller=dfx.PIDController(rtol=1e-10, atol=1e-10))
    )
    rate = cpx.component(lambda x, push: 0.5 * x + push, cpx.output("k", guess=0.5), name="rate")
    aim = cpx.component(lambda x: (x - 0.4) ** 2, "f", name="aim")
    start: Any = {"push": 0.1, "x": 0.5}
    optimum = cpx.minimise(
        cpx.Model(integral, rate, aim),
        "f",
        design={"push": (0, 3)},
        start=start,
        fixed={name: 1.0 for name in integral.inputs if name != "k"},
        architecture=architecture,
    )
    # x(1) = exp(-k) = .4 with k = x / 2 + push.
    np.testing.assert_allclose(optimum["push"], -np.log(0.4) - 0.2, atol=1e-4)


@pytest.mark.parametrize("architecture", [cpx.IDF(), cpx.SAND()], ids=lambda each: each.name)
def test_a_start_of_another_shape_than_its_coupling_is_told(architecture: Any) -> None:
    with pytest.raises(
        cpx.ModelError, match=r"`q` starts at float64\[1\], and the model writes it as float64\[3\]"
    ):
        cpx.minimise(
            cpx.Model(pressed, bent, spread_cost),
            "f",
            design={"x": (-5, 5)},
            start={"x": np.zeros(3), "q": np.zeros(1), "p": np.zeros(3)},
            architecture=architecture,
        )
