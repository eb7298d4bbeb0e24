"""What is said of names that are unknown, and of inputs that are missing."""

from typing import Any

from couplax.graph import Graph, component, missing_inputs, shortened, unknown_names


def d1(x_1: float, z_1: float, k: float = 1.0) -> Any:
    return x_1 + z_1 + k


def test_an_unknown_name_is_said_with_its_close_matches() -> None:
    (sentence,) = unknown_names(["x_l", "z_1"], ["x_1", "z_1"], "input")
    assert sentence == "`x_l` is no input of the model. Close: `x_1`. It has `x_1`, `z_1`."


def test_an_unknown_name_without_close_matches_is_said_with_what_there_is() -> None:
    assert unknown_names(["pressure"], ["x", "z"], "output") == [
        "`pressure` is no output of the model. It has `x`, `z`."
    ]


def test_a_long_list_of_known_names_is_shortened() -> None:
    assert shortened([f"y_{i}" for i in range(40)]).endswith("`y_9` and 30 more")


def test_a_missing_input_is_said_with_its_reader_and_what_may_have_been_meant() -> None:
    graph = Graph((component(d1, "y"),))
    line = d1.__code__.co_firstlineno
    assert missing_inputs(graph, ["x_l", "z_1"]) == [
        f"input `x_1`, read by `d1` (test_names.py:{line}), is given by nothing. Close: `x_l`."
        " Pass x_1=... or give the parameter a default."
    ]


def test_an_input_whose_name_is_no_identifier_is_passed_in_a_dict() -> None:
    graph = Graph((component(lambda a: a, "y", rename={"a": "wing.span"}),))
    (sentence,) = missing_inputs(graph, [])
    assert "Pass **{'wing.span': ...} or give" in sentence


def test_a_default_is_not_missing() -> None:
    assert missing_inputs(Graph((component(d1, "y"),)), ["x_1", "z_1"]) == []


def test_many_readers_are_shortened() -> None:
    graph = Graph([component(lambda a: a, f"y_{i}") for i in range(5)])
    (sentence,) = missing_inputs(graph, [])
    assert "`y_2` (" in sentence
    assert "and 2 more, is given by nothing" in sentence
