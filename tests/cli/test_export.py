"""`couplax export`, `verify` and `inspect`: what they write and print, exit codes, short errors."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import onnx
import onnxruntime
import pytest

from couplax.cli import main
from couplax.cli._progress import working
from couplax.export import from_stablehlo

SOURCE = """
import diffrax
import jax
import jax.numpy as jnp

import couplax as cpx


def simulate(y0):
    term = diffrax.ODETerm(lambda t, y, args: -y)
    return diffrax.diffeqsolve(term, diffrax.Euler(), t0=0, t1=1, dt0=0.1, y0=y0).ys[0]


def turns(x):
    return jax.lax.fori_loop(0, 1000, lambda _, y: y - y * y / 1000, x)


def scaled(mass, parts):
    return mass * parts["k"], parts["c"].sum()


def rowwise(x):
    return jnp.sin(x).sum(1)


def clash(x):
    return x @ jnp.ones(7)


def spectrum(x):
    return jax.scipy.linalg.schur(x)[0]


@cpx.component("y")
def discipline(x, y):
    return 0.5 * jnp.cos(y) + x


model = cpx.Model(discipline).close(cpx.Newton(rtol=1e-10, atol=1e-10))
closed = model.function("x", "y", guess={"y": 1.0})

@cpx.foreign(out=lambda x: x)
def box(x):
    return x * x


speed = cpx.input("v", units="m/s", description="speed")
lifting = cpx.Model(cpx.component(lambda v: v * v, speed, "lift", name="wing")).function("v", "lift")
"""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yields the name of a Python file in the folder that commands are run in."""
    (tmp_path / "plant.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield "plant.py"
    for name in ("plant", "broken"):
        sys.modules.pop(name, None)


@pytest.fixture
def couplax(module: str, capsys: pytest.CaptureFixture[str]) -> Command:
    """Returns a function that runs a command and returns its exit code, its output and its errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def run_onnx(path: str, *values: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    return list(session.run(None, dict(zip(names, map(np.asarray, values), strict=True))))


def test_a_simulation_is_written_in_single_precision_and_told(couplax: Command) -> None:
    with jax.enable_x64(False):
        code, out, err = couplax("export", "plant.py:simulate", "--args", "1.0", "--out", "simulate.onnx")
    assert (code, err) == (0, "")
    assert out.startswith("simulate.onnx: (y0) -> (out), 30 nodes, opset 18, ")
    assert out.endswith(", equal to JAX\n")
    np.testing.assert_allclose(run_onnx("simulate.onnx", np.float32(100)), [34.867847], rtol=1e-6)


def test_a_foreign_code_is_written_as_an_operator_where_that_is_asked_for(couplax: Command) -> None:
    export = ("export", "plant.py:box", "--args", "float32[3]", "--out", "box.onnx")
    code, out, _ = couplax(*export, "--foreign", "custom_op")
    assert (code, out.endswith(", equal to JAX\n")) == (0, True)
    assert [node.op_type for node in onnx.load("box.onnx").graph.node] == ["box_value"]
    rows = [
        [cell.strip() for cell in line.split("│")] for line in couplax("inspect", "box.onnx")[1].splitlines()
    ]
    assert ["", "box_value", "box", "value"] in [row[:4] for row in rows]
    code, out, _ = couplax("verify", "box.onnx", "plant.py:box", "--args", "float32[3]")
    assert (code, out.endswith("equal to JAX\n")) == (0, True)
    code, _, err = couplax(*export)
    assert (code, 'foreign="custom_op"' in err) == (1, True)


def test_a_function_of_a_model_is_written_in_double_precision_with_its_names(couplax: Command) -> None:
    with jax.enable_x64(False):
        code, out, _ = couplax("export", "plant:closed", "--args", "0.25", "--out", "m.onnx", "--x64")
    assert code == 0
    assert "(x) -> (y)" in out
    (y,) = run_onnx("m.onnx", np.float64(0.25))
    # The solver's own tolerance is 1e-10.
    np.testing.assert_allclose(y - 0.5 * np.cos(y), 0.25, rtol=1e-8)


def test_names_opset_and_failures_reach_the_file(couplax: Command) -> None:
    options = [
        "--opset",
        "21",
        "--inputs",
        "start",
        "--outputs",
        "end",
        "--failures",
        "ignore",
        "--no-verify",
    ]
    code, out, _ = couplax("export", "plant.py:simulate", "--args", "1.0", "--out", "s.onnx", *options)
    assert code == 0
    assert "(start) -> (end), 30 nodes, opset 21, " in out
    assert out.endswith("not compared with JAX\n")


def test_arguments_are_json_of_any_structure(couplax: Command) -> None:
    typed = ["2.0", '{"k": 3, "c": [[1, 2.5], [3, 4]]}']
    assert couplax("export", "plant.py:scaled", "--args", *typed, "--out", "s.onnx")[0] == 0
    entries = {entry.name: entry.type.tensor_type for entry in onnx.load("s.onnx").graph.input}
    assert list(entries) == ["mass", "parts.c", "parts.k"]
    assert [axis.dim_value for axis in entries["parts.c"].shape.dim] == [2, 2]
    assert entries["parts.k"].elem_type == onnx.TensorProto.INT64


def test_arguments_may_be_arrays_in_a_file_by_name(couplax: Command) -> None:
    np.savez("in.npz", x=np.linspace(0, 1, 6, dtype=np.float32).reshape(3, 2))
    assert couplax("export", "plant.py:rowwise", "--args", "in.npz", "--out", "r.onnx")[0] == 0
    (entry,) = onnx.load("r.onnx").graph.input
    assert [axis.dim_value for axis in entry.type.tensor_type.shape.dim] == [3, 2]


@pytest.mark.parametrize("typed", [["float64[batch,2]"], ["[[1.0, 2.0]]", "--dynamic", "x:0=batch"]])
def test_stablehlo_is_written_with_an_open_axis(couplax: Command, typed: list[str]) -> None:
    code, out, _ = couplax("export", "plant.py:rowwise", "--out", "r.stablehlo", "--args", *typed)
    assert code == 0
    assert "<StableHLO for cpu: (float64[batch,2]) -> (float64[batch])>" in out
    x = np.linspace(0, 1, 6).reshape(3, 2)
    came = from_stablehlo(Path("r.stablehlo").read_bytes())(x)
    np.testing.assert_allclose(came, np.sin(x).sum(1), rtol=1e-14)


def test_stablehlo_takes_platforms_gradients_and_portability(couplax: Command) -> None:
    options = ["--platforms", "cpu, tpu", "--gradients", "--portable", "--target", "stablehlo"]
    code, _, _ = couplax("export", "plant.py:closed", "--args", "0.25", "--out", "closed.bin", *options)
    assert code == 0
    read = from_stablehlo(Path("closed.bin").read_bytes())
    assert read.platforms == ("cpu", "tpu")
    y = float(read(0.25))
    assert float(jax.grad(read)(0.25)) == pytest.approx(1 / (1 + 0.5 * np.sin(y)), rel=1e-9)


@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="the extra `tensorflow` is not installed"
)
def test_tensorflow_gets_a_saved_model(couplax: Command) -> None:
    tf: Any = importlib.import_module("tensorflow")
    options = ["--target", "tensorflow", "--outputs", "end"]
    code, out, _ = couplax("export", "plant.py:simulate", "--args", "1.0", "--out", "saved", *options)
    assert (code, "saved: a SavedModel" in out) == (0, True)
    served = tf.saved_model.load("saved").signatures["serving_default"](y0=tf.constant(100.0, tf.float64))
    assert float(served["end"]) == pytest.approx(100 * 0.9**10, rel=1e-14)


def test_a_file_that_is_right_verifies_and_one_that_is_not_fails(couplax: Command) -> None:
    couplax("export", "plant.py:simulate", "--args", "1.0", "--out", "s.onnx")
    code, out, _ = couplax("verify", "s.onnx", "plant.py:simulate", "--args", "2.0")
    assert (code, out.splitlines()[-1]) == (0, "equal to JAX")
    code, out, _ = couplax("verify", "s.onnx", "plant.py:turns", "--args", "2.0")
    assert (code, out.splitlines()[-1]) == (1, "DIFFERS from JAX")


def test_a_tolerance_is_taken(couplax: Command) -> None:
    couplax("export", "plant.py:simulate", "--args", "1.0", "--out", "s.onnx")
    loose = ["--args", "2.0", "--tolerance", "10"]
    assert couplax("verify", "s.onnx", "plant.py:turns", *loose)[0] == 0


def test_a_file_is_shown_with_its_operators_and_loops(couplax: Command) -> None:
    couplax("export", "plant.py:turns", "--args", "1.0", "--out", "t.onnx")
    code, out, _ = couplax("inspect", "t.onnx")
    assert code == 0
    assert "opset ai.onnx 18" in out.splitlines()[0]
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if "│" in line]
    assert ["input", "x", "float64[]"] in rows
    assert ["output", "out", "float64[]"] in rows
    assert ["Loop", "1", ""] in rows
    assert ["Mul", "2", "2"] in rows or ["Mul", "1", "1"] in rows
    (loop,) = [row for row in rows if row[0] == "Loop" and len(row) == 4]
    assert loop[1] == "1000"
    assert "computes: turns" in out.splitlines()
    lines = [row for row in rows if row[0].startswith("plant.py:")]
    assert "(<lambda>)" in {row[0].split()[1] for row in lines if row[2]}


def test_what_is_said_of_variables_is_shown_beside_them(couplax: Command) -> None:
    couplax("export", "plant.py:lifting", "--args", "1.0", "--out", "l.onnx")
    _, out, _ = couplax("inspect", "l.onnx")
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if "│" in line]
    assert ["input", "v", "float64[]", "speed [m/s]"] in rows
    assert ["output", "lift", "float64[]", ""] in rows


def test_no_loop_is_shown_where_there_is_none(couplax: Command) -> None:
    couplax("export", "plant.py:simulate", "--args", "1.0", "--out", "s.onnx")
    assert "Loops" not in couplax("inspect", "s.onnx")[1]


EXPORT = ("export", "--out", "x.onnx")

FAULTS = {
    "no colon": ((*EXPORT, "plant.py"), "`plant.py` names no function. Write `module.py:function`."),
    "no file": ((*EXPORT, "plnt.py:simulate"), "There is no file plnt.py. Close: `plant.py`."),
    "no module": ((*EXPORT, "no_such:simulate"), "There is no module `no_such`."),
    "no function": ((*EXPORT, "plant.py:simulat"), "plant.py has no `simulat`. Close: `simulate`."),
    "no callable": ((*EXPORT, "plant.py:model"), "`model` in plant.py is of type Model, and a function"),
    "too few": ((*EXPORT, "plant.py:simulate"), "The function takes (y0), and --args gives 0 arguments"),
    "too many": ((*EXPORT, "plant.py:simulate", "--args", "1", "2"), "and --args gives 2 arguments"),
    "no JSON": ((*EXPORT, "plant.py:simulate", "--args", "{"), "Argument `{` is neither JSON"),
    "text": ((*EXPORT, "plant.py:simulate", "--args", '"a"'), "holds the text `a`, and numbers are wanted"),
    "ragged": ((*EXPORT, "plant.py:simulate", "--args", "[[1], [1, 2]]"), "rows of different lengths"),
    "words": ((*EXPORT, "plant.py:simulate", "--args", '["a"]'), "is no array of numbers"),
    "no type": (
        (*EXPORT, "plant.py:simulate", "--args", "flot32[3]"),
        "`flot32[3]` is no type that JAX knows",
    ),
    "no npz": ((*EXPORT, "plant.py:simulate", "--args", "no.npz"), "There is no file no.npz."),
    "no axis": ((*EXPORT, "plant.py:simulate", "--args", "1", "--dynamic", "0"), "names no axis"),
    "no input": (
        (*EXPORT, "plant.py:simulate", "--args", "1", "--dynamic", "speed:0=n"),
        "there is no input `speed`. There are `y0`.",
    ),
    "axes": ((*EXPORT, "plant.py:simulate", "--args", "1", "--dynamic", "y0:0=n"), "that input has 0 axes"),
    "no fit": (
        (*EXPORT, "plant.py:clash", "--args", "[1.0, 2.0]"),
        "Exporting clash for onnx failed, at plant.py:27 (clash): TypeError: dot_general",
    ),
    "no rule": ((*EXPORT, "plant.py:spectrum", "--args", "[[1.0]]"), "primitive `schur` on (float64[1,1])"),
    "opset": ((*EXPORT, "plant.py:simulate", "--args", "1.0", "--opset", "7"), "opset=7 is too old"),
    "option": (
        (*EXPORT, "plant.py:simulate", "--args", "1.0", "--gradients"),
        "`--gradients` says nothing to the target onnx",
    ),
    "folder": (
        ("export", "--out", "no/x.onnx", "plant.py:simulate", "--args", "1.0"),
        "There is no folder no to write x.onnx into.",
    ),
    "verify": (("verify", "no.onnx", "plant.py:simulate"), "There is no file no.onnx."),
    "inspect": (("inspect", "plant.py"), "plant.py is no ONNX file"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_short_message_and_exit_code_one(couplax: Command, fault: str) -> None:
    arguments, words = FAULTS[fault]
    code, out, err = couplax(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("couplax: ")
    assert words in err
    assert "Traceback" not in err
    assert not Path("x.onnx").exists()


def test_a_module_that_does_not_import_is_told_by_its_line(couplax: Command) -> None:
    Path("broken.py").write_text("import jax\n\nvalue = 1 / 0\n", encoding="utf-8")
    _, _, err = couplax(*EXPORT, "broken.py:value")
    place = "at broken.py:3 (<module>)"
    assert err == f"couplax: Importing broken.py failed, {place}: ZeroDivisionError: division by zero\n"


def test_arrays_in_a_file_by_other_names_are_told(couplax: Command) -> None:
    np.savez("in.npz", z=np.ones((3, 2)))
    _, _, err = couplax(*EXPORT, "plant.py:rowwise", "--args", "in.npz")
    assert "in.npz holds `z`, and the function takes `x`." in err


@pytest.mark.parametrize(
    "arguments", [["export", "plant.py:simulate"], ["verify", "x.onnx"], ["export", "a:b", "--target", "c"]]
)
def test_what_is_no_command_ends_with_two(couplax: Command, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        couplax(*arguments)
    assert caught.value.code == 2


def test_a_terminal_shows_a_spinner_and_a_pipe_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with working("Exporting"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with working("Exporting"):
        pass
    assert "Exporting" in capsys.readouterr().err
