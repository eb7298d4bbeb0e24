"""`failures="status"` in what is taken out: one more output, and what it means in the file."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

import couplax as cpx
from couplax._errors import ExportError, VerificationError
from couplax.export import save_tensorflow


def checked(x: Any) -> dict[str, Any]:
    """Returns x, doubled until it is above 50; it must be positive and not fall between 20 and 30."""

    def turn(c: Any) -> Any:
        return 2 * eqx.error_if(c, (c > 20) & (c < 30), "is in the gap")

    y = jax.lax.while_loop(lambda c: (c > 0) & (c < 50), turn, eqx.error_if(x, x <= 0, "is not positive"))
    return {"start": x, "end": y}


def meanings(session: Any) -> list[str]:
    said = json.loads(session.get_modelmeta().custom_metadata_map["couplax.status"])
    return [said[str(number)].split(" (")[0] for number in range(len(said))]


def test_a_file_has_a_status_among_its_outputs_and_its_meanings_among_its_metadata() -> None:
    proto = cpx.to_onnx(checked, 1.0, failures="status")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    assert [entry.name for entry in session.get_outputs()] == ["out.end", "out.start", "status"]
    assert meanings(session) == ["no check fired", "is not positive", "is in the gap"]
    found = {x: session.run(["status", "out.end"], {"x": np.asarray(x)}) for x in (1.0, 3.0, -1.0)}
    assert [status for status, _ in found.values()] == [0, 2, 1]
    assert found[3.0][1] == 96.0


def test_the_names_given_are_those_of_the_result() -> None:
    proto = cpx.to_onnx(checked, 1.0, failures="status", outputs=("b", "a"))
    assert [entry.name for entry in proto.graph.output] == ["b", "a", "status"]
    with pytest.raises(ExportError, match="`status` stand twice"):
        cpx.to_onnx(checked, 1.0, failures="status", outputs=("status", "a"))


def test_verification_wants_a_status_of_0_where_jax_gives_numbers() -> None:
    proto = cpx.to_onnx(checked, 1.0, failures="status", verify=False)
    report = cpx.verify(proto, checked, 1.0)
    report.assert_ok()
    assert {row.output for row in report.comparisons} == {"out.end", "out.start", "status"}
    with pytest.raises(VerificationError, match="in output `status`"):
        cpx.verify(proto, lambda x: {"start": x, "end": 2**4 * x}, 6.0).assert_ok()


def test_a_program_staged_with_a_status_is_verified_with_it() -> None:
    staged = cpx.stage(checked, 1.0, failures="status")
    proto = cpx.to_onnx(staged, 1.0, failures="status")
    assert [entry.name for entry in proto.graph.output] == ["out.end", "out.start", "status"]


def test_stablehlo_gives_a_pair() -> None:
    read = cpx.from_stablehlo(cpx.to_stablehlo(checked, 1.0, failures="status"))
    result, status = read(3.0)
    assert (float(result["end"]), int(status)) == (96.0, 2)


def test_the_status_does_not_stand_in_the_way_of_a_gradient() -> None:
    def square(x: Any) -> Any:
        return eqx.error_if(x, x < 0, "is negative") ** 2

    read = cpx.from_stablehlo(cpx.to_stablehlo(square, 1.0, failures="status", gradients=True))
    assert read(-3.0) == (9.0, 1)
    assert jax.grad(lambda x: read(x)[0])(3.0) == 6.0


def test_a_saved_model_has_a_status_among_its_outputs(tmp_path: Path) -> None:
    tf: Any = pytest.importorskip("tensorflow")
    save_tensorflow(tmp_path, checked, 1.0, failures="status")
    served = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    found = served(x=tf.constant(3.0, tf.float64))
    assert {name: float(value) for name, value in found.items()} == {
        "out.start": 3.0,
        "out.end": 96.0,
        "status": 2.0,
    }
    result, status = cpx.to_tensorflow(checked, 1.0, failures="status")(tf.constant(-1.0, tf.float64))
    assert (int(status), float(result["start"])) == (1, -1.0)


def test_lanes_of_a_model_share_a_status() -> None:
    def left(x: Any, b: Any) -> Any:
        return jnp.where(x > 1, jnp.nan, 0.5 * b + x)

    parts = cpx.component(left, "a"), cpx.component(lambda a: jnp.cos(a), "b", name="right")
    model = cpx.Model(*parts).close(cpx.Newton(), cut="b")
    fn = jax.vmap(model.function("x", "a", guess={"b": 1.0}))
    proto = cpx.to_onnx(fn, np.array([0.1, 0.5]), failures="status")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    assert session.run(["status"], {name: np.array([0.1, 0.5])})[0] == 0
    assert session.run(["status"], {name: np.array([0.1, 2.0])})[0] == 1
    (cycle,) = (cycle.name for cycle in model.cycles)
    assert meanings(session)[1] == f"`{cycle}` did not converge"
