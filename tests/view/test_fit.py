"""Whether a drawing can be read: nothing overlaps, and text stays in its box."""

import itertools
import xml.etree.ElementTree as ET

import pytest

from couplax import Model
from couplax.view import xdsm
from view.drawn import (
    NEWTON,
    cells,
    chain,
    circuit,
    crowd,
    groups,
    long_names,
    nested_cycles,
    sellar,
    two_cycles,
)

MODELS = {
    "sellar, open": sellar(),
    "sellar": sellar().close(NEWTON),
    "two cycles": two_cycles().close(NEWTON),
    "nested cycles": nested_cycles(),
    "residuals": circuit().close(NEWTON),
    "long names": long_names().close(NEWTON),
    "15 in a chain": chain(15),
    "30 in a chain": chain(30),
    "200 in a chain": chain(200),
    "5 groups of 8": groups(5, 8).close(NEWTON),
    "40 without groups": crowd().close(NEWTON),
}


@pytest.mark.parametrize("name", MODELS)
def test_boxes_do_not_overlap_and_lie_on_the_paper(name: str) -> None:
    drawing = xdsm(MODELS[name].graph)
    root = ET.fromstring(drawing.svg)
    found = cells(drawing)
    for cell in found:
        assert cell.left >= 0
        assert cell.right <= float(root.attrib["width"])
        assert cell.top >= 0
        assert cell.bottom <= float(root.attrib["height"])
    for one, other in itertools.combinations(found, 2):
        beside = one.right < other.left or other.right < one.left
        assert beside or one.bottom < other.top or other.bottom < one.top


@pytest.mark.parametrize("name", MODELS)
def test_text_fits_its_box(name: str) -> None:
    for cell in cells(xdsm(MODELS[name].graph)):
        width, height = cell.text
        assert width <= cell.room, cell.lines
        assert height <= cell.bottom - cell.top, cell.lines


@pytest.mark.parametrize("name", MODELS)
def test_all_names_stand_in_a_tooltip(name: str) -> None:
    graph = MODELS[name].graph
    said = "\n".join(cell.tooltip for cell in cells(xdsm(graph)))
    words = set(said.replace(",", " ").split())
    assert {component.name for component in graph.components} <= words
    assert {*graph.inputs, *graph.outputs} <= words


def test_forty_components_without_groups_are_drawn_one_by_one_with_little_text() -> None:
    drawing = xdsm(MODELS["40 without groups"].graph)
    found = cells(drawing)
    assert sum(cell.kind == "component" for cell in found) == 40
    assert sum(cell.kind == "solver" for cell in found) == 2
    assert max(cell.right - cell.left for cell in found) < 130


def test_where_names_have_no_room_their_number_is_said() -> None:
    lines = {cell.lines for cell in cells(xdsm(MODELS["40 without groups"].graph)) if cell.column == 0}
    assert ("4 variables",) in lines


def test_the_more_stations_there_are_the_smaller_is_each() -> None:
    widths = [_mean_width(chain(count)) for count in (5, 15, 30)]
    assert widths == sorted(widths, reverse=True)


def _mean_width(model: Model) -> float:
    found = [cell for cell in cells(xdsm(model.graph)) if cell.kind == "component"]
    return sum(cell.right - cell.left for cell in found) / len(found)
