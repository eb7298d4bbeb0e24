"""What an optimum shows, and the record of its way."""

import io
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import couplax as cpx
from optimised_models import SELLAR, bowl, sellar


@pytest.fixture(scope="module")
def optimum() -> cpx.Optimum:
    return cpx.minimise(sellar, "f", **SELLAR)


def test_an_optimum_is_a_mapping_of_the_models_values(optimum: cpx.Optimum) -> None:
    assert list(optimum) == [*sellar.inputs, *sellar.outputs]
    assert len(optimum) == 9
    assert optimum["least"] == 3.16
    assert dict(optimum.items())["f"] == optimum["f"]


def test_its_values_are_those_of_a_run_at_the_same_design(optimum: cpx.Optimum) -> None:
    closed = sellar.close(cpx.Newton(rtol=1e-10, atol=1e-10), cut="y_2")
    result = closed.run(**{name: optimum[name] for name in ("z_1", "z_2", "x_1")}, guess={"y_2": 3.0})
    for name in sellar.outputs:
        np.testing.assert_allclose(optimum[name], result[name], atol=1e-9, err_msg=name)


def test_active_limits_are_listed_with_their_side(optimum: cpx.Optimum) -> None:
    assert optimum.active == {"g_1": 1, "z_2": -1, "x_1": -1}


def test_it_prints_as_a_table_with_its_status_limits_and_counts(optimum: cpx.Optimum) -> None:
    lines = str(optimum).splitlines()
    assert lines[0].startswith("Optimum of `f` by SLSQP and MDF: converged (")
    assert lines[1].split() == ["name", "what", "value", "at", "its", "limit", "multiplier"]
    assert lines[2].split()[:2] == ["f", "objective"]
    (row,) = [line.split() for line in lines if line.startswith("g_1")]
    assert row[1] == "constraint"
    assert row[3] == "upper"
    assert float(row[4]) == pytest.approx(optimum.multipliers["g_1"])
    counts = optimum.evaluations
    assert f"{counts.analyses} analyses, {counts.gradients} gradients" in lines[-1]
    assert repr(optimum) == str(optimum)


def test_a_notebook_shows_the_same_rows(optimum: cpx.Optimum) -> None:
    root = ET.fromstring(optimum._repr_html_())
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    assert rows[0] == ["name", "what", "value", "at its limit", "multiplier"]
    assert [row[0] for row in rows[1:]] == ["f", "z_1", "z_2", "x_1", "g_1", "g_2", "least", "y_1", "y_2"]
    (row,) = [row for row in rows if row[0] == "g_1"]
    assert row[1] == "constraint"
    assert row[3] == "upper"


def test_long_values_are_shortened_in_the_table() -> None:
    cost = cpx.component(lambda x: (x**2).sum(), "f", name="cost")
    found = cpx.minimise(cpx.Model(cost), "f", design={"x": (1, 9)}, start={"x": np.full(200, 2.0)})
    row = next(line for line in str(found).splitlines() if line.startswith("x"))
    assert "float64[200]" in row
    assert "200 of 200" in row
    assert len(row) < 130


def test_units_have_a_column_where_the_model_declares_some() -> None:
    cost = cpx.component(lambda x: x**2, cpx.output("f", units="EUR"), cpx.input("x", units="m"), name="cost")
    found = cpx.minimise(cpx.Model(cost), "f", design={"x": (1, 9)}, start={"x": 2.0})
    _, heads, first, second, *_ = str(found).splitlines()
    assert heads.split()[:4] == ["name", "what", "value", "units"]
    assert first.split() == ["f", "objective", "1", "EUR"]
    assert second.split()[:5] == ["x", "design", "1", "m", "lower"]


def test_calls_of_foreign_codes_are_counted_and_shown() -> None:
    code = cpx.foreign(lambda x: (x - 1) ** 2, np.dtype("float64"), name="counted_code")
    code.tally.reset()
    found = cpx.minimise(cpx.Model(cpx.component(code, "f")), "f", design={"x": (-9, 9)}, start={"x": 2.0})
    assert found.calls == {"counted_code": code.tally.calls}
    assert str(found).splitlines()[-1] == f"counted_code: {code.tally.calls} calls"


def test_values_that_nothing_gives_are_left_out() -> None:
    other = cpx.component(lambda total, q: total * q, "unknown", name="other")
    model = cpx.Model(*bowl.components, other)
    found = cpx.minimise(model, "f", design=["x", "y"], start={"x": 0.0, "y": 0.0})
    assert list(found) == ["x", "y", "a", "f", "total"]


def test_the_history_starts_at_the_start_and_ends_at_the_optimum(optimum: cpx.Optimum) -> None:
    history = optimum.history
    assert len(history) == optimum.iterations + 1
    np.testing.assert_allclose(history.objective[[0, -1]], [28.58830816503374, optimum["f"]], rtol=1e-9)
    np.testing.assert_allclose(history.design["z_1"][[0, -1]], [5, optimum["z_1"]])
    assert history.infeasibility[-1] < 1e-8
    assert list(history.analyses) == sorted(history.analyses)
    assert history.analyses[-1] <= optimum.evaluations.analyses


def test_the_history_of_vectors_has_the_iterations_first() -> None:
    cost = cpx.component(lambda x: (x**4).sum(), "f", name="cost")
    found = cpx.minimise(cpx.Model(cost), "f", design=["x"], start={"x": np.full((2, 3), 2.0)})
    assert found.history.design["x"].shape == (len(found.history), 2, 3)


def test_each_point_is_analysed_once_and_differentiated_once_at_most() -> None:
    seen: list[tuple[float, float]] = []

    def recorded(x: Any, y: Any) -> Any:
        seen.append((float(x), float(y)))
        return (x - 3) ** 2 + x * y + (y + 4) ** 2 - 3

    code = cpx.foreign(recorded, np.dtype("float64"), memo=0, name="recorded")
    model = cpx.Model(cpx.component(code, "f"))
    for method in (cpx.SLSQP(), cpx.LBFGS(), cpx.BFGS(), cpx.TrustConstr()):
        seen.clear()
        code.tally.reset()
        found = cpx.minimise(model, "f", design=["x", "y"], start={"x": 0.5, "y": 0.5}, method=method)
        assert len(found.history) > 2
        counts = found.evaluations
        # A gradient needs the value once more, where nothing is remembered, and a probe for each variable.
        assert code.tally.values <= counts.analyses + counts.gradients + 1
        assert code.tally.probes == 2 * counts.gradients
        assert counts.gradients <= counts.analyses


def test_a_live_table_shows_the_iterations_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr("rich.get_console", lambda: console)
    monkeypatch.setattr("rich.live.get_console", lambda: console)
    found = cpx.minimise(bowl, "f", design=["x", "y"], start={"x": 0.0, "y": 0.0}, progress=True)
    shown = screen.getvalue()
    assert "f by SLSQP" in shown
    assert f"{found['f']:.10g}" in shown


def test_no_table_is_shown_where_the_output_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    cpx.minimise(bowl, "f", design=["x", "y"], start={"x": 0.0, "y": 0.0})
    assert capsys.readouterr().out == ""


def test_a_wanted_table_without_rich_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couplax.optimise._progress.find_spec", lambda name: None)
    with pytest.raises(cpx.MissingExtraError, match="pip install rich"):
        cpx.minimise(bowl, "f", design=["x", "y"], start={"x": 0.0, "y": 0.0}, progress=True)


def test_it_draws_its_problem_with_the_optimiser_and_the_solver(optimum: cpx.Optimum) -> None:
    svg = optimum.xdsm().svg
    assert "SLSQP minimises f by changing z_1, z_2, x_1" in svg
    assert "within limits of g_1, g_2" in svg
    assert "Newton solves the cycle d1 + d2 for y_2" in svg


def test_without_solvers_the_optimiser_has_targets_for_the_couplings() -> None:
    found = cpx.minimise(sellar, "f", **SELLAR, architecture=cpx.IDF())
    svg = found.xdsm().svg
    assert "Newton" not in svg
    assert "y_1, y_2" in svg
