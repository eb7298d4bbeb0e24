"""`verify`: a file that gives other numbers is refused, with a table that says where."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest

from couplax._errors import VerificationError
from couplax.export import to_onnx, verify


def fn(x: Any) -> Any:
    return jnp.sin(x) * 2.0 + 1.0, x > 0


def doctored(proto: onnx.ModelProto, old: str, new: str) -> onnx.ModelProto:
    """Returns `proto` with an operator changed for another."""
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    for node in changed.graph.node:
        if node.op_type == old:
            node.op_type = new
    return changed


def test_a_file_that_is_right_is_reported_as_right() -> None:
    report = verify(to_onnx(fn, np.ones(3)), fn, np.linspace(-1, 1, 3))
    assert report.ok
    report.assert_ok()
    assert [row.output for row in report.comparisons] == ["out_0", "out_1"] * 2
    assert "DIFFERS" not in str(report)


def test_a_doctored_file_is_refused_with_the_output_and_the_size_of_the_error() -> None:
    report = verify(doctored(to_onnx(fn, np.ones(3)), "Sin", "Cos"), fn, np.zeros(3))
    assert not report.ok
    assert [row.ok for row in report.comparisons[:2]] == [False, True]
    assert report.comparisons[0].error == 2.0
    with pytest.raises(VerificationError, match=r"in output `out_0`:\n(.|\n)*DIFFERS"):
        report.assert_ok()


def test_a_flag_that_differs_is_an_error() -> None:
    report = verify(doctored(to_onnx(fn, np.ones(3)), "Greater", "GreaterOrEqual"), fn, np.zeros(3))
    assert [row.ok for row in report.comparisons[:2]] == [True, False]


def test_nan_where_jax_has_a_number_is_an_error() -> None:
    def root(x: Any) -> Any:
        return jnp.abs(x)

    assert not verify(doctored(to_onnx(root, 1.0), "Abs", "Sqrt"), root, -4.0).ok


def test_structs_are_drawn_the_same_every_time() -> None:
    proto = to_onnx(fn, jax.ShapeDtypeStruct((3,), jnp.float64))
    first, second = (verify(proto, fn, jax.ShapeDtypeStruct((3,), jnp.float64)) for _ in range(2))
    assert first == second
    assert first.ok


def test_a_tolerance_may_be_given() -> None:
    proto = to_onnx(lambda x: x * 2.0, 1.0)
    assert not verify(proto, lambda x: x * 2.001, 1.0).ok
    assert verify(proto, lambda x: x * 2.001, 1.0, tolerance=1e-2).ok


def test_a_function_with_other_inputs_or_outputs_is_told_apart() -> None:
    proto = to_onnx(lambda x: x * 2.0, 1.0)
    with pytest.raises(VerificationError, match="The file takes 1 inputs, and the function 2"):
        verify(proto, lambda x, y: x * y, 1.0, 2.0)
    with pytest.raises(VerificationError, match="The file gives 1 outputs, and the function 2"):
        verify(proto, lambda x: (x, x), 1.0)


def test_a_file_that_does_not_load_is_a_failed_verification() -> None:
    with pytest.raises(VerificationError, match="does not load"):
        verify(doctored(to_onnx(jnp.sin, 1.0), "Sin", "NoSuchOperator"), jnp.sin, 1.0)


def test_a_wrong_rule_is_caught_when_the_file_is_made() -> None:
    from couplax.export._table import Entry

    wrong = {"sin": Entry(rule=lambda context, value, accuracy=None: context.op("Cos", value))}
    with pytest.raises(VerificationError, match="does not give the numbers"):
        to_onnx(jnp.sin, 1.0, rules=wrong)
    assert to_onnx(jnp.sin, 1.0, rules=wrong, verify=False).graph.node[0].op_type == "Cos"
