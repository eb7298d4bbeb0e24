"""`save_onnx`: a file, or two where the constants would not fit into one."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import couplax as cpx
from couplax._errors import ExportError, VerificationError
from couplax.export import _save as saving

WEIGHTS = np.random.default_rng(5).standard_normal((100, 100)).astype(np.float32)


def layer(x: Any) -> Any:
    return x @ WEIGHTS


X = np.linspace(-1.0, 1.0, 100).astype(np.float32)


def outputs_of(path: Path) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": X})[0])


def test_constants_go_into_the_file_where_they_fit(tmp_path: Path) -> None:
    cpx.save_onnx(tmp_path / "layer.onnx", layer, X)
    assert [each.name for each in tmp_path.iterdir()] == ["layer.onnx"]
    np.testing.assert_allclose(outputs_of(tmp_path / "layer.onnx"), X @ WEIGHTS, rtol=1e-4, atol=1e-5)


def test_constants_go_into_a_second_file_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    cpx.save_onnx(path, layer, X, largest=WEIGHTS.nbytes - 1)
    assert path.stat().st_size < 5000
    assert (tmp_path / "layer.onnx.data").read_bytes() == WEIGHTS.tobytes()
    np.testing.assert_allclose(outputs_of(path), X @ WEIGHTS, rtol=1e-4, atol=1e-5)
    (weights,) = (each for each in onnx.load(path).graph.initializer if len(each.dims) == 2)
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(weights), WEIGHTS)


def test_what_was_saved_in_two_files_is_compared_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    cpx.save_onnx(path, layer, X, largest=0, verify=False)
    assert cpx.verify(path, layer, X).ok
    assert not cpx.verify(path, lambda x: layer(x) + 1, X).ok


def test_a_file_that_is_not_there_is_no_file_to_compare(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="does not load the file"):
        cpx.verify(tmp_path / "none.onnx", layer, X)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"There is no folder .*none to write layer.onnx into"):
        cpx.save_onnx(tmp_path / "none" / "layer.onnx", layer, X)


def test_constants_that_one_message_does_not_hold_are_told_where_to_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(saving, "MOST", WEIGHTS.nbytes - 1)
    with pytest.raises(ExportError, match=r"holds 2 GB in all. Write it into files by `couplax.save_onnx"):
        cpx.to_onnx(layer, X)


def test_an_array_that_changes_after_the_export_does_not_change_the_file() -> None:
    weights = WEIGHTS.copy()
    proto = cpx.to_onnx(lambda x: x @ weights, X, verify=False)
    before = proto.SerializeToString()
    weights[:] = 0
    assert proto.SerializeToString() == before
    assert cpx.verify(proto, layer, X).ok
