"""Foreign codes as custom operators: files that call them, and ONNX Runtime with them in Python."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest

import couplax as cpx
from couplax._errors import ExportError, ForeignError, MissingExtraError, MissingRuleError, VerificationError
from couplax.export import _extra
from foreign_codes import OFFERS, OUT, X, Y, wave, wave_jax


def exported(fn: Callable[..., Any], *args: Any, **options: Any) -> onnx.ModelProto:
    return cpx.to_onnx(fn, *args, foreign="custom_op", verify=False, **options)


def run(proto: Any, foreign: Any, *args: Any) -> list[np.ndarray]:
    """Returns what the file gives at the flat `args`."""
    with cpx.onnx_session(proto, foreign) as session:
        return session.run(None, feed(session, *args))


def feed(session: Any, *args: Any) -> dict[str, Any]:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(args)]
    return dict(zip([entry.name for entry in session.get_inputs()], leaves, strict=True))


def operators(proto: onnx.ModelProto) -> dict[str, Any]:
    """Returns what the file says of its operators."""
    said = {entry.key: entry.value for entry in proto.metadata_props}
    return json.loads(said.get("couplax.foreign", "{}"))


def wave_box(**options: Any) -> cpx.Foreign:
    return cpx.foreign(wave, OUT, name="wave", **options)


BOX = wave_box()


def total(x: Any, y: Any) -> Any:
    return jnp.sum(BOX(x, y) ** 2)


def repeated(x: Any, y: Any) -> Any:
    return jax.lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, 0.5 * BOX(x, c[1])), (0, y))[1]


def branched(x: Any, y: Any) -> Any:
    return jax.lax.cond(x > 0, lambda: BOX(x, y), lambda: y)


def scanned(x: Any, y: Any) -> Any:
    return jax.lax.scan(lambda c, k: (jnp.tanh(BOX(0.1 * k * x, c)), c[0]), y, jnp.arange(40.0))


@pytest.fixture(scope="module")
def file() -> onnx.ModelProto:
    """Returns a file that calls a code once."""
    return exported(total, X, Y)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "value": (total, (X, Y)),
    "gradient": (jax.grad(total, argnums=(0, 1)), (X, Y)),
    "jvp": (lambda x, y: jax.jvp(total, (x, y), (1.0, y)), (X, Y)),
    "forward jacobian": (jax.jacfwd(total, argnums=1), (X, Y)),
    "reverse jacobian": (jax.jacrev(BOX, argnums=1), (X, Y)),
    "vmap": (jax.vmap(total, in_axes=(0, None)), (np.arange(3.0), Y)),
    "vmap of the gradient": (jax.vmap(jax.grad(total), in_axes=(0, None)), (np.arange(3.0), Y)),
    "vmap of vmap": (jax.vmap(jax.vmap(total, (0, None)), (None, 0)), (np.arange(2.0), np.stack([Y, Y + 1]))),
    "while loop": (repeated, (X, Y)),
    "scan": (scanned, (X, Y)),
    "gradient of scan": (jax.grad(lambda x, y: jnp.sum(scanned(x, y)[1])), (X, Y)),
    "cond, true": (branched, (X, Y)),
    "cond, false": (branched, (-X, Y)),
    "twice the same call": (lambda x, y: BOX(x, y) + BOX(x, y), (X, Y)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_jax_gives_by_as_many_calls(name: str) -> None:
    fn, args = PROGRAMS[name]
    proto = exported(fn, *args)
    compiled = jax.jit(fn).lower(*args).compile()
    BOX.tally.reset()
    wanted = jax.block_until_ready(compiled(*map(jnp.asarray, args)))
    calls = BOX.tally.calls
    BOX.tally.reset()
    came = run(proto, [BOX], *args)
    assert (BOX.tally.calls, calls > 0) == (calls, name != "cond, false")
    # The sums around the calls are rounded in another order at most; a difference divides that by 1e-8.
    for ours, theirs in zip(came, jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6 if "gradient" in name else 1e-13)


@pytest.mark.parametrize("offer", OFFERS)
def test_a_derivative_is_what_the_code_offers(offer: str) -> None:
    box = wave_box(**OFFERS[offer])
    gradient = jax.grad(lambda x, y: jnp.sum(box(x, y) ** 2), argnums=(0, 1))
    proto = exported(gradient, X, Y)
    box.tally.reset()
    came = run(proto, [box], X, Y)
    wanted = jax.grad(lambda x, y: jnp.sum(wave_jax(x, y) ** 2), argnums=(0, 1))(X, Y)
    exact = offer != "value"
    for ours, theirs in zip(came, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12 if exact else 1e-6)
    tally = box.tally
    assert (tally.values, tally.tangents, tally.adjoints, tally.probes) == {
        "value": (1, 0, 0, 3),
        "tangent": (1, 3, 0, 0),
        "adjoint": (1, 0, 1, 0),
        "both": (1, 0, 1, 0),
    }[offer]
    assert [about["differences"] for about in operators(proto).values()] == [False, not exact]


def test_second_derivatives_go_out_too() -> None:
    box = cpx.foreign(np.sin, jnp.float64, name="sine", differences=cpx.Central(second=1e-4))
    (came,) = run(exported(jax.grad(jax.grad(box)), X), [box], X)
    assert abs(came + np.sin(X)) < 1e-6


def test_a_batch_of_any_size_is_one_operator() -> None:
    many = jax.vmap(total, in_axes=(0, None))
    proto = exported(many, cpx.struct("batch"), Y)
    assert operators(proto)["wave_value_batch"]["inputs"][0]["shape"] == ["batch"]
    for size in (1, 5):
        x = np.linspace(0.1, 1.0, size)
        np.testing.assert_allclose(run(proto, [BOX], x, Y)[0], many(x, Y), rtol=1e-13)


def test_open_sizes_reach_the_code() -> None:
    box = cpx.foreign(np.sin, lambda struct: struct, name="sines")
    proto = exported(lambda x: 2 * box(x), cpx.struct("n", 2))
    x = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(run(proto, [box], x)[0], 2 * np.sin(x))


def test_a_model_with_a_discipline_in_numpy_is_solved_there() -> None:
    box = cpx.foreign(lambda y_1, z_1, z_2: np.sqrt(np.abs(y_1)) + z_1 + z_2, jnp.float64, name="d2")
    first = cpx.component(lambda x_1, z_1, z_2, y_2: z_1**2 + z_2 + x_1 - 0.2 * y_2, "y_1")
    last = cpx.component(lambda x_1, z_2, y_1, y_2: x_1**2 + z_2 + y_1 + jnp.exp(-y_2), "f")
    model = cpx.Model(first, cpx.component(box, "y_2"), last)
    model = model.close(cpx.Newton(rtol=1e-10, atol=1e-10), cut="y_2")
    f = model.function(("z_1", "x_1"), "f", fixed={"z_2": 2.0}, guess={"y_2": 1.0})
    proto = exported(f, 1.0, 1.0)
    compiled = jax.jit(f).lower(1.0, 1.0).compile()
    box.tally.reset()
    jax.block_until_ready(compiled(jnp.asarray(1.0), jnp.asarray(1.0)))
    calls = box.tally.calls
    box.tally.reset()
    (came,) = run(proto, [box], 1.0, 1.0)
    assert abs(came - 6.059357293905945) < 1e-9
    assert box.tally.calls == calls > 0


def test_a_vector_field_in_numpy_is_integrated_there() -> None:
    field = cpx.foreign(lambda t, y: np.sin(t) - 0.5 * y, lambda t, y: y, name="field")

    def simulate(y: Any) -> Any:
        term = diffrax.ODETerm(lambda t, y, args: field(t, y))
        control = diffrax.PIDController(rtol=1e-6, atol=1e-6)
        at_end = diffrax.SaveAt(t1=True)
        return diffrax.diffeqsolve(
            term, diffrax.Tsit5(), 0.0, 1.0, 0.1, y, saveat=at_end, stepsize_controller=control
        ).ys

    y = np.array([1.0, 2.0])
    proto = exported(simulate, y)
    np.testing.assert_allclose(run(proto, [field], y)[0], simulate(y), rtol=1e-13)


INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TYPES = ("bool", *INTEGERS, "bfloat16", "float16", "float32", "float64")


def extremes(dtype: str) -> np.ndarray:
    """Returns the numbers of a dtype that are lost first."""
    if dtype == "bool":
        return np.array([True, False, False])
    if "int" in dtype:
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, limits.max - 1], dtype)
    limits = jnp.finfo(dtype)
    return np.array(
        [limits.smallest_subnormal, limits.max, np.nan, -np.inf, -0.0, 1 + limits.eps], jnp.dtype(dtype)
    )


def test_every_dtype_goes_there_and_back_bit_by_bit() -> None:
    seen: list[np.ndarray] = []

    def turned(*arrays: Any) -> Any:
        seen[:] = arrays
        return tuple(array[::-1] for array in arrays)

    arrays = tuple(extremes(dtype) for dtype in TYPES)
    box = cpx.foreign(turned, lambda *structs: structs, name="turned")
    came = run(exported(lambda *given: box(*given), *arrays), [box], *arrays)
    assert [array.dtype.name for array in seen] == [array.dtype.name for array in came] == list(TYPES)
    assert [a.tobytes() for a in seen] == [a.tobytes() for a in arrays]
    assert [a.tobytes() for a in came] == [a[::-1].tobytes() for a in arrays]


def test_arrays_without_axes_or_elements_and_large_ones_pass() -> None:
    arrays = (np.array(2.5), np.zeros((0, 3)), np.arange(1e5).reshape(100, 1000))
    box = cpx.foreign(lambda a, b, c: (a + 1, b, c * a), lambda a, b, c: (a, b, c), name="shapes")
    came = run(exported(box, *arrays), [box], *arrays)
    for ours, theirs in zip(came, (np.array(3.5), arrays[1], arrays[2] * 2.5), strict=True):
        assert (ours.shape, ours.tobytes()) == (theirs.shape, theirs.tobytes())


def test_arguments_in_tuples_and_dicts_are_put_together_again() -> None:
    box = cpx.foreign(
        lambda pair, named: {"sum": pair[0] + named["b"], "both": (pair[1], named["a"])},
        {"sum": jnp.float64, "both": (jnp.float64, jnp.float64)},
        name="structured",
    )
    proto = exported(lambda a, b: box((a, b), {"b": 2 * b, "a": 2 * a}), 1.0, 10.0)
    assert run(proto, [box], 1.0, 10.0) == [10.0, 2.0, 21.0]


class Point(NamedTuple):
    x: Any


def test_other_structures_are_refused() -> None:
    box = cpx.foreign(lambda point: point.x, jnp.float64, name="structured")
    with pytest.raises(
        ForeignError, match=r"`structured` takes arrays in a Point, .* tuples, lists and dicts"
    ):
        exported(lambda x: box(Point(x)), 1.0)


def test_complex_numbers_are_refused_with_the_line() -> None:
    box = cpx.foreign(lambda z: np.exp(z), lambda z: z, name="turn")
    with pytest.raises(ExportError, match=r"`turn`, called at test_custom_op.py:\d+ .* complex numbers"):
        exported(lambda x: jnp.abs(box(1j * x)), X)


# ---- the file


def test_the_file_says_what_each_operator_computes() -> None:
    proto = exported(jax.grad(total), X, Y)
    assert {entry.domain: entry.version for entry in proto.opset_import} == {"": 18, "couplax": 1}
    assert [node.op_type for node in proto.graph.node if node.domain == "couplax"] == list(operators(proto))
    value, adjoint = operators(proto).values()
    assert value["called_at"][0].startswith("test_custom_op.py:")
    assert value | {"called_at": []} == {
        "code": "wave",
        "operation": "value",
        "differences": False,
        "batch": None,
        "inputs": [
            {"name": "x", "is": "argument", "dtype": "float64", "shape": []},
            {"name": "y", "is": "argument", "dtype": "float64", "shape": [2]},
        ],
        "outputs": [{"name": "out", "is": "value", "dtype": "float64", "shape": [2]}],
        "returns": ["float64[2]"],
        "arguments": {"tuple": [0, 1]},
        "varying": [],
        "wanted": [],
        "called_at": [],
    }
    assert [(entry["name"], entry["is"]) for entry in adjoint["inputs"]] == [
        ("x", "argument"),
        ("y", "argument"),
        ("out", "value"),
        ("out", "cotangent"),
    ]
    assert [(entry["name"], entry["is"]) for entry in adjoint["outputs"]] == [("x", "cotangent")]


def test_calls_of_other_shapes_are_other_operators_and_names_are_identifiers() -> None:
    box = cpx.foreign(lambda x: 2 * x, lambda struct: struct)
    proto = exported(lambda x: (box(x), box(x[:2]), box(x[1:])), np.arange(3.0))
    assert list(operators(proto)) == ["lambda_value", "lambda_value_2"]
    assert [list(array) for array in run(proto, [box], np.arange(3.0))] == [[0, 2, 4], [0, 2], [2, 4]]


def test_two_codes_of_one_name_are_refused() -> None:
    one, two = (cpx.foreign(fn, jnp.float64, name="same") for fn in (np.sin, np.cos))
    with pytest.raises(ExportError, match=r"Two foreign codes are named `same`.*name="):
        exported(lambda x: one(x) + two(x), X)


def test_the_bytes_are_the_same_every_time() -> None:
    files = {exported(jax.grad(total), X, Y).SerializeToString() for _ in range(2)}
    assert len(files) == 1


def test_a_paired_code_goes_out_as_its_reference() -> None:
    box = cpx.paired(wave_box(), wave_jax)
    proto = exported(lambda x, y: box(x, y), X, Y)
    assert ({node.domain for node in proto.graph.node}, operators(proto)) == ({""}, {})


def test_without_the_choice_the_error_tells_of_it() -> None:
    with pytest.raises(MissingRuleError, match=r'`wave`, called at .*\n.*paired.*foreign="custom_op"'):
        cpx.to_onnx(total, X, Y)
    with pytest.raises(ExportError, match=r"foreign='python' is none of 'error', 'custom_op'"):
        cpx.to_onnx(total, X, Y, foreign="python")  # pyright: ignore[reportArgumentType]  the point


def test_a_file_on_disk_and_its_bytes_are_opened(tmp_path: Path) -> None:
    path = tmp_path / "wave.onnx"
    cpx.save_onnx(path, total, X, Y, foreign="custom_op")
    for source in (path, str(path), path.read_bytes()):
        np.testing.assert_allclose(run(source, [BOX], X, Y)[0], total(X, Y), rtol=1e-14)
    with pytest.raises(ExportError, match="There is no file"):
        cpx.onnx_session(tmp_path / "none.onnx")
    with pytest.raises(ExportError, match="is no ONNX file"):
        cpx.onnx_session(b"nothing of the kind")


# ---- verification


def test_the_file_is_compared_with_jax_by_calling_the_code() -> None:
    proto = cpx.to_onnx(jax.grad(total), X, Y, foreign="custom_op")
    report = cpx.verify(proto, jax.grad(total), X, Y)
    assert (report.ok, {row.tolerance for row in report.comparisons}) == (True, {1e-6})
    assert not cpx.verify(proto, lambda x, y: 2 * jax.grad(total)(x, y), X, Y).ok
    with pytest.raises(ForeignError, match=r"calls foreign code `wave` \(operator `wave_value`"):
        cpx.verify(proto, lambda x, y: x, X, Y)


# ---- the session


def test_the_session_is_used_like_one_of_onnx_runtime() -> None:
    with cpx.onnx_session(exported(scanned, X, Y), [BOX]) as session:
        assert [(e.name, e.type, e.shape) for e in session.get_inputs()] == [
            ("x", "tensor(double)", []),
            ("y", "tensor(double)", [2]),
        ]
        names = [entry.name for entry in session.get_outputs()]
        every = session.run(None, {"x": X, "y": Y})
        (last,) = session.run([names[1]], {"x": X, "y": Y})
        assert np.array_equal(last, every[1])
        assert "couplax.foreign" in session.get_modelmeta().custom_metadata_map


def test_a_component_stands_for_the_code_that_it_is_made_of(file: onnx.ModelProto) -> None:
    assert run(file, [cpx.component(BOX, "w")], X, Y) == run(file, [jax.jit(BOX)], X, Y) == [total(X, Y)]


def test_a_file_without_foreign_codes_runs_in_the_same_way() -> None:
    (came,) = run(cpx.to_onnx(lambda x: 2 * x, Y), [], Y)
    assert np.array_equal(came, 2 * Y)


def test_double_precision_needs_no_setting_of_jax(file: onnx.ModelProto) -> None:
    with jax.enable_x64(False):
        (came,) = run(file, [BOX], X, Y)
    assert abs(came - total(X, Y)) < 1e-14


@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        (
            [],
            r"`wave` \(operator `wave_value`, from test_custom_op.py:\d+ .*\), and what came is nothing",
        ),
        ([cpx.foreign(wave, OUT, name="wive")], r"what came is `wive`. Close: `wive`. Pass it: .*\[wave\]"),
        ([wave], r"takes foreign codes, .* <function wave .* is a function"),
        ([BOX, wave_box(memo=3)], r"two codes named `wave`"),
        (
            [cpx.foreign(wave, jnp.float64, name="wave")],
            r"`wave` declares to return float64\[\] for \(float64\[\], float64\[2\]\), and .* float64\[2\]",
        ),
    ],
    ids=["none", "another", "a function", "two", "of another shape"],
)
def test_a_code_that_is_not_the_files_is_told(file: onnx.ModelProto, foreign: Any, message: str) -> None:
    with pytest.raises(ForeignError, match=message):
        cpx.onnx_session(file, foreign)


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({"x": X}, r"does not run the file: .*'y'"),
        ({"x": X, "y": np.zeros(3)}, r"does not run the file: .*y.*Got: 3 Expected: 2"),
        ({"x": X, "y": np.zeros(2, np.float32)}, r"does not run the file: .*tensor\(float\)"),
        ({"x": X, "y": "many"}, r"Input `y` is of dtype <U4; numbers"),
    ],
    ids=["missing", "shape", "dtype", "text"],
)
def test_inputs_that_do_not_fit_are_told_and_the_session_goes_on(
    file: onnx.ModelProto, feeds: Any, message: str
) -> None:
    with cpx.onnx_session(file, [BOX]) as session:
        with pytest.raises(ExportError, match=f"(?s){message}"):
            session.run(None, feeds)
        assert len(session.run(None, {"x": X, "y": Y})) == 1


class Touchy:
    """A code that fails when it is told to."""

    def __init__(self) -> None:
        self.then: Callable[[], Any] | None = None

    def __call__(self, x: Any) -> Any:
        return np.sin(x) if self.then is None else self.then()


def opened() -> tuple[Touchy, Any]:
    """Returns a code, and a session of a loop that calls it."""
    touchy = Touchy()
    box = cpx.foreign(touchy, jnp.float64, name="touchy", memo=0)
    proto = exported(lambda x: jax.lax.while_loop(lambda c: c > 0.5, box, x), 1.0)
    return touchy, cpx.onnx_session(proto, [box])


def failing() -> Any:
    raise ArithmeticError("no solution")


@pytest.mark.parametrize(
    ("then", "message", "cause"),
    [
        (failing, "ArithmeticError: no solution\nRaised by foreign code `touchy` at ", ArithmeticError),
        (
            lambda: np.zeros(2),
            r"ForeignError: .* returned float64\[2\], and declares float64\[\]",
            ForeignError,
        ),
    ],
    ids=["raises", "other shape"],
)
def test_a_code_that_fails_is_told_with_its_line_and_the_next_run_goes_on(
    then: Callable[[], Any], message: str, cause: type[Exception]
) -> None:
    touchy, session = opened()
    with session:
        wanted = session.run(None, {"x": 1.0})
        touchy.then = then
        told = rf"(?s)`touchy`, called at test_custom_op.py:\d+ .*, failed where .* called it.\n{message}"
        with pytest.raises(ForeignError, match=told) as caught:
            session.run(None, {"x": 1.0})
        assert isinstance(caught.value.__cause__, cause)
        touchy.then = None
        assert session.run(None, {"x": 1.0}) == wanted


def test_what_is_no_error_passes_and_the_next_run_goes_on() -> None:
    def interrupted() -> Any:
        raise KeyboardInterrupt

    touchy, session = opened()
    with session:
        touchy.then = interrupted
        with pytest.raises(KeyboardInterrupt):
            session.run(None, {"x": 1.0})
        touchy.then = None
        assert len(session.run(None, {"x": 1.0})) == 1


def test_a_process_that_is_killed_is_told_and_the_next_run_starts_another() -> None:
    def killing() -> Any:
        os.kill(session._process._process.pid, signal.SIGKILL)
        return np.sin(1.0)

    touchy, session = opened()
    with session:
        wanted = session.run(None, {"x": 1.0})
        touchy.then = killing
        with pytest.raises(ExportError, match=r"was ended by SIGKILL. The next run starts another"):
            session.run(None, {"x": 1.0})
        touchy.then = None
        assert session.run(None, {"x": 1.0}) == wanted
        session._process._process.kill()
        session._process._process.wait()
        assert session.run(None, {"x": 1.0}) == wanted


def test_a_code_cannot_run_the_session_that_waits_for_it() -> None:
    touchy, session = opened()
    with session:
        touchy.then = lambda: session.run(None, {"x": 1.0})
        with pytest.raises(
            ForeignError, match=r"ExportError: A foreign code of this session runs the session"
        ):
            session.run(None, {"x": 1.0})


def test_threads_take_turns() -> None:
    results: dict[int, Any] = {}
    _, session = opened()
    with session:

        def one(number: int) -> None:
            results[number] = session.run(None, {"x": 0.1 * number})

        threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == {number: [0.1 * number] for number in range(4)}


def test_a_closed_session_says_so() -> None:
    _, session = opened()
    session.close()
    session.close()
    with pytest.raises(ExportError, match="The session is closed"):
        session.run(None, {"x": 1.0})


def test_the_process_ends_with_the_session() -> None:
    _, session = opened()
    process = session._process._process
    del session
    gc.collect()
    assert process.poll() is not None


LEFT_OPEN = """
import jax, jax.numpy as jnp, numpy as np, os
import couplax as cpx
jax.config.update("jax_enable_x64", True)
box = cpx.foreign(np.sin, jnp.float64, name="box")
session = cpx.onnx_session(cpx.to_onnx(lambda x: box(x), 1.0, foreign="custom_op", verify=False), [box])
print(session.run(None, {"x": 1.0})[0] == np.sin(1.0), session._process._process.pid, flush=True)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
END
"""


@pytest.mark.parametrize("end", ["raise ValueError", "os.kill(os.getpid(), 9)"], ids=["error", "kill"])
def test_python_exits_with_a_session_open_and_the_process_is_gone(end: str) -> None:
    code = LEFT_OPEN.replace("END", end)
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False, timeout=60
    )
    right, pid = done.stdout.split()
    assert (done.returncode, right) == (1 if "raise" in end else -9, "True")
    assert not is_alive(int(pid))


def is_alive(pid: int) -> bool:
    """Returns whether a process still runs a moment later."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        threading.Event().wait(0.05)
    return True


def test_without_its_package_the_session_says_what_to_install(
    file: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_extra, "_EXTENSIONS", ("no_such_package",))
    with pytest.raises(
        MissingExtraError, match=r"`no_such_package`, .*pip install 'couplax\[onnx-operators\]'"
    ):
        cpx.onnx_session(file, [BOX])


def test_an_operator_that_nothing_is_said_of_is_told_by_onnx_runtime() -> None:
    proto = exported(total, X, Y)
    del proto.metadata_props[:]
    with pytest.raises(ExportError, match=r"does not load the file: .*wave_value"):
        cpx.onnx_session(proto, [BOX])
    with pytest.raises(VerificationError, match="does not load the file"):
        cpx.verify(proto, total, X, Y)
