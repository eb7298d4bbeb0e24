"""`to_onnx` as users meet it: names, opsets, bytes, messages, whole programs."""

import subprocess
import sys
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import optimistix
import pytest
from jax import lax

from couplax._errors import ExportError, MissingExtraError, MissingRuleError
from couplax.export import ONNX_RULES, Context, rule_for, to_onnx
from couplax.export import _extra as extra
from couplax.export._table import Entry


def run(proto: onnx.ModelProto, *args: Any) -> list[np.ndarray]:
    """Returns what ONNX Runtime gives for `args`."""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    return [
        np.asarray(out) for out in session.run(None, dict(zip(names, map(np.asarray, args), strict=True)))
    ]


def inputs_of(proto: onnx.ModelProto) -> list[str]:
    return [entry.name for entry in proto.graph.input]


def outputs_of(proto: onnx.ModelProto) -> list[str]:
    return [entry.name for entry in proto.graph.output]


def decay(y0: Any) -> Any:
    """Returns y(1) of dy/dt = -y by Euler's method with steps of 0.1."""
    term = diffrax.ODETerm(lambda t, y, args: -y)
    solution = diffrax.diffeqsolve(term, diffrax.Euler(), t0=0.0, t1=1.0, dt0=0.1, y0=y0)
    return jnp.asarray(solution.ys)[0]


def test_an_euler_solve_gives_the_published_number_in_single_precision() -> None:
    with jax.enable_x64(False):
        proto = to_onnx(decay, 1.0)
    (came,) = run(proto, np.float32(100.0))
    assert came.dtype == np.float32
    np.testing.assert_allclose(came, 34.867847, rtol=1e-6)


def test_an_euler_solve_gives_its_closed_form_in_double_precision() -> None:
    (came,) = run(to_onnx(decay, 1.0), 100.0)
    np.testing.assert_allclose(came, 100 * 0.9**10, rtol=1e-14)


def test_an_optimistix_solve_is_inside_the_file() -> None:
    def root(a: Any) -> Any:
        solver = optimistix.Newton(rtol=1e-12, atol=1e-12)
        return optimistix.root_find(lambda y, a: y**3 - a, solver, 1.0, a, throw=False).value

    proto = to_onnx(root, 2.0)
    np.testing.assert_allclose(run(proto, 8.0)[0], 2.0, rtol=1e-14)
    assert [node.op_type for node in proto.graph.node].count("Loop") == 1


def test_inputs_bear_the_names_of_the_parameters_and_outputs_are_numbered() -> None:
    proto = to_onnx(lambda x, params: (x * params["w"], params["b"][1]), 1.0, {"w": 2.0, "b": (3.0, 4.0)})
    assert inputs_of(proto) == ["x", "params.b_0", "params.b_1", "params.w"]
    assert outputs_of(proto) == ["out_0", "out_1"]


def test_a_named_tuple_gives_its_fields_as_names() -> None:
    class State(NamedTuple):
        position: Any
        speed: Any

    proto = to_onnx(
        lambda s, *more: State(s.speed, s.position + more[0] + more[1]), State(1.0, 2.0), 3.0, 4.0
    )
    assert inputs_of(proto) == ["s.position", "s.speed", "more_0", "more_1"]
    assert outputs_of(proto) == ["out.position", "out.speed"]


class Named:
    """A function that carries its names, as a model's do."""

    inputs = ("z_1", "x_1")
    outputs = "f"

    def __call__(self, *values: Any) -> Any:
        return values[0] * values[1]


def test_a_function_that_carries_its_names_gives_them_to_the_file() -> None:
    proto = to_onnx(Named(), 1.0, 2.0)
    assert (inputs_of(proto), outputs_of(proto)) == (["z_1", "x_1"], ["f"])
    assert run(proto, 3.0, 4.0)[0] == 12.0


def test_a_jitted_function_keeps_its_names() -> None:
    proto = to_onnx(jax.jit(Named()), 1.0, 2.0)
    assert (inputs_of(proto), outputs_of(proto)) == (["z_1", "x_1"], ["f"])


def test_a_gradient_keeps_the_names_of_the_inputs_alone() -> None:
    proto = to_onnx(jax.grad(Named(), argnums=(0, 1)), 1.0, 2.0)
    assert (inputs_of(proto), outputs_of(proto)) == (["z_1", "x_1"], ["out_0", "out_1"])


def test_names_given_are_the_file_s_names() -> None:
    proto = to_onnx(lambda x, y: (x + y, x), 1.0, 2.0, inputs=("add_0", "b"), outputs=("c", "d"))
    assert (inputs_of(proto), outputs_of(proto)) == (["add_0", "b"], ["c", "d"])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"inputs": ("a", "a")}, "`a` stand twice"),
        ({"inputs": ("a", "b"), "outputs": "b"}, "`b` stand twice"),
        ({"inputs": "a"}, "inputs= names 1 (`a`), and the function has 2 inputs"),
        ({"outputs": ("a", "b", "c")}, "outputs= names 3"),
    ],
)
def test_names_that_do_not_fit_are_refused(names: dict[str, Any], words: str) -> None:
    with pytest.raises(ExportError) as raised:
        to_onnx(lambda x, y: x + y, 1.0, 2.0, **names)
    assert words in str(raised.value)


def test_structs_stand_for_arrays_and_the_file_bears_their_types() -> None:
    proto = to_onnx(lambda x: x.sum(0), jax.ShapeDtypeStruct((3, 2), jnp.float32))
    (entry,) = proto.graph.input
    assert entry.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert [axis.dim_value for axis in entry.type.tensor_type.shape.dim] == [3, 2]


def test_the_bytes_are_the_same_every_time() -> None:
    first, second = (to_onnx(lambda x: decay(x) + jnp.sin(x), 1.0).SerializeToString() for _ in range(2))
    assert first == second


def test_the_file_says_what_wrote_it() -> None:
    proto = to_onnx(jnp.sin, 1.0)
    assert proto.producer_name == "couplax"
    assert proto.producer_version
    assert {entry.key: entry.value for entry in proto.metadata_props}["jax"] == jax.__version__


def test_the_opset_is_the_lowest_that_serves_or_the_one_asked_for() -> None:
    assert to_onnx(jnp.sin, 1.0).opset_import[0].version == 18
    assert to_onnx(lax.nextafter, 1.0, 2.0).opset_import[0].version == 26
    assert to_onnx(jnp.sin, 1.0, opset=21).opset_import[0].version == 21


def test_an_opset_that_is_too_old_is_refused_with_the_primitive_that_asks_for_more() -> None:
    with pytest.raises(
        ExportError, match=r"opset=20 is too old: the primitive `bitcast_convert_type` needs opset 26"
    ):
        to_onnx(lambda x: lax.bitcast_convert_type(x, jnp.int64), 1.0, opset=20)
    with pytest.raises(ExportError, match=r"opset=15 is too old: couplax itself needs opset 18"):
        to_onnx(jnp.sin, 1.0, opset=15)


def drag(speed: jax.Array) -> jax.Array:
    return lax.linalg.hessenberg(jnp.outer(speed, speed))[1]


def test_a_primitive_without_a_rule_is_named_with_the_user_s_line() -> None:
    with pytest.raises(MissingRuleError) as raised:
        to_onnx(drag, np.ones(3, np.float32))
    line = drag.__code__.co_firstlineno + 1
    assert str(raised.value) == (
        "No ONNX rule for JAX primitive `hessenberg` on (float32[3,3]), reached at "
        f"test_to_onnx.py:{line} (drag).\nRewrite that call, or register a rule with "
        "`couplax.export.rule_for`."
    )


def test_a_primitive_without_a_rule_inside_a_loop_is_named_too() -> None:
    with pytest.raises(MissingRuleError, match=r"hessenberg"):
        to_onnx(lambda x: lax.fori_loop(0, 999, lambda _, y: y[:2] @ drag(y) + y, x), np.ones(3))


def test_complex_numbers_go_in_and_out_as_pairs_said_in_the_names() -> None:
    proto = to_onnx(lambda z: jnp.exp(z) * 2, np.array([1 + 2j, -3j]))
    assert [entry.name for entry in proto.graph.input] == ["z.real", "z.imag"]
    assert [entry.name for entry in proto.graph.output] == ["out.real", "out.imag"]


def test_what_is_not_written_for_complex_numbers_is_refused_with_the_place() -> None:
    with pytest.raises(ExportError, match=r"schur.*complex128.*test_to_onnx.py"):
        to_onnx(lambda a: jax.scipy.linalg.schur(a)[0], np.eye(2) * 1j)


@pytest.mark.parametrize("dtype", [jnp.float8_e4m3fn, jnp.int4])
def test_an_input_that_onnx_runtime_cannot_compute_with_is_refused_by_name(dtype: Any) -> None:
    with pytest.raises(ExportError, match=rf"Input `x` is {jnp.dtype(dtype).name}\[3\]"):
        to_onnx(lambda x: x.astype(np.float32), jnp.ones(3, dtype))


def test_a_function_that_returns_nothing_is_refused() -> None:
    with pytest.raises(ExportError, match="returns no array"):
        to_onnx(lambda x: (), 1.0)


def test_a_table_of_one_rule_serves_alone() -> None:
    def sine(context: Context, value: Any, accuracy: None = None) -> Any:
        return context.op("Sin", value)

    proto = to_onnx(jnp.sin, 1.0, rules={"sin": Entry(rule=sine)})
    np.testing.assert_allclose(run(proto, 2.0)[0], np.sin(2.0), rtol=1e-15)
    with pytest.raises(MissingRuleError, match="`cos`"):
        to_onnx(jnp.cos, 1.0, rules={"sin": Entry(rule=sine)})


def test_a_second_rule_for_a_primitive_is_refused() -> None:
    with pytest.raises(ValueError, match="`sin` has an ONNX rule already"):
        rule_for(lax.sin_p)(lambda context, value: value)


def test_the_decorator_returns_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(context: Context, value: Any) -> Any:
        return value

    monkeypatch.setattr("couplax.export._table.ONNX_RULES", dict(ONNX_RULES))
    assert rule_for("a primitive of the user's")(rule) is rule


def test_without_onnx_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "onnx" else object())
    with pytest.raises(MissingExtraError, match=r"`onnx`.*pip install 'couplax\[onnx\]'"):
        to_onnx(jnp.sin, 1.0)


def test_importing_the_export_loads_no_onnx() -> None:
    code = "import couplax.export, sys; print([name for name in sys.modules if name.startswith('onnx')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
