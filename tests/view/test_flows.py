"""What holds of every diagram: nothing read is lost, and every step has its number."""

import re

import numpy as np
import pytest

from couplax import Model
from couplax.view._collapse import collapsed
from couplax.view._diagram import Diagram
from couplax.view._flows import diagram
from couplax.view._outline import outline
from couplax.view._scheme import Block, Control
from view.drawn import NEWTON, chain, circuit, crowd, groups, made, nested_cycles, ring, sellar, two_cycles


def scattered(seed: int) -> Model:
    """Returns components in three groups that read each other at random, closed."""
    random = np.random.default_rng(seed)
    reads = [random.choice(24, size=random.integers(1, 4), replace=False) for _ in range(18)]
    parts = [
        made(f"{'abc'[random.integers(3)]}.{i}", " ".join(f"y_{k}" for k in read), f"y_{i}")
        for i, read in enumerate(reads)
    ]
    model = Model(*parts)
    return model.close(NEWTON) if model.cycles else model


MODELS = {
    "sellar, open": sellar(),
    "sellar": sellar().close(NEWTON),
    "two cycles": two_cycles().close(NEWTON),
    "nested cycles": nested_cycles(),
    "residuals": circuit().close(NEWTON),
    "ring": ring(200).close(NEWTON, cut="y_7"),
    "chain": chain(200),
    "groups": groups(6, 5).close(NEWTON),
    "crowd": crowd(80).close(NEWTON),
    **{f"scattered {seed}": scattered(seed) for seed in range(6)},
}


def drawn(model: Model, most: int) -> Diagram:
    return diagram(collapsed(outline(model.graph), collapse=None, expand=(), most=most))


@pytest.mark.parametrize("most", [6, 100])
@pytest.mark.parametrize("name", MODELS)
def test_all_that_a_station_reads_flows_into_it_once(name: str, most: int) -> None:
    found = drawn(MODELS[name], most)
    for position, station in enumerate(found.stations):
        if isinstance(station.runs, Block):
            into = [name for flow in found.flows if flow.target == position for name in flow.names]
            assert sorted(into) == sorted(station.runs.reads)


@pytest.mark.parametrize("most", [6, 100])
@pytest.mark.parametrize("name", MODELS)
def test_what_flows_out_of_a_station_is_what_it_gives(name: str, most: int) -> None:
    found = drawn(MODELS[name], most)
    for flow in found.flows:
        if flow.source is not None:
            runs = found.stations[flow.source].runs
            assert {*flow.names} <= {*(runs.finds if isinstance(runs, Control) else runs.gives)}


@pytest.mark.parametrize("most", [6, 100])
@pytest.mark.parametrize("name", MODELS)
def test_in_a_closed_model_only_what_a_solver_compares_flows_back(name: str, most: int) -> None:
    found = drawn(MODELS[name], most)
    backwards = {
        flow.kind.value
        for flow in found.flows
        if flow.source is not None and flow.target is not None and flow.source >= flow.target
    }
    assert backwards <= ({"feedback"} if name.endswith("open") else {"value", "residual"})


@pytest.mark.parametrize("most", [6, 100])
@pytest.mark.parametrize("name", MODELS)
def test_every_unknown_is_compared_with_what_its_writer_gives(name: str, most: int) -> None:
    found = drawn(MODELS[name], most)
    for position, station in enumerate(found.stations):
        if isinstance(station.runs, Control):
            back = [flow for flow in found.flows if flow.target == position and flow.source is not None]
            assert sorted(name for flow in back for name in flow.names) == sorted(station.runs.finds)


@pytest.mark.parametrize("most", [6, 100])
@pytest.mark.parametrize("name", MODELS)
def test_every_step_has_a_number_and_no_two_have_the_same(name: str, most: int) -> None:
    stations = drawn(MODELS[name], most).stations
    numbers = [int(n) for station in stations for n in re.findall(r"\d+", station.number.split("→")[0])]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("name", MODELS)
def test_every_component_stands_somewhere_once(name: str) -> None:
    stations = drawn(MODELS[name], 6).stations
    shown = [
        part for station in stations if isinstance(station.runs, Block) for part in station.runs.components
    ]
    assert sorted(shown) == sorted(component.name for component in MODELS[name].components)


@pytest.mark.parametrize("name", MODELS)
def test_each_station_but_the_first_follows_another(name: str) -> None:
    found = drawn(MODELS[name], 6)
    assert {after for _, after in found.process} >= set(range(1, len(found.stations)))
