"""What a file says of itself: its program, units of inputs and outputs, the user's line of each node."""

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import onnx
import pytest
from jax import lax

import couplax as cpx
from couplax.export import to_onnx


def drag(speed: Any) -> Any:
    """Returns the drag at `speed`."""
    return 0.5 * jnp.sin(speed) * speed


def fall(speed: Any) -> Any:
    return lax.fori_loop(0, 1000, lambda _, v: v - 0.01 * drag(v), speed)


WING = cpx.component(
    lambda speed, area, weight=1.0: 0.6 * speed**2 * area * weight,
    cpx.input("speed", units="m/s", description="speed of flight"),
    cpx.input("area", units="m**2"),
    cpx.output("lift", units="N", description="lift of the wing"),
    name="wing",
)


def nodes_of(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def line_of(fn: Any, offset: int) -> str:
    return f"test_notes.py:{fn.__code__.co_firstlineno + offset} ({fn.__name__})"


def metadata_of(proto: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in proto.metadata_props}


def docs_of(proto: onnx.ModelProto) -> dict[str, str]:
    return {entry.name: entry.doc_string for entry in (*proto.graph.input, *proto.graph.output)}


def test_the_graph_bears_the_name_and_the_docs_of_the_function() -> None:
    graph = to_onnx(drag, 1.0, verify=False).graph
    assert (graph.name, graph.doc_string) == ("drag", "Returns the drag at `speed`.")


def test_a_jitted_function_keeps_its_name_and_docs() -> None:
    graph = to_onnx(jax.jit(drag), 1.0, verify=False).graph
    assert (graph.name, graph.doc_string) == ("drag", "Returns the drag at `speed`.")


def test_a_function_without_a_name_is_called_couplax() -> None:
    graph = to_onnx(lambda x: x + 1, 1.0, verify=False).graph
    assert (graph.name, graph.doc_string) == ("couplax", "")


def test_every_node_leads_back_to_the_user_s_line_inside_a_loop_too() -> None:
    proto = to_onnx(fall, 1.0, verify=False)
    loop = next(node for node in proto.graph.node if node.op_type == "Loop")
    (body,) = (attribute.g for attribute in loop.attribute if attribute.HasField("g"))
    sine = next(node for node in body.node if node.op_type == "Sin")
    assert sine.doc_string == line_of(drag, 2)
    places = {node.doc_string for node in nodes_of(proto.graph)}
    assert line_of(drag, 2) in places
    assert all(place.startswith("test_notes.py:") for place in places - {""})


def test_a_node_that_stands_for_others_bears_the_line_of_what_it_gives() -> None:
    def step(x: Any) -> Any:
        return x + 0.01 * jnp.sin(x)

    proto = to_onnx(lambda x: lax.fori_loop(0, 1000, lambda _, y: step(y), x), jnp.ones(3), verify=False)
    fused = [node for node in nodes_of(proto.graph) if node.op_type == "Gemm"]
    assert [node.doc_string for node in fused] == [line_of(step, 1)]


def test_no_path_of_the_machine_is_in_the_file() -> None:
    assert b"/tests/" not in to_onnx(fall, 1.0, verify=False).SerializeToString()


def test_a_model_s_units_and_descriptions_are_beside_its_names() -> None:
    fn = cpx.Model(WING).function(("speed", "area"), "lift")
    proto = to_onnx(fn, 2.0, 3.0)
    assert docs_of(proto) == {
        "speed": "speed of flight [m/s]",
        "area": "[m**2]",
        "lift": "lift of the wing [N]",
    }
    assert json.loads(metadata_of(proto)["couplax.variables"]) == {
        "speed": {"units": "m/s", "description": "speed of flight"},
        "area": {"units": "m**2"},
        "lift": {"units": "N", "description": "lift of the wing"},
    }


def test_a_variable_of_which_nothing_is_said_has_no_notes() -> None:
    proto = to_onnx(cpx.Model(WING).function("weight", "lift", fixed={"speed": 1.0, "area": 1.0}), 2.0)
    assert docs_of(proto)["weight"] == ""
    assert list(json.loads(metadata_of(proto)["couplax.variables"])) == ["lift"]


def test_a_gradient_of_a_model_keeps_what_is_said_of_the_inputs() -> None:
    fn = cpx.Model(WING).function(("speed", "area"), "lift")
    assert docs_of(to_onnx(jax.grad(fn), 2.0, 3.0))["speed"] == "speed of flight [m/s]"


@pytest.mark.parametrize("package", ["couplax", "jax"])
def test_the_metadata_says_the_versions(package: str) -> None:
    assert metadata_of(to_onnx(drag, 1.0, verify=False))[package] == version(package)
