"""What follows from the names of a model: who writes, who reads, what runs when."""

from typing import Any

import numpy as np
import pytest

from couplax.graph import Component, Cycle, Graph, Input, Output


def made(name: str, reads: str, *writes: str, **defaults: Any) -> Component:
    """Returns a component that is never run: it reads and writes the names given."""
    inputs = [Input(name=read) for read in reads.split()]
    inputs += [Input(name=read, default=default) for read, default in defaults.items()]
    return Component(
        name=name,
        fn=made,
        inputs=tuple(inputs),
        outputs=tuple(Output(name=write) for write in writes),
        parameters=tuple(read.name for read in inputs),
        returned=writes,
    )


def sellar() -> Graph:
    """Returns the Sellar problem's structure."""
    return Graph(
        (
            made("d1", "x_1 z_1 z_2 y_2", "y_1"),
            made("d2", "y_1 z_1 z_2", "y_2"),
            made("objective", "x_1 z_2 y_1 y_2", "f"),
            made("constraints", "y_1 y_2", "g_1", "g_2"),
        )
    )


def steps(graph: Graph) -> list[str]:
    return [step.name for step in graph.steps]


def test_names_are_sorted_into_inputs_outputs_and_couplings() -> None:
    graph = sellar()
    assert graph.inputs == ("x_1", "z_1", "z_2")
    assert graph.outputs == ("y_1", "y_2", "f", "g_1", "g_2")
    assert graph.couplings == ("y_1", "y_2")


def test_each_name_knows_its_writer_and_its_readers() -> None:
    graph = sellar()
    assert graph.writers["g_2"].name == "constraints"
    assert [reader.name for reader in graph.readers["y_1"]] == ["d2", "objective", "constraints"]


def test_a_component_that_reads_a_name_by_two_parameters_is_one_reader() -> None:
    twice = made("twice", "a a", "y")
    assert Graph((twice,)).readers["a"] == (twice,)


def test_the_cycle_holds_its_components_in_declared_order() -> None:
    (cycle,) = sellar().cycles
    assert cycle.name == "d1 + d2"
    assert cycle.couplings == ("y_1", "y_2")


def test_a_component_that_reads_what_it_writes_is_a_cycle() -> None:
    (cycle,) = Graph((made("a", "x", "y"), made("b", "y z", "z"))).cycles
    assert (cycle.name, cycle.couplings) == ("b", ("z",))


def test_couplings_of_a_cycle_leave_out_what_is_read_outside_only() -> None:
    (cycle,) = Graph((made("a", "v", "u", "w"), made("b", "u", "v"), made("c", "w v", "x"))).cycles
    assert cycle.couplings == ("u", "v")


def test_components_run_after_what_they_read() -> None:
    graph = Graph((made("last", "b", "c"), made("middle", "a", "b"), made("first", "x", "a")))
    assert steps(graph) == ["first", "middle", "last"]


def test_components_run_as_declared_where_free() -> None:
    assert steps(Graph([made(name, "x", name) for name in "cbaed"])) == list("cbaed")


def test_cycles_run_in_order_with_what_lies_between() -> None:
    graph = Graph(
        (
            made("end", "s", "t"),
            made("c", "between d", "c"),
            made("a", "b", "a"),
            made("d", "c", "d", "s"),
            made("b", "a", "b"),
            made("link", "b", "between"),
        )
    )
    assert steps(graph) == ["a + b", "link", "c + d", "end"]
    assert [cycle.name for cycle in graph.cycles] == ["a + b", "c + d"]


def test_defaults_are_those_of_free_inputs() -> None:
    graph = Graph((made("a", "u", "v", p=1.0), made("b", "", "u", v=2.0, q=np.ones(2))))
    assert list(graph.defaults) == ["p", "q"]


def test_a_default_of_one_reader_serves_all() -> None:
    assert Graph((made("a", "p", "u"), made("b", "", "v", p=3.0))).defaults == {"p": 3.0}


def test_equal_defaults_are_no_conflict() -> None:
    graph = Graph((made("a", "", "u", p=np.ones(2)), made("b", "", "v", p=np.ones(2))))
    assert list(graph.defaults) == ["p"]


def test_graphs_of_equal_components_are_equal() -> None:
    assert sellar() == sellar()
    assert hash(sellar()) == hash(sellar())
    assert Cycle(sellar().components) == Cycle(sellar().components)


def test_what_follows_from_the_names_cannot_be_changed() -> None:
    graph = sellar()
    with pytest.raises(TypeError):
        graph.writers["y_1"] = graph.components[1]  # pyright: ignore[reportIndexIssue] -- that is the test


@pytest.mark.parametrize("closed", [False, True])
def test_a_thousand_components_are_ordered(closed: bool) -> None:
    count = 1000
    ring = [made(f"c{i}", f"y{(i - 1) % count}" if i or closed else "x", f"y{i}") for i in range(count)]
    graph = Graph(reversed(ring))
    assert len(graph.steps) == (1 if closed else count)
    assert closed or steps(graph)[:2] == ["c0", "c1"]
