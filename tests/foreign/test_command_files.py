"""The files of a command: templates, parsers, and what is said where they do not fit."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.foreign import foreign_command

COPY = ["cp", "{input}", "{output}"]
THREE = jax.ShapeDtypeStruct((3,), jnp.float64)


def echo(text: str) -> list[str]:
    return [sys.executable, "-c", f"print({text!r})"]


def test_a_template_writes_each_number_with_all_its_digits(tmp_path: Path) -> None:
    template = "a = {a}\nb: {b}\nfirst {b[0]:.17g} in {{braces}}"
    f = foreign_command(
        COPY, ["a", "b"], {"a": jnp.float64, "b": THREE}, write=template,
        read={"a": r"a = (.*)", "b": r"b: (.*)"}, keep=True, folder=tmp_path,
    )  # fmt: skip
    a, b = 0.1 + 0.2, np.array([1 / 3, -1e-300, np.pi * 1e200])
    found = f(a, b)
    assert found["a"] == a
    assert np.asarray(found["b"]).tobytes() == b.tobytes()
    (folder,) = tmp_path.iterdir()
    assert (folder / "input.json").read_text().endswith("first 0.33333333333333331 in {braces}")


def test_a_template_is_read_from_a_path_when_the_code_is_declared(tmp_path: Path) -> None:
    template = tmp_path / "case.txt"
    template.write_text("{m}")
    f = foreign_command(
        COPY, ["m"], jax.ShapeDtypeStruct((4,), jnp.float64), write=template, read=r"(?s).*\S"
    )
    template.unlink()
    np.testing.assert_array_equal(f(np.array([[1.0, 2], [3, 4]])), [1, 2, 3, 4])


def test_an_input_can_stand_in_the_command_and_the_output_be_what_is_printed() -> None:
    f = foreign_command(["echo", "y={x}"], ["x"], jnp.float64, read=r"y=(\S+)", output_file="stdout.txt")
    assert f(0.1) == 0.1


def test_the_input_file_can_be_standard_input() -> None:
    f = foreign_command(["cat"], ["x"], {"x": jnp.float64}, stdin=True, output_file="stdout.txt")
    assert f(0.7)["x"] == 0.7


def test_the_last_match_counts_and_fortran_exponents_are_read() -> None:
    text = "iteration 1 y = 1.0D+00\niteration 2 y = 2.5D-03"
    f = foreign_command(echo(text), ["x"], jnp.float64, read=r"y = (\S+)", output_file="stdout.txt")
    assert f(1.0) == 2.5e-3


def test_functions_of_the_user_write_and_read() -> None:
    def write(path: Path, values: Mapping[str, Any]) -> None:
        np.savetxt(path, values["x"])

    def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
        x = np.loadtxt(folder / "output.json")
        return x, x.sum()

    f = foreign_command(COPY, ["x"], (THREE, jnp.float64), write=write, read=read)
    x, total = f(np.array([1.0, 2, 4]))
    assert (x.tolist(), float(total)) == ([1, 2, 4], 7.0)


def test_a_fault_in_the_users_parser_arrives_as_it_is_with_the_folder_noted(tmp_path: Path) -> None:
    def read(folder: Path) -> float:
        return float((folder / "output.json").read_text().split()[5])

    f = foreign_command(COPY, ["x"], jnp.float64, read=read, folder=tmp_path)
    with pytest.raises(IndexError) as caught:
        f(1.0)
    (kept,) = tmp_path.iterdir()
    assert f"The working folder is kept: {kept}" in caught.value.__notes__


def test_an_output_can_be_declared_as_a_function_of_the_inputs() -> None:
    f = foreign_command(COPY, ["x"], lambda x: {"x": x})
    assert f(np.arange(3.0))["x"].tolist() == [0, 1, 2]


def declare(options: dict[str, Any]) -> cpx.Foreign:
    declaration: dict[str, Any] = {"command": COPY, "inputs": ["x"], "out": jnp.float64, **options}
    return foreign_command(**declaration)


BUILT_WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a text as the command": (
        dict(command="solve {input}"),
        r"no shell reads it. Wanted: a sequence of arguments, \['solve', '\{input\}'\]",
    ),
    "an empty command": (dict(command=[]), "is empty"),
    "an unknown placeholder": (dict(command=["cp", "{inptu}"]), "`{inptu}`, and there is none.* Close: "
    "`input`"),
    "an unknown field": (dict(write="{y} {x}"), "`{y}`, and there is none of that name"),
    "a lone brace": (dict(write="{x} }"), "brace that belongs to no field"),
    "an input that the template leaves out": (dict(write="nothing"), "never hands over `x`"),
    "no template at the path": (dict(write=Path("no/such.txt")), "no template `no/such.txt`"),
    "a name that is none": (dict(inputs=["x y"]), "Wanted: names such as"),
    "a name twice": (dict(inputs=["x", "x"]), "each once"),
    "a reserved name": (dict(inputs=["folder"]), "other than `input`, `output`, `folder`"),
    "no expression": (dict(read="("), "no regular expression"),
    "no file to copy": (dict(files=["no/such.txt"]), "and not there"),
}  # fmt: skip


@pytest.mark.parametrize("case", BUILT_WRONG)
def test_a_fault_in_the_declaration_is_said_at_once(case: str) -> None:
    options, message = BUILT_WRONG[case]
    with pytest.raises(cpx.ForeignError, match=message):
        declare(options)


RAN_WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no executable": (dict(command=["no-such-solver"]), "no executable `no-such-solver`"),
    "not executable": (dict(command=["/dev/null"]), "no executable `/dev/null`"),
    "no output": (dict(command=["true"]), "wrote no `output.json`; its folder holds `input.json`"),
    "no JSON": (dict(command=["sh", "-c", "echo y=1 > output.json"]), "is no JSON"),
    "an object for a number": (dict(), "holds an object with `x`, where a number"),
    "a name that is missing": (dict(out={"X": jnp.float64}), "has no `X`, which is declared. Close: `x`"),
    "too few in a tuple": (
        dict(command=["sh", "-c", "echo [1] > output.json"], out=(jnp.float64, jnp.float64)),
        "holds an array of 1, where an array of 2",
    ),
    "null": (dict(command=["sh", "-c", "echo null > output.json"]), "nothing \\(`null`\\)"),
    "ragged": (dict(command=["sh", "-c", "echo [[1],[1,2]] > output.json"]), "unequal lengths"),
    "another shape": (dict(out={"x": THREE}), "returned float64\\[\\]"),
    "no match": (dict(read="z = (.*)"), "matches `z = "),
    "no number": (dict(read='"(x)"'), "which is no number"),
    "too few numbers": (dict(read=r"(\d)", out=THREE), "gives 1 numbers, where 3"),
    "expressions by name for one output": (dict(read={"x": "(.*)"}), "declares no dict"),
    "a field that does not fit": (dict(write="{x[3]}"), "does not fit its value"),
    "a format that does not fit": (dict(write="{x:q}"), "does not fit its value"),
}


@pytest.mark.parametrize("case", RAN_WRONG)
def test_a_fault_in_a_run_says_what_came_and_what_was_wanted(case: str, tmp_path: Path) -> None:
    options, message = RAN_WRONG[case]
    with pytest.raises(cpx.ForeignError, match=message):
        declare({"folder": tmp_path, **options})(1.0)
