"""What is declared of variables: shapes, dtypes, units, bounds; what follows before anything runs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax import GuessError, ModelError

NEWTON = cpx.Newton(rtol=1e-12, atol=1e-12)


def faults(*parts: Any) -> str:
    with pytest.raises(ModelError) as caught:
        cpx.Model(*parts)
    return str(caught.value)


def test_shapes_follow_from_what_is_declared() -> None:
    first = cpx.component(lambda u: 2 * u, cpx.input("u", shape=(3,)), "v", name="first")
    second = cpx.component(lambda v: jnp.sum(v) > 1, "w", name="second")
    structs = cpx.Model(second, first).structs
    assert {name: (struct.shape, struct.dtype.name) for name, struct in structs.items()} == {
        "u": ((3,), "float64"),
        "v": ((3,), "float64"),
        "w": ((), "bool"),
    }


def test_nothing_is_assumed_of_what_is_not_declared() -> None:
    assert cpx.Model(cpx.component(lambda u, p=1.0: u * p, "v", name="c")).structs == {}


def test_shapes_of_a_closed_cycle_follow_from_its_cut() -> None:
    wing = cpx.component(lambda load: jnp.outer(load, load), "shape", name="wing")
    loads = cpx.component(
        lambda shape: jnp.sum(shape, 0), cpx.output("load", shape=(4,), guess=1.0), name="loads"
    )
    assert cpx.Model(wing, loads).close(NEWTON).structs["shape"].shape == (4, 4)


def test_every_clash_of_shapes_is_told_when_the_model_is_built() -> None:
    loads = cpx.component(lambda u: jnp.ones(12) * u, cpx.input("u", shape=()), "load", name="loads")
    wing = cpx.component(lambda load: load, cpx.input("load", shape=(10,)), "w", name="wing")
    tail = cpx.component(lambda load: jnp.ones((3, 2)) @ load, "t", name="tail")
    message = faults(loads, wing, tail)
    assert "2 faults" in message
    assert "`wing` (test_model_declared.py" in message
    assert "`load` as float64[12], and the input takes the shape (10,)" in message
    assert "component `tail`" in message
    assert "cannot be run on `load` float64[12]: TypeError" in message


def test_declared_shapes_and_dtypes_are_compared_without_running_anything() -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("it was run")

    loads = cpx.component(
        lambda u: never(u), cpx.output("load", shape=(12,), dtype=jnp.float32), name="loads"
    )
    wing = cpx.component(
        lambda load: never(load), cpx.input("load", shape=(10,), dtype=jnp.float64), "w", name="wing"
    )
    with pytest.raises(ModelError) as caught:
        cpx.Model(loads, wing)
    assert "reads `load` with the shape (10,)" in str(caught.value)
    assert "`loads`" in str(caught.value)
    assert "reads `load` with the dtype float64" in str(caught.value)


def test_every_clash_of_given_shapes_is_told_at_once() -> None:
    one = cpx.component(lambda a, b: jnp.dot(a, b), "c", name="one")
    two = cpx.component(lambda a, b: jnp.concatenate([a, b[0]]), "d", name="two")
    model = cpx.Model(one, two)
    for call in (
        lambda: model.run(a=jnp.ones(3), b=jnp.ones(4)),
        lambda: model.function(("a", "b"), ("c", "d"))(jnp.ones(3), jnp.ones(4)),
        lambda: jax.jit(model.function(("a", "b"), ("c", "d")))(jnp.ones(3), jnp.ones(4)),
    ):
        with pytest.raises(ModelError) as caught:
            call()
        assert "2 faults" in str(caught.value)
        assert "component `one`" in str(caught.value)
        assert "component `two`" in str(caught.value)
        assert "`b` float64[4]" in str(caught.value)


def test_a_clash_inside_a_cycle_names_the_component_not_the_guess() -> None:
    matrix = jnp.ones((3, 3))
    truss = cpx.residual(
        lambda u, load: matrix @ u - load, cpx.output("u", guess=0.0, shape=(3,)), name="truss"
    )
    with pytest.raises(ModelError, match=r"component `truss`.*`load` float64\[2\]"):
        cpx.Model(truss).close(NEWTON).run(load=[1.0, 2.0])


def test_the_checks_are_not_repeated_on_every_run() -> None:
    traces: list[int] = []

    def counted(a: Any) -> Any:
        traces.append(1)
        return a + 1

    model = cpx.Model(cpx.component(counted, cpx.input("a", shape=()), "b", name="c"))
    model.run(a=1.0)
    once = len(traces)
    for a in range(5):
        model.run(a=float(a))
    assert len(traces) == once


def test_units_are_converted_where_both_ends_give_them() -> None:
    height = cpx.component(lambda x: 2 * x, cpx.output("h", units="ft"), name="height")
    pressure = cpx.component(
        lambda h: 3 * h, cpx.input("h", units="m"), cpx.output("p", units="Pa"), name="p"
    )
    plain = cpx.component(lambda h: h, "same", name="plain")
    result = cpx.Model(height, pressure, plain).run(x=50.0)
    np.testing.assert_allclose(result["p"], 3 * 100 * 0.3048, rtol=1e-12)
    np.testing.assert_allclose([result["h"], result["same"]], 100.0)


def test_units_with_an_offset_are_converted() -> None:
    room = cpx.component(lambda x: x, cpx.output("T", units="degC"), name="room")
    gas = cpx.component(lambda T: T, cpx.input("T", units="kelvin"), "absolute", name="gas")
    np.testing.assert_allclose(cpx.Model(room, gas).run(x=20.0)["absolute"], 293.15, rtol=1e-14)


def test_units_are_converted_inside_closed_cycles_and_nested_models() -> None:
    half = cpx.component(
        lambda v, a: 0.5 * v + a,
        cpx.input("v", units="cm"),
        cpx.output("u", units="m", guess=0.0),
        name="half",
    )
    copy = cpx.component(lambda u: u, cpx.input("u", units="mm"), cpx.output("v", units="mm"), name="copy")
    # For u in m, v is 100 u in cm.
    solved = cpx.component(lambda w, b: w + b, cpx.input("w", units="km"), "out", name="reader")
    inner = cpx.Model(half, copy).close(NEWTON)
    result = inner.run(a=-49.0)
    np.testing.assert_allclose(result["u"], 1.0, rtol=1e-12)
    np.testing.assert_allclose(result["v"], 1000.0, rtol=1e-12)
    outer = cpx.Model(inner.nested("n", rename={"u": "w"}), solved).run({"n.a": -49.0, "b": 0.0})
    np.testing.assert_allclose(outer["out"], 1e-3, rtol=1e-12)


def test_an_input_comes_in_the_units_of_its_first_reader() -> None:
    first = cpx.component(lambda x: x, cpx.input("x", units="m"), "a", name="first")
    second = cpx.component(lambda x: x, cpx.input("x", units="km", default=2.0), "b", name="second")
    result = cpx.Model(first, second).run(x=500.0)
    np.testing.assert_allclose([result["a"], result["b"]], [500.0, 0.5])
    np.testing.assert_allclose(cpx.Model(first, second).run()["a"], 2000.0)


def test_conversions_are_differentiated() -> None:
    height = cpx.component(lambda x: x**2, cpx.output("h", units="km"), name="height")
    reader = cpx.component(lambda h: h, cpx.input("h", units="m"), "y", name="reader")
    assert float(jax.grad(cpx.Model(height, reader).function("x", "y"))(3.0)) == 6000.0


def test_units_that_do_not_convert_are_a_fault() -> None:
    height = cpx.component(lambda x: x, cpx.output("h", units="m"), name="height")
    pressure = cpx.component(lambda h: h, cpx.input("h", units="kg"), "p", name="pressure")
    message = faults(height, pressure)
    assert "`pressure`" in message
    assert "`h` in `kg`" in message
    assert "`height`" in message
    assert "`m`" in message
    odd = cpx.component(lambda h: h, cpx.input("h", units="smoot"), "q", name="odd")
    assert "'smoot' is not defined" in faults(height, odd)


def test_equal_units_need_no_conversion() -> None:
    height = cpx.component(lambda x: x, cpx.output("h", units="any unit at all"), name="height")
    reader = cpx.component(lambda h: h, cpx.input("h", units="any unit at all"), "p", name="reader")
    assert float(cpx.Model(height, reader).run(x=1.0)["p"]) == 1.0


BOUNDS = {
    "the wrong way round": (cpx.output("u", bounds=(2.0, 1.0)), ["`u` from 2.0 to 1.0", "wrong way round"]),
    "no pair": (cpx.output("u", bounds=3.0), ["`u` by 3.0", "bounds=(lower, upper)"]),  # pyright: ignore[reportArgumentType]  # the fault
    "a guess outside": (
        cpx.output("u", guess=5.0, bounds=(None, 1.0)),
        ["the guess 5.0", "outside its bounds -inf to 1.0"],
    ),
    "a guess outside in one place": (
        cpx.output("u", guess=np.array([0.0, -1.0]), bounds=(0.0, np.ones(2))),
        ["outside its bounds"],
    ),
}


@pytest.mark.parametrize("name", list(BOUNDS))
def test_bounds_are_checked_when_the_model_is_built(name: str) -> None:
    output, parts = BOUNDS[name]
    message = faults(cpx.component(lambda a: a, output, name="c"))
    for part in parts:
        assert part in message
    assert "`c` (test_model_declared.py" in message


def test_a_default_outside_its_bounds_is_a_fault() -> None:
    message = faults(
        cpx.component(lambda a: a, cpx.input("a", default=2.0, bounds=(0.0, 1.0)), "b", name="c")
    )
    assert "the default 2.0, outside its bounds 0.0 to 1.0" in message


def test_a_guess_outside_its_bounds_is_a_fault_of_a_run() -> None:
    fn = cpx.residual(lambda u, a: u - a, cpx.output("u", guess=0.5, bounds=(0.0, 1.0)), name="c")
    model = cpx.Model(fn).close(NEWTON)
    for call in (
        lambda: model.run(a=0.5, guess={"u": 2.0}),
        lambda: model.function("a", "u", guess={"u": -1.0}),
    ):
        with pytest.raises(GuessError, match=r"guess of `u`.*outside its bounds 0.0 to 1.0.*`c`"):
            call()


def test_a_solver_stays_within_the_bounds_of_its_unknowns() -> None:
    # Both 0.1 and 10 are solutions; from 9 a step would leave towards the smaller one.
    fn = cpx.residual(
        lambda u: (u - 0.1) * (u - 10), cpx.output("u", guess=5.2, bounds=(5.1, 20.0)), name="two_roots"
    )
    np.testing.assert_allclose(cpx.Model(fn).close(NEWTON).run()["u"], 10.0, rtol=1e-10)


def test_an_input_says_more_of_a_parameter() -> None:
    made = cpx.component(
        lambda a, b=2.0: a + b, cpx.input("a", default=1.0, units="m", description="an arm"), "c", name="sum"
    )
    assert [read.name for read in made.inputs] == ["a", "b"]
    assert (made.inputs[0].units, made.inputs[0].description) == ("m", "an arm")
    assert float(cpx.Model(made).run()["c"]) == 3.0


def test_an_input_that_is_no_parameter_is_a_fault() -> None:
    with pytest.raises(ModelError, match=r"declares the input `x_2`.*Close: `x_1`"):
        cpx.component(lambda x_1: x_1, cpx.input("x_2", units="m"), "y", name="c")


def test_inputs_say_what_a_function_of_any_arguments_takes() -> None:
    def total(**parts: Any) -> Any:
        return sum(parts.values())

    made = cpx.component(total, *(cpx.input(f"p{k}") for k in range(3)), "sum")
    assert float(cpx.Model(made).run(p0=1.0, p1=2.0, p2=3.0)["sum"]) == 6.0
    with pytest.raises(ModelError, match=r"takes `\*\*parts`, which has no names"):
        cpx.component(total, "sum")


def test_rows_of_numbers_are_arrays() -> None:
    double = cpx.component(lambda x: 2 * x, "y", name="double")
    np.testing.assert_array_equal(cpx.Model(double).run(x=[1.0, 2.0])["y"], [2, 4])
    np.testing.assert_array_equal(
        cpx.Model(double).function("x", "y")(((1.0, 2.0), (3.0, 4.0))), [[2, 4], [6, 8]]
    )


def test_values_may_be_trees() -> None:
    split = cpx.component(lambda x: {"a": x, "b": (x, 2 * x)}, "tree", name="split")
    join = cpx.component(lambda tree: tree["a"] + tree["b"][1], "y", name="join")
    result = cpx.Model(split, join).run(x=np.ones(2))
    np.testing.assert_array_equal(result["y"], [3, 3])


def test_the_unknown_of_a_cycle_may_be_a_tree() -> None:
    def ahead(state: Any, a: Any) -> Any:
        return {"u": 0.5 * jnp.cos(state["v"]) + a, "v": (state["u"] * jnp.ones(2)).sum() / 4}

    loop = cpx.component(ahead, "state", name="loop")
    model = cpx.Model(loop).close(NEWTON)
    state = model.run(a=1.0, guess={"state": {"u": 0.0, "v": 0.0}})["state"]
    np.testing.assert_allclose(state["u"], 0.5 * np.cos(state["v"]) + 1.0, rtol=1e-10)
    np.testing.assert_allclose(state["v"], state["u"] / 2, rtol=1e-10)


def test_values_are_given_by_mapping_or_keyword() -> None:
    # An input may have the name of an argument of `run`.
    fn = cpx.component(lambda guess, throw: guess + throw, "y", name="odd")
    assert float(cpx.Model(fn).run({"guess": 1.0, "throw": 2.0})["y"]) == 3.0
    add = cpx.Model(cpx.component(lambda a, b: a - b, "y", name="add"))
    assert float(add.run({"a": 3.0}, b=1.0)["y"]) == 2.0


def test_a_function_takes_values_by_position_by_name_or_in_a_dict() -> None:
    fn = cpx.Model(cpx.component(lambda a, b: a * b, "y", name="times")).function(("a", "b"), "y")
    assert (
        float(fn(2.0, 3.0))
        == float(fn(2.0, b=3.0))
        == float(fn(a=2.0, b=3.0))
        == float(fn({"a": 2.0, "b": 3.0}))
    )
    slopes = jax.grad(fn)({"a": 2.0, "b": 3.0})
    assert (float(slopes["a"]), float(slopes["b"])) == (3.0, 2.0)
    with pytest.raises(TypeError, match=r"takes 2 arguments, \(a, b\), and was given 2, `c` among them"):
        fn(1.0, c=2.0)


def test_jacobis_sweeps_cut_every_coupling() -> None:
    one = cpx.component(lambda b, c: 0.2 * b + 0.1 * c + 1, cpx.output("a", guess=0.0), name="one")
    two = cpx.component(lambda a, c: 0.3 * a + 0.2 * c, cpx.output("b", guess=0.0), name="two")
    three = cpx.component(lambda a, b: 0.1 * a - 0.2 * b, cpx.output("c", guess=0.0), name="three")
    model = cpx.Model(one, two, three)
    jacobi = model.close(cpx.Jacobi(rtol=1e-12, atol=1e-12))
    seidel = model.close(cpx.GaussSeidel(rtol=1e-12, atol=1e-12))
    assert jacobi.closures[0].cut == ("a", "b", "c")
    assert len(seidel.closures[0].cut) < 3
    system = np.array([[1, -0.2, -0.1], [-0.3, 1, -0.2], [-0.1, 0.2, 1]])
    for closed in (jacobi, seidel):
        result = closed.run()
        np.testing.assert_allclose([result[n] for n in "abc"], np.linalg.solve(system, [1, 0, 0]), rtol=1e-10)


def test_a_cut_of_fewer_numbers_is_preferred() -> None:
    wide = cpx.component(
        lambda s: jnp.ones(50) * s / 100, cpx.output("w", shape=(50,), guess=0.0), name="wide"
    )
    thin = cpx.component(lambda w, a: jnp.sum(w) + a, cpx.output("s", shape=(), guess=0.0), name="thin")
    for parts in ((wide, thin), (thin, wide)):
        assert cpx.Model(*parts).close(NEWTON).closures[0].cut == ("s",)
    np.testing.assert_allclose(cpx.Model(wide, thin).close(NEWTON).run(a=1.0)["s"], 2.0, rtol=1e-12)


def test_a_value_given_twice_is_told() -> None:
    add = cpx.Model(cpx.component(lambda a, b: a - b, "y", name="add"))
    with pytest.raises(ModelError, match=r"input `a` is given twice"):
        add.run({"a": 1.0, "b": 2.0}, a=3.0)


def test_a_name_that_results_do_not_have_is_told_with_its_close_matches() -> None:
    result = cpx.Model(cpx.component(lambda wing_cl: wing_cl, "lift", name="wing")).run(wing_cl=1.0)
    with pytest.raises(KeyError, match=r"`wing_CL` is no variable.*Close: `wing_cl`"):
        result["wing_CL"]


def test_a_coupling_that_is_misspelt_is_told_with_what_is_written() -> None:
    wing = cpx.component(lambda alpha: alpha, "wing_CL", name="wing")
    loads = cpx.component(lambda wing_cl: wing_cl, "load", name="loads")
    with pytest.raises(ModelError, match=r"`wing_cl`, read by `loads`.*Close: `wing_CL`"):
        cpx.Model(wing, loads).run(alpha=1.0)
