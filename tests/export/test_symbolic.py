"""Files of open axes: the same numbers as JAX at every size, and refusals where a rule needs an integer."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest

import couplax as cpx
from couplax.export._plain import parts_of
from symbolic_programs import PLAIN, ROWS, SOLVES, Program

pytestmark = pytest.mark.long_table(2)


def session_of(proto: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # Errors alone: ONNX Runtime warns of constants that no node reads.
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(session: onnxruntime.InferenceSession, args: Any) -> list[np.ndarray]:
    names = [entry.name for entry in session.get_inputs()]
    return [np.asarray(value) for value in session.run(None, dict(zip(names, args, strict=True)))]


def axes(entries: Any) -> list[list[Any]]:
    """Returns the sizes of each input or output, a name where it is open."""
    shapes = [entry.type.tensor_type.shape.dim for entry in entries]
    return [[axis.dim_param or axis.dim_value for axis in shape] for shape in shapes]


def faults(session: onnxruntime.InferenceSession, program: Program, sizes: Mapping[str, int]) -> list[str]:
    """Returns the outputs that differ from JAX at `sizes` by more than the program allows."""
    args = program.drawn(sizes)
    result = jax.jit(program.fn)(*args)
    wanted = [np.asarray(part) for value in jax.tree.leaves(result) for part in parts_of(value)]
    found: list[str] = []
    for number, (ours, theirs) in enumerate(zip(run(session, args), wanted, strict=True)):
        # Relative to the largest number: sums differ by their order.
        allowed = program.rtol * np.abs(theirs).max(initial=0)
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype) or np.any(
            np.abs(ours - theirs) > allowed
        ):
            found.append(f"{number} at {sizes}: {ours}, JAX {theirs}")
    return found


@pytest.mark.parametrize("program", [*PLAIN, *SOLVES], ids=lambda program: program.name)
def test_a_file_of_open_axes_gives_what_jax_gives_at_every_size(program: Program) -> None:
    session = session_of(cpx.to_onnx(program.fn, *program.args, verify=False))
    for size in (3, 1, 4):
        sizes = {"batch": size, "n": size, "m": size + 1, "k": size + 2, "seq": size + 3}
        assert not faults(session, program, sizes)


def test_inputs_and_outputs_bear_the_names_of_open_axes() -> None:
    proto = cpx.to_onnx(lambda x, y: jnp.concatenate([x, x]) @ y, ROWS, cpx.struct(3, "width"), verify=False)
    assert axes(proto.graph.input) == [["batch", 3], [3, "width"]]
    assert axes(proto.graph.output) == [["2*batch", "width"]]


def test_sizes_of_jax_s_own_spelling_are_taken_too() -> None:
    (n,) = jax.export.symbolic_shape("n")
    proto = cpx.to_onnx(lambda x: x * 2.0, jax.ShapeDtypeStruct((n, 2), jnp.float32))
    assert axes(proto.graph.output) == [["n", 2]]


def test_a_program_that_needs_no_size_reads_none() -> None:
    proto = cpx.to_onnx(lambda x: jnp.tanh(x @ jnp.ones((3, 4))).reshape(-1, 2, 2), ROWS, verify=False)
    assert [node.op_type for node in proto.graph.node] == ["MatMul", "Tanh", "Reshape"]


def test_a_size_is_read_once_and_outside_loops() -> None:
    def fn(x: Any) -> Any:
        return jax.lax.fori_loop(0, 999, lambda k, y: y + jnp.arange(x.shape[0])[:, None] * x.shape[0], x)

    proto = cpx.to_onnx(fn, ROWS, verify=False)
    outside = [node.op_type for node in proto.graph.node]
    assert (outside.count("Shape"), outside.count("Range")) == (1, 1)


def test_a_size_that_is_a_product_is_read_as_a_whole() -> None:
    proto = cpx.to_onnx(lambda x: x + jnp.arange(x.shape[0]), cpx.struct("n*m"))
    (came,) = run(session_of(proto), [np.zeros(6)])
    np.testing.assert_array_equal(came, np.arange(6.0))


def halved(x: Any) -> Any:
    return jnp.arange(x.shape[0] // 2)


def test_a_size_that_no_input_gives_is_refused_with_its_name_and_the_line() -> None:
    struct = jax.ShapeDtypeStruct(jax.export.symbolic_shape("mod(n, 7) + 5*floordiv(n, 2)"), jnp.float64)
    with pytest.raises(cpx.ExportError, match=r"open size `n` is in the way.*no input.*`n`") as raised:
        cpx.to_onnx(lambda x: halved(x), struct)
    assert f"test_symbolic.py:{halved.__code__.co_firstlineno + 1} (halved)" in str(raised.value)


def sparse(x: Any) -> Any:
    return jax.numpy.linalg.cholesky(x @ x.T)


def test_a_rule_that_needs_an_integer_says_so_with_the_line() -> None:
    with pytest.raises(cpx.ExportError, match=r"`cholesky` on .*open size `batch` is in the way") as raised:
        cpx.to_onnx(sparse, ROWS)
    assert f"test_symbolic.py:{sparse.__code__.co_firstlineno + 1} (sparse)" in str(raised.value)
    assert "_DimExpr" not in str(raised.value)


def test_verification_draws_two_sizes_for_each_name() -> None:
    report = cpx.verify(cpx.to_onnx(jnp.sin, ROWS), jnp.sin, ROWS)
    assert [row.struct for row in report.comparisons] == ["float64[3,3]"] * 2 + ["float64[5,3]"] * 2
    assert [row.trial for row in report.comparisons[1:3]] == ["0.1 % off at batch=3", "drawn at batch=5"]
    assert report.ok


def test_verification_finds_what_is_wrong_at_one_size_alone() -> None:
    proto = cpx.to_onnx(lambda x: x * 1.0, cpx.struct("n"), verify=False)
    report = cpx.verify(proto, lambda x: x * (1.0 if x.shape[0] == 3 else 2.0), cpx.struct("n"))
    assert [row.ok for row in report.comparisons] == [True, True, False, False]


def test_sizes_at_which_the_function_does_not_run_are_told() -> None:
    def paired(x: Any) -> Any:
        return x.reshape(x.shape[0] // 2, 2)

    with pytest.raises(cpx.VerificationError, match=r"does not run at n=3(.|\n)*'2\*batch'"):
        cpx.to_onnx(paired, cpx.struct("n"))
    assert axes(cpx.to_onnx(paired, cpx.struct("2*n")).graph.output) == [["n", 2]]


def test_sizes_are_drawn_so_that_every_axis_has_an_element() -> None:
    def fn(x: Any, y: Any) -> Any:
        return x.sum() + y

    structs = cpx.struct("n"), cpx.struct("n - 4")
    report = cpx.verify(cpx.to_onnx(fn, *structs, verify=False), fn, *structs)
    assert [row.struct for row in report.comparisons[::2]] == ["float64[1]", "float64[3]"]


def test_an_argument_that_is_no_struct_stands_beside_open_axes() -> None:
    weights = np.linspace(0, 1, 12).reshape(3, 4)
    proto = cpx.to_onnx(lambda x, w: x @ w, ROWS, weights)
    assert axes(proto.graph.input) == [["batch", 3], [3, 4]]
