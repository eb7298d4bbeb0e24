"""Models made of models: joined, nested, renamed, with parts replaced; closed cycles inside closed cycles."""

import copy
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax import ModelError

NEWTON = cpx.Newton(rtol=1e-12, atol=1e-12)


@cpx.component("y_1")
def d1(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
    return z_1**2 + z_2 + x_1 - 0.2 * y_2


@cpx.component(cpx.output("y_2", guess=1.0))
def d2(y_1: Any, z_1: Any, z_2: Any) -> Any:
    return jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2


@cpx.component("f")
def objective(x_1: Any, z_2: Any, y_1: Any, y_2: Any) -> Any:
    return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)


POINT = {"x_1": 1.0, "z_1": 1.0, "z_2": 2.0}
F = 6.059357293905945


def disciplines() -> cpx.Model:
    return cpx.Model(d1, d2).close(NEWTON)


def test_a_model_is_a_part_of_another() -> None:
    whole = cpx.Model(disciplines(), objective)
    np.testing.assert_allclose(whole.run(POINT)["f"], F, rtol=1e-12)
    assert whole == disciplines() + objective
    assert [component.name for component in whole.components] == ["d1", "d2", "objective"]


def test_the_names_of_a_nested_model_are_prefixed_promoted_or_renamed() -> None:
    inner = disciplines().nested("inner", promote=("z_1", "z_2"), rename={"x_1": "x"})
    assert inner.inputs == ("x", "z_1", "z_2")
    assert inner.outputs == ("inner.y_1", "inner.y_2")
    assert [component.name for component in inner.components] == ["inner.d1", "inner.d2"]
    outer = cpx.component(
        lambda x, a, b: x**2 + a + b, "g", rename={"a": "inner.y_1", "b": "inner.y_2"}, name="g"
    )
    result = cpx.Model(inner, outer).run(x=1.0, z_1=1.0, z_2=2.0)
    np.testing.assert_allclose(result["g"], 1 + result["inner.y_1"] + result["inner.y_2"], rtol=1e-12)
    np.testing.assert_allclose(result["inner.y_1"], 3.0506762937470167, rtol=1e-12)
    assert list(result.solves) == ["inner.d1 + inner.d2"]


def test_one_model_is_nested_twice() -> None:
    pair = [disciplines().nested(name, promote=["z_1", "z_2"]) for name in ("left", "right")]
    result = cpx.Model(*pair).run({"left.x_1": 1.0, "right.x_1": 2.0}, z_1=1.0, z_2=2.0)
    assert result["left.y_1"] < result["right.y_1"]
    assert set(result.solves) == {"left.d1 + left.d2", "right.d1 + right.d2"}


def test_nesting_goes_deeper() -> None:
    twice = disciplines().nested("a").nested("b")
    assert twice.outputs == ("b.a.y_1", "b.a.y_2")
    assert twice.closures[0].cut == ("b.a.y_2",)


@cpx.component(cpx.output("z_2", guess=2.0))
def outer(f: Any, a: Any) -> Any:
    return a + 0.1 * jnp.sin(f)


def inside_and_outside(inner: Any, last: Any) -> cpx.Model:
    return (cpx.Model(d1, d2).close(inner) + objective + outer).close(last)


def together() -> cpx.Model:
    return cpx.Model(d1, d2, objective, outer).close(NEWTON)


def test_a_closed_cycle_is_solved_inside_another_in_either_order() -> None:
    one = together().run(x_1=1.0, z_1=1.0, a=2.0)
    first = inside_and_outside(NEWTON, NEWTON)
    assert [closure.cut for closure in first.closures] == [("z_2",), ("y_2",)]
    other = (cpx.Model(d2, objective, outer).close(NEWTON) + d1).close(NEWTON, cut="y_1")
    assert [closure.cut for closure in other.closures] == [("y_1",), ("z_2",)]
    for model in (first, other.replace("d1", cpx.component(d1, cpx.output("y_1", guess=3.0), name="d1"))):
        result = model.run(x_1=1.0, z_1=1.0, a=2.0)
        for name in ("y_1", "y_2", "z_2", "f"):
            np.testing.assert_allclose(result[name], one[name], rtol=1e-10, err_msg=name)
    names = [solve.cut for solve in first.run(x_1=1.0, z_1=1.0, a=2.0).solves.values()]
    assert sorted(names) == [("y_2",), ("z_2",)]


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_nested_solves_are_differentiated(mode: Any) -> None:
    slopes = [
        mode(model.function(("x_1", "z_1", "a"), ("f", "y_1")), argnums=(0, 1, 2))(1.0, 1.0, 2.0)
        for model in (inside_and_outside(NEWTON, NEWTON), together())
    ]
    np.testing.assert_allclose(np.array(slopes[0]), np.array(slopes[1]), rtol=1e-9)


def test_a_nested_solve_has_a_hessian() -> None:
    at = (1.0, 1.0, 2.0)
    models = (inside_and_outside(NEWTON, NEWTON), together())
    hessians = [
        jax.hessian(model.function(("x_1", "z_1", "a"), "f"), argnums=(0, 1))(*at) for model in models
    ]
    np.testing.assert_allclose(np.array(hessians[0]), np.array(hessians[1]), rtol=1e-7)


def test_nested_solves_map_over_points() -> None:
    fn = inside_and_outside(NEWTON, NEWTON).function(("x_1", "z_1", "a"), "f")
    x_1 = jnp.linspace(0.0, 3.0, 4)
    mapped = jax.vmap(lambda x: fn(x, 1.0, 2.0))(x_1)
    np.testing.assert_array_equal(mapped, [fn(x, 1.0, 2.0) for x in x_1])


def test_a_component_is_replaced_and_its_cycle_stays_closed() -> None:
    other = cpx.component(lambda y_1, z_1, z_2: 0.5 * y_1 + z_1 + z_2, "y_2", name="linear")
    model = (disciplines() + objective).replace("d2", other)
    assert [closure.name for closure in model.closures] == ["d1 + linear"]
    # y_1 = 4 - 0.2 y_2 and y_2 = y_1/2 + 3.
    np.testing.assert_allclose(model.run(POINT, guess={"y_2": 1.0})["y_1"], 3.4 / 1.1, rtol=1e-12)


def test_a_model_replaces_a_component() -> None:
    half = cpx.component(lambda y_1: jnp.sqrt(jnp.abs(y_1)), "root", name="root")
    rest = cpx.component(lambda root, z_1, z_2: root + z_1 + z_2, cpx.output("y_2", guess=1.0), name="rest")
    model = (disciplines() + objective).replace("d2", cpx.Model(half, rest))
    np.testing.assert_allclose(model.run(POINT)["f"], F, rtol=1e-12)


def test_a_cycle_without_one_of_its_components_is_open() -> None:
    model = (disciplines() + objective).without("d1")
    assert model.cycles == ()
    assert model.inputs == ("y_1", "z_1", "z_2", "x_1")


def test_variables_are_renamed_in_every_component() -> None:
    model = (disciplines() + objective).rename({"y_2": "lift", "z_2": "b"})
    assert model.inputs == ("x_1", "z_1", "b")
    assert model.closures[0].cut == ("lift",)
    np.testing.assert_allclose(model.run(x_1=1.0, z_1=1.0, b=2.0)["f"], F, rtol=1e-12)


def test_a_change_leaves_the_model_as_it_was() -> None:
    model = disciplines()
    model.rename({"y_2": "lift"})
    model.nested("wing")
    assert model == disciplines()


def test_a_model_is_copied_with_its_parts() -> None:
    model = disciplines() + objective
    model.run(POINT)
    assert copy.deepcopy(model) == copy.copy(model) == model
    np.testing.assert_allclose(copy.deepcopy(model).run(POINT)["f"], F, rtol=1e-12)


def test_couplings_are_written_by_one_component_and_read_by_one() -> None:
    assert (disciplines() + objective).couplings == ("y_1", "y_2")
    assert cpx.Model(d1, d2, objective).couplings == ("y_1", "y_2")


def test_cycles_are_told_whether_closed_or_not() -> None:
    assert [cycle.name for cycle in cpx.Model(d1, d2).cycles] == ["d1 + d2"]
    assert [cycle.name for cycle in disciplines().cycles] == ["d1 + d2"]
    names = [cycle.name for cycle in inside_and_outside(NEWTON, NEWTON).cycles]
    assert names == ["d1 + d2 + objective + outer", "d1 + d2"]


BAD = {
    "a misspelt component": (lambda: disciplines().replace("d3", d2), ["`d3`", "component", "`d2`"]),
    "nothing left": (lambda: disciplines().without("d1", "d2"), ["no components"]),
    "a misspelt variable": (lambda: disciplines().rename({"y2": "lift"}), ["`y2`", "variable", "`y_2`"]),
    "two names made one": (lambda: disciplines().rename({"y_2": "y_1"}), ["`y_1`", "written by"]),
    "a misspelt promotion": (lambda: disciplines().nested("a", promote=["z1"]), ["`z1`", "`z_1`"]),
    "the same names twice": (lambda: disciplines() + disciplines(), ["`d1`", "Tell them apart"]),
    "an empty model": (lambda: cpx.Model(), ["no components"]),
}


@pytest.mark.parametrize("name", list(BAD))
def test_a_fault_of_parts_is_told(name: str) -> None:
    call, parts = BAD[name]
    with pytest.raises(ModelError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
