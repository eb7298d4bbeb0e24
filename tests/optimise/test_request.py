"""What is said of a problem that does not fit its model."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax import ModelError
from optimised_models import SELLAR, bowl, sellar


def faults(model: cpx.Model = sellar, name: str = "f", **changed: Any) -> tuple[str, ...]:
    """Returns the faults of the Sellar problem with what is changed in it."""
    with pytest.raises(ModelError) as caught:
        cpx.minimise(model, name, **{**SELLAR, **changed})
    return caught.value.faults


def test_all_faults_are_told_at_once_each_with_its_reader_and_close_matches() -> None:
    found = faults(
        name="ff",
        design={"z1": (0, 1), "x_1": (0, 10)},
        constraints={"g1": (None, 0), "z_2": (0, 1)},
        start={"x_1": 1.0, "y_3": 1.0, "f": 6.0},
        fixed={"leest": 3.0},
        scale={"z_3": 1.0},
    )
    wanted = (
        "the objective `ff` is no output of the model. Close: `f`.",
        "design variable `z1` is no input of the model. Close: `z_1`",
        "constraint `g1` is no output of the model. Close: `g_1`",
        "constraint `z_2` is an input of the model. Give its limits in `design`.",
        "the start names `y_3`, no design variable and no unknown. Close: `y_2`, `y_1`",
        "the start names `f`, no design variable and no unknown.",
        "the fixed value `leest` is no input of the model. Close: `least`.",
        "the scale names `z_3`, no design variable, objective or constraint. Close: `z_2`",
    )
    assert len(found) == len(wanted)
    for fault, start in zip(found, wanted, strict=True):
        assert fault.startswith(start), fault


def test_a_design_variable_that_the_model_writes_is_refused_with_its_writer() -> None:
    (fault,) = faults(design={**SELLAR["design"], "y_1": (0, 10)})
    assert fault.startswith("design variable `y_1` is written by `d1` (optimised_models.py:")
    assert "only an input can be one" in fault


def test_no_design_variable_is_refused() -> None:
    (fault,) = faults(design={}, start={})
    assert fault.startswith("there is no design variable. Name some of the inputs, `x_1`, `z_1`, `z_2`")


def test_a_start_that_is_missing_is_asked_for() -> None:
    (fault,) = faults(start={"z_1": 5.0, "z_2": 2.0, "y_2": 1.0})
    assert fault == "design variable `x_1` has no start. Pass start={'x_1': ...}."


def test_a_default_of_the_model_is_a_start() -> None:
    @cpx.component("f")
    def well(x: Any = 4.0) -> Any:
        return (x - 1.0) ** 2

    optimum = cpx.minimise(cpx.Model(well), "f", design=["x"])
    assert optimum.history.design["x"][0] == 4.0
    np.testing.assert_allclose(optimum["x"], 1.0)


def test_a_start_for_an_input_that_is_no_design_variable_is_refused() -> None:
    found = faults(design={"z_1": (-10, 10), "z_2": (0, 10)})
    assert found[0].startswith("the start names `x_1`, an input that is no design variable.")


def test_an_input_that_nothing_gives_is_asked_for_with_its_readers() -> None:
    start = {name: value for name, value in SELLAR["start"].items() if name != "x_1"}
    (fault,) = faults(design={"z_1": (-10, 10), "z_2": (0, 10)}, start=start)
    assert fault.startswith("input `x_1`, read by `d1`, `objective`, is given by nothing.")
    assert "fixed={'x_1': ...}" in fault


def test_a_value_that_is_fixed_and_a_design_variable_is_refused() -> None:
    (fault,) = faults(fixed={"x_1": 1.0})
    assert fault.startswith("`x_1` is a design variable and is given in `fixed` too.")


def test_a_bound_the_wrong_way_round_and_a_start_outside_its_bounds_are_told_together() -> None:
    found = faults(design={"z_1": (10, -10), "z_2": (0, 1), "x_1": (0, 10)})
    assert found == (
        "design variable `z_1` has its limits the wrong way round at `z_1`: lower 10, upper -10. Pass "
        "(lower, upper).",
        "`z_2` starts at 2, outside its bounds, 0 to 1. Start it inside.",
    )


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ((1, 0), "has its limits the wrong way round at `g_1`"),
        ((np.nan, 0), "has a limit that is NaN"),
        ((None, [0, 1]), "has a limit of shape (2,), and its own shape is ()"),
        ((0, 1, 2), "has limits (0, 1, 2). Wanted: a pair (lower, upper)"),
        ("<= 0", "has limits '<= 0'. Wanted: a pair (lower, upper)"),
        ((None, None), "has no limit. Give one"),
    ],
    ids=str,
)
def test_limits_of_a_constraint_that_are_not_understood_are_told(limits: Any, said: str) -> None:
    (fault,) = faults(constraints={"g_1": limits})
    assert fault.startswith(f"constraint `g_1` {said}")


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (np.array(3), "is of int64, and minimise() moves along slopes"),
        (jnp.arange(3), "is of int64"),
        (True, "is of bool"),
        ("one", "starts at 'one'. Wanted: a number"),
        (["one", 1], "starts at ['one', 1]. Wanted: a number"),
        (np.inf, "starts at inf, which is infinite or NaN"),
        (1j, "is of complex128"),
    ],
    ids=str,
)
def test_a_start_between_which_there_are_no_slopes_is_refused(start: Any, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        cpx.minimise(bowl, "f", design=["x"], start={"x": start}, fixed={"y": 1.0})
    assert caught.value.faults[0].startswith(f"design variable `x` {said}")


def test_a_python_integer_is_a_number_as_any_other() -> None:
    optimum = cpx.minimise(bowl, "f", design=["x"], start={"x": 2}, fixed={"y": 0})
    np.testing.assert_allclose(optimum["x"], 3.0, atol=1e-4)


def test_an_objective_that_is_no_scalar_is_refused() -> None:
    squares = cpx.component(lambda x: x**2, "f", name="squares")
    with pytest.raises(ModelError) as caught:
        cpx.minimise(cpx.Model(squares), "f", design=["x"], start={"x": np.ones(3)})
    assert caught.value.faults[0].startswith("the objective `f` is float64[3]. Wanted: one number")


def test_what_no_design_variable_moves_is_told() -> None:
    other = cpx.component(lambda p: p - 1.0, "h", name="other")
    found = faults(
        model=cpx.Model(*sellar.components, other),
        constraints={"g_1": (None, 0), "h": (None, 0)},
        fixed={"p": 1.0},
    )
    assert found[0].startswith(
        "constraint `h` depends on no design variable: none of `z_1`, `z_2`, `x_1` is read on the way to it."
    )


def test_a_design_variable_that_moves_nothing_is_told() -> None:
    other = cpx.component(lambda p: p - 1.0, "h", name="other")
    (fault,) = faults(
        model=cpx.Model(*sellar.components, other),
        design={**SELLAR["design"], "p": (0, 1)},
        start={**SELLAR["start"], "p": 0.5},
    )
    assert fault.startswith("design variable `p` moves neither the objective nor a constraint.")


def test_a_method_without_constraints_is_refused_before_anything_runs() -> None:
    (fault,) = faults(method=cpx.LBFGS())
    assert fault.startswith("LBFGS takes no constraints, and came with `g_1`, `g_2`.")


def test_a_method_without_constraints_is_refused_for_those_that_an_architecture_adds() -> None:
    found = faults(method=cpx.LBFGS(), constraints={}, architecture=cpx.IDF())
    assert found[0].startswith("LBFGS takes no constraints, and came with `y_1 - target(y_1)`")


def test_a_method_without_bounds_names_the_variables_that_have_some() -> None:
    with pytest.raises(ModelError, match="BFGS takes no bounds, and `x` has some"):
        cpx.minimise(
            bowl, "f", design={"x": (0, 1), "y": None}, start={"x": 0.5, "y": 0.0}, method=cpx.BFGS()
        )


def test_an_unknown_without_a_start_is_asked_for() -> None:
    start = {name: value for name, value in SELLAR["start"].items() if name != "y_2"}
    for architecture in (cpx.MDF(), cpx.IDF(), cpx.SAND()):
        (fault,) = faults(start=start, architecture=architecture)
        assert "is found by iteration and has no start. Pass start={" in fault


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf], ids=str)
def test_a_scale_that_is_no_magnitude_is_refused(scale: float) -> None:
    (fault,) = faults(scale={"f": scale})
    assert fault.startswith(f"the scale of `f` is {scale}. Wanted: a typical magnitude")


def declared(bounds: Any) -> cpx.Model:
    @cpx.component("f", cpx.input("x", bounds=bounds))
    def well(x: Any) -> Any:
        return jnp.sum((x + 1.0) ** 2)

    return cpx.Model(well)


@pytest.mark.parametrize("design", ["x", ["x"], {"x": None}], ids=str)
def test_bounds_that_the_model_declares_hold_where_none_are_given(design: Any) -> None:
    optimum = cpx.minimise(declared((0.5, None)), "f", design=design, start={"x": 2.0})
    np.testing.assert_allclose(optimum["x"], 0.5)


def test_bounds_that_are_given_go_before_those_that_the_model_declares() -> None:
    optimum = cpx.minimise(declared((0.5, None)), "f", design={"x": (0.7, None)}, start={"x": 2.0})
    np.testing.assert_allclose(optimum["x"], 0.7)


def test_a_declared_bound_the_wrong_way_round_is_told() -> None:
    with pytest.raises(ModelError, match="wrong way round"):
        cpx.minimise(declared((2, 1)), "f", design="x", start={"x": 2.0})


def test_a_start_that_does_not_have_the_shape_of_its_input_is_told() -> None:
    shaped = cpx.component(lambda x: jnp.sum(x**2), cpx.input("x", shape=(3,)), "f", name="shaped")
    with pytest.raises(ModelError, match=r"starts at float64\[2\], and its input takes the shape \(3,\)"):
        cpx.minimise(cpx.Model(shaped), "f", design="x", start={"x": np.ones(2)})


def test_a_scalar_start_is_spread_over_the_shape_of_its_input() -> None:
    shaped = cpx.component(lambda x: jnp.sum((x - 1.0) ** 2), cpx.input("x", shape=(3,)), "f", name="shaped")
    optimum = cpx.minimise(cpx.Model(shaped), "f", design="x", start={"x": 3.0})
    np.testing.assert_allclose(optimum["x"], np.ones(3))


def test_rates_that_nothing_integrates_are_told() -> None:
    decay = cpx.rate("x")(lambda x, k: -k * x)
    cost = cpx.component(lambda x: x**2, "f", name="cost")
    with pytest.raises(ModelError, match="nothing integrates `x`"):
        cpx.minimise(cpx.Model(decay, cost), "f", design={"k": (0, 1)}, start={"k": 0.5})


def test_lists_are_taken_for_arrays() -> None:
    total = cpx.component(lambda x: jnp.sum((x - jnp.array([1.0, 5.0])) ** 2), "f", name="total")
    optimum = cpx.minimise(cpx.Model(total), "f", design={"x": ([0, 0], [4, 4])}, start={"x": [2, 2]})
    np.testing.assert_allclose(optimum["x"], [1, 4], atol=1e-6)


@pytest.mark.parametrize("name", ["x", "f", "total"])
def test_a_scale_of_another_shape_is_told(name: str) -> None:
    with pytest.raises(
        ModelError, match=rf"the scale of `{name}` has shape \(2,\), and its own shape is \(\)"
    ):
        cpx.minimise(
            bowl,
            "f",
            design=["x", "y"],
            constraints={"total": 0},
            start={"x": 0.0, "y": 0.0},
            scale={name: [1.0, 2.0]},
        )


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (3.0, "`design` is 3.0 (float). Wanted: inputs with their bounds"),
        ([("x", 0, 1)], "`design` names ('x', 0, 1) (tuple). Wanted: inputs with their bounds"),
    ],
    ids=str,
)
def test_a_design_that_names_nothing_is_told(design: Any, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        cpx.minimise(bowl, "f", design=design)
    assert caught.value.faults[0].startswith(said)


def test_arguments_of_another_kind_are_told_together() -> None:
    wrong: Any = {
        "design": ["x"],
        "constraints": ["total"],
        "start": 1.0,
        "method": "SLSQP",
        "architecture": cpx.IDF,
    }
    model: Any = bowl.components[0]
    objective: Any = bowl.components[1]
    with pytest.raises(ModelError) as caught:
        cpx.minimise(model, objective, **wrong)
    wanted = (
        "`model` is <component paraboloid",
        "`objective` is <component line",
        "`architecture` is the class IDF. Write couplax.IDF().",
        "`method` is 'SLSQP' (str). Wanted: couplax.SLSQP(), ",
        "`constraints` is ['total'] (list). Wanted: a mapping by name, as {\"g\": (None, 0)}.",
        "`start` is 1.0 (float). Wanted: a mapping by name",
    )
    assert len(caught.value.faults) == len(wanted)
    for fault, start in zip(caught.value.faults, wanted, strict=True):
        assert fault.startswith(start), fault
