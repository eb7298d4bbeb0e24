"""Results: a mapping, a pytree, a table, and what is known of the solves and the codes behind them."""

import sys
import xml.etree.ElementTree as ET
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from couplax import MissingExtraError
from couplax.solve import Results

NEWTON = cpx.Newton(rtol=1e-10, atol=1e-10)


def half(y: Any, a: Any) -> Any:
    return np.cos(y) / 2 + a


def code(name: str = "half") -> cpx.Foreign:
    return cpx.foreign(half, jnp.float64, name=name)


def looped(box: Any, solver: Any = NEWTON) -> cpx.Model:
    """Returns the cycle y = x + 1, x = cos(y)/2 + a, and what is made of it, with labels."""
    up = cpx.component(
        lambda x: x + 1, cpx.output("y", guess=1.0, units="m", description="the height"), name="up"
    )
    down: Any = cpx.component(box, cpx.output("x", units="s"), name="down")
    after = cpx.component(lambda y: (y * jnp.arange(20.0), {"b": y, "c": -y}), "w", "tree", name="after")
    return cpx.Model(up, down, after).close(solver, cut="y")


PLAIN = looped(lambda y, a: jnp.cos(y) / 2 + a)


def height(a: float) -> float:
    """Returns y by plain iteration: the cycle contracts."""
    y = 1.0
    for _ in range(200):
        y = float(np.cos(y)) / 2 + a + 1
    return y


def run(a: Any) -> Results:
    return PLAIN.run(a=a)


@pytest.fixture(scope="module")
def result() -> Results:
    return run(0.25)


def test_results_are_a_mapping_in_the_models_order(result: Results) -> None:
    assert list(result) == ["a", "y", "x", "w", "tree"]
    assert (len(result), "y" in result, "z" in result) == (5, True, False)
    np.testing.assert_allclose(result["y"], height(0.25), rtol=1e-10)


def test_results_pass_through_a_jit_and_a_vmap_with_their_labels() -> None:
    for outside in (jax.jit(run)(0.25), jax.tree.map(lambda leaf: leaf, run(0.25))):
        assert list(outside) == ["a", "y", "x", "w", "tree"]
        assert outside.about.label("y").units == "m"
        assert outside.lanes == ()
    lanes = jax.vmap(run)(jnp.array([0.0, 0.25]))
    np.testing.assert_allclose(lanes["y"], [height(0.0), height(0.25)], rtol=1e-9)
    assert lanes.lanes == (2,)


def test_solves_keep_their_order_through_a_jit() -> None:
    def part(name: str) -> cpx.Component:
        rename = {"x": name, "a": "a"}
        return cpx.component(
            lambda x, a: jnp.cos(x) / 2 + a, cpx.output(name, guess=0.0), name=f"{name}'s", rename=rename
        )

    model = cpx.Model(part("z"), part("b")).close(NEWTON)
    outside = jax.jit(lambda a: model.run(a=a))(0.25)
    assert list(outside.solves) == list(model.run(a=0.25).solves) == ["z's", "b's"]
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(outside)]
    assert paths[:3] == ["['a']", "['z']", "['b']"]
    assert any(path.startswith(""".solves["z's"]""") for path in paths)


def test_labels_are_no_leaves_and_equal_models_give_equal_structures(result: Results) -> None:
    leaves, tree = jax.tree.flatten(result)
    assert all(isinstance(leaf, jax.Array | float) for leaf in leaves)
    again = looped(lambda y, a: jnp.cos(y) / 2 + a).run(a=0.5)
    # The components differ in the identity of their functions, the results do not.
    assert jax.tree.structure(again) == tree
    assert hash(jax.tree.structure(again)) == hash(tree)


def test_a_program_that_takes_results_is_compiled_once_for_runs_alike() -> None:
    traces: list[int] = []

    @jax.jit
    def total(results: Results) -> Any:
        traces.append(1)
        return results["x"] + results["y"]

    boxed = looped(code("traced once"))
    totals = [float(total(boxed.run(a=a))) for a in (0.1, 0.2)]
    np.testing.assert_allclose(totals, [2 * height(a) - 1 for a in (0.1, 0.2)], rtol=1e-9)
    assert len(traces) == 1


# ---- tables


def test_a_table_has_a_row_for_each_value_with_units_and_description(result: Results) -> None:
    rows = repr(result).splitlines()
    name, value, units, *description = rows[1].split()
    assert (name, units, " ".join(description)) == ("y", "m", "the height")
    np.testing.assert_allclose(float(value), height(0.25), rtol=1e-11)
    assert rows[2].split()[0::2] == ["x", "s"]


def test_units_stand_below_each_other(result: Results) -> None:
    rows = repr(result).splitlines()
    assert rows[1].index(" m ") == rows[2].index(" s")


def test_a_long_array_is_told_by_its_shape_and_range_and_a_tree_by_its_leaves(result: Results) -> None:
    rows = {row.split()[0]: row for row in repr(result).splitlines()}
    y = float(result["y"])
    assert f"float64[20] min 0, max {19 * y:.6g}" in rows["w"]
    assert f"['b'] {y:.12g}, ['c'] {-y:.12g}" in rows["tree"]


def test_a_solve_has_a_line_with_its_cut_solver_steps_and_residuals(result: Results) -> None:
    (line,) = [row for row in repr(result).splitlines() if row.startswith("up + down:")]
    solve = result.solves["up + down"]
    assert f"cut at y, Newton, converged in {solve.iterations} steps, residual" in line
    # A character for the start and one for each step, the first the highest.
    plot = line.split()[-1]
    assert (len(plot), plot[0], plot[-1]) == (int(solve.iterations) + 1, "█", "▁")


def test_where_a_terminal_has_no_blocks_nothing_is_plotted(
    result: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("/dev/null", "w", encoding="ascii") as plain:
        monkeypatch.setattr(sys, "stdout", plain)
        text = repr(result)
    assert text.isascii()


def test_of_very_many_values_the_first_and_the_last_are_shown() -> None:
    names = [f"v{k}" for k in range(500)]
    results = Results(dict.fromkeys(names, 1.5), {})
    rows = repr(results).splitlines()
    assert len(rows) == 81
    assert (rows[0], rows[-1]) == ("v0    1.5", "v499  1.5")
    assert "420 more values" in rows[60]
    assert "420 more values" in results._repr_html_()


def test_a_solve_prints_in_a_line(result: Results) -> None:
    assert repr(result.solves) == "{'up + down': <solve by Newton for y: converged>}"


def test_results_print_inside_a_program_and_by_lanes() -> None:
    printed: list[str] = []
    jax.jit(lambda a: printed.append(repr(run(a))))(0.25)
    assert "float64[20]" in printed[0]
    text = repr(jax.vmap(run)(jnp.linspace(0.0, 1.0, 12)))
    assert "float64[12] min 0, max 1" in text
    assert "solved by Newton in 12 lanes: 12 converged in" in text


def test_a_page_is_well_formed_and_says_what_the_table_says(result: Results) -> None:
    page = ET.fromstring(result._repr_html_())
    cells = ["".join(cell.itertext()) for cell in page.iter("td")]
    for text in ("y", "m", "the height", "up + down", "converged", "Newton"):
        assert text in cells
    heads = ["".join(cell.itertext()) for cell in page.iter("th")]
    assert heads[:4] == ["name", "value", "units", "description"]


def test_a_page_draws_a_residual_that_falls_as_a_line_that_falls(result: Results) -> None:
    (line,) = ET.fromstring(result._repr_html_()).iter("polyline")
    heights = [float(point.split(",")[1]) for point in line.attrib["points"].split()]
    assert len(heights) == int(result.solves["up + down"].iterations) + 1
    # In SVG what is lower has the larger ordinate.
    assert heights == sorted(heights)


def test_a_page_keeps_names_and_descriptions_from_being_markup() -> None:
    odd = cpx.component(lambda a: a, cpx.output("b", description="<script> & co"), name="odd")
    results = cpx.Model(odd).run(a=1.0)
    cells = ["".join(cell.itertext()) for cell in ET.fromstring(results._repr_html_()).iter("td")]
    assert "<script> & co" in cells


# ---- other types


def test_a_dictionary_holds_plain_numbers_and_numpy_arrays(result: Results) -> None:
    plain = result.to_dict()
    assert [*plain] == [*result]
    assert type(plain["y"]) is float
    assert type(plain["w"]) is np.ndarray
    assert type(plain["tree"]["b"]) is float


def test_a_data_frame_has_a_row_for_the_run_and_a_column_for_each_number(result: Results) -> None:
    pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert frame.shape == (1, 3 + 20 + 2)
    assert list(frame.columns)[:4] == ["a", "y", "x", "w[0]"]
    np.testing.assert_allclose(frame["w[19]"], [19 * height(0.25)], rtol=1e-9)
    np.testing.assert_allclose(frame["tree['c']"], [-height(0.25)], rtol=1e-9)


def test_a_data_frame_of_lanes_has_a_row_for_each() -> None:
    pytest.importorskip("pandas")
    model = cpx.Model(cpx.component(lambda a, v: a * v, "w", name="scale"))
    points = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    lanes = jax.vmap(jax.vmap(lambda a: model.run(a=a, v=jnp.array([1.0, 10.0]))))(points)
    frame = lanes.to_pandas()
    assert frame.index.names == ["lane_0", "lane_1"]
    # Without a solve, and with an input that no lane changes.
    np.testing.assert_allclose(frame.loc[(1, 2)][["a", "v[1]", "w[1]"]], [6.0, 10.0, 60.0])
    np.testing.assert_allclose(frame["w[0]"], points.ravel())


def test_without_pandas_it_is_said_how_to_get_it(result: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couplax.solve._frame.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        result.to_pandas()


# ---- solves


def test_a_solve_tells_of_its_residuals_from_the_start_to_the_end(result: Results) -> None:
    solve = result.solves["up + down"]
    assert (solve.converged, solve.status, solve.cut, solve.solver) == (True, "converged", ("y",), "Newton")
    assert solve.residuals.shape == (int(solve.iterations) + 1,)
    # At the guess, y = 1: x = cos(1)/2 + a and the pass gives x + 1.
    np.testing.assert_allclose(solve.residuals[0], abs(np.cos(1.0) / 2 + 0.25), rtol=1e-12)
    np.testing.assert_allclose(solve.residuals[-1], abs(solve.residual["y"]), atol=1e-15)


def test_each_lane_has_its_residuals() -> None:
    solve = jax.vmap(run)(jnp.array([0.0, 0.25])).solves["up + down"]
    assert solve.residuals.shape == (2, int(max(solve.iterations)) + 1)
    np.testing.assert_allclose(solve.residuals[:, 0], np.abs(np.cos(1.0) / 2 + np.array([0.0, 0.25])))
    assert solve.converged.tolist() == [True, True]


def test_a_solver_that_keeps_no_residuals_has_none() -> None:
    fixed = looped(lambda y, a: jnp.cos(y) / 2 + a, optx.FixedPointIteration(rtol=1e-9, atol=1e-9))
    results = fixed.run(a=0.25)
    assert results.solves["up + down"].residuals.size == 0
    assert "FixedPointIteration, converged in" in repr(results)


# ---- calls


def test_calls_of_codes_are_those_of_the_run_and_of_the_solve() -> None:
    box, other = code("in the cycle"), cpx.foreign(lambda w: w.sum(), jnp.float64, name="outside")
    model = looped(box) + cpx.component(other, "s", name="sum")
    box.tally.reset()
    results = model.run(a=0.25)
    assert results.calls == {"in the cycle": box.tally.calls, "outside": 1}
    assert results.solves["up + down"].calls == {"in the cycle": box.tally.calls}
    assert results.solves["up + down"].codes == ("in the cycle",)
    text = repr(results)
    assert f", {box.tally.calls} calls of in the cycle" in text
    assert "foreign codes: 1 call of outside" in text


def test_a_run_that_is_remembered_calls_nothing_and_says_so() -> None:
    model = looped(code("remembered"))
    first, second = model.run(a=0.75), model.run(a=0.75)
    assert first.calls["remembered"] > 0
    # The last points are remembered: all that this run asks for were asked for before.
    assert second.solves["up + down"].calls == {"remembered": 0}
    assert second.calls == {}


def test_calls_of_a_code_that_was_compiled_before_belong_to_the_solve_all_the_same() -> None:
    box = code("jitted before")
    jitted = jax.jit(lambda y, a: box(y, a))
    jitted(1.0, 0.5)
    results = looped(jitted).run(a=0.5)
    assert list(results.solves["up + down"].calls) == ["jitted before"]


def test_calls_of_a_code_in_a_vector_field_belong_to_the_integral() -> None:
    box = cpx.foreign(lambda x: -x, jnp.float64, name="decay")
    model = cpx.Model(cpx.rate(lambda x: box(x), "x", name="decaying")).close(cpx.Integrate(span=(0.0, 1.0)))
    box.tally.reset()
    results = model.run(x_0=1.0)
    assert results.solves["decaying"].calls == {"decay": box.tally.calls}
    assert f"decaying: Tsit5, converged in {results.solves['decaying'].iterations} steps" in repr(results)


def test_what_comes_out_of_a_program_has_no_counts() -> None:
    assert jax.jit(lambda a: looped(code("compiled")).run(a=a))(0.25).calls == {}


# ---- what is not finite


def test_nan_is_no_error_and_is_told_with_the_component_that_gave_it() -> None:
    first = cpx.component(lambda a: a - 2, "b", name="first")
    root = cpx.component(lambda b: jnp.sqrt(b), "c", name="root")
    last = cpx.component(lambda c, a: c + a, "d", name="last")
    model = cpx.Model(first, root, last)
    bad = model.run(a=1.0)
    assert bad.nonfinite == ("c", "d")
    assert bad.first_nonfinite == "root"
    assert "NaN or infinite: `c`, `d`; the first to give it is `root`" in repr(bad)
    assert "the first to give it is `root`" in bad._repr_html_()
    good = model.run(a=6.0)
    assert (good.nonfinite, good.first_nonfinite) == ((), None)
    assert "NaN" not in repr(good)


def test_nan_that_was_given_has_no_component() -> None:
    given = cpx.Model(cpx.component(lambda a: 2 * a, "b", name="double")).run(a=np.nan)
    assert (given.nonfinite, given.first_nonfinite) == (("a", "b"), None)


def test_nan_in_a_cycle_is_told_by_the_component_or_by_the_cycle() -> None:
    log = cpx.component(lambda x: jnp.log(-x), "y", name="log")
    back = cpx.component(lambda y: y, cpx.output("x", guess=1.0), name="back")
    inside = cpx.Model(log, back).close(NEWTON, cut="x").run(throw=False)
    assert (inside.nonfinite, inside.first_nonfinite) == (("y",), "log")
    grows = cpx.component(lambda x, a: x**2 + a, cpx.output("x", guess=2.0), name="grows")
    everywhere = (
        cpx.Model(grows).close(optx.FixedPointIteration(rtol=1e-9, atol=1e-9)).run(a=1.0, throw=False)
    )
    assert (everywhere.nonfinite, everywhere.first_nonfinite) == (("x",), "grows")


def test_nan_beside_a_cycle_that_converged_is_told_by_its_component() -> None:
    side = cpx.component(lambda x: (x / 2 + 1, jnp.log(-x)), cpx.output("x", guess=1.0), "y", name="side")
    beside = cpx.Model(side).close(NEWTON, cut="x").run()
    assert (beside.nonfinite, beside.first_nonfinite) == (("y",), "side")


def test_what_a_code_returned_that_is_not_finite_is_told() -> None:
    box = cpx.foreign(lambda a: np.where(a > 0, np.nan, a), jnp.float64, name="table")
    text = repr(cpx.Model(cpx.component(box, "b", name="boxed")).run(a=1.0))
    assert "table: 1 call returned NaN or an infinity" in text
    fails = cpx.foreign(lambda a: [][0], jnp.float64, name="broken", on_failure="nan")
    text = repr(cpx.Model(cpx.component(fails, "b", name="boxed")).run(a=1.0))
    assert "broken: 1 call failed and became NaN" in text
