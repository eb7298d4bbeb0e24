"""The command line: exit codes, what the demo prints and leaves, and what it says of a missed figure."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from couplax import ModelError
from couplax.cli import main


@pytest.fixture
def demo_module() -> Any:
    """Returns the module behind `couplax demo`."""
    return importlib.import_module("couplax.cli._demo")


def figures(printed: str) -> dict[str, tuple[float, float]]:
    """Returns the demo's figures with their bounds, by what they are."""
    found = re.findall(r"^  (\S.*?) +(\S+)  \(at most (\S+)\)", printed, re.MULTILINE)
    return {what: (float(figure), float(bound)) for what, figure, bound in found}


def row(printed: str, name: str) -> list[float]:
    (line,) = [line for line in printed.splitlines() if line.split()[:1] == [name]]
    return [float(word) for word in line.split()[1:]]


def test_the_demo_leaves_its_files_and_keeps_its_bounds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "couplax", "demo", "--folder", str(tmp_path / "out")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    printed = ran.stdout
    left = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert left == ["sellar.svg", "sellar_float32.onnx", "sellar_float64.onnx", "simulate.onnx"]
    assert (tmp_path / "out" / "sellar.svg").read_text().lstrip().startswith(("<svg", "<?xml"))
    found = figures(printed)
    assert len(found) == 10
    assert all(figure <= bound for figure, bound in found.values())
    assert found["calls of the numpy function for the solve"] == (7, 9)
    assert found["calls of the numpy function with the gradient"] == (9, 14)
    for name, wanted in (("y_1", 3.0506762937), ("f", 6.0593572939), ("df/dz_1", 1.6896126122)):
        for came in row(printed, name):
            # The numpy discipline's slopes are differences.
            assert came == pytest.approx(wanted, abs=1e-7)
    assert "34.8678" in printed
    assert "10 of 10 figures within their bounds" in printed


def test_a_missed_figure_is_marked_and_told(
    demo_module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    missed = demo_module.Check(what="a figure", figure=2.0, bound=1.0)
    monkeypatch.setattr(demo_module, "_coupled", lambda show: demo_module._report(show, [missed]))
    monkeypatch.setattr(demo_module, "_simulation", lambda folder, show: [])
    monkeypatch.setattr(demo_module, "_exported_model", lambda folder, show: [])
    assert demo_module.demo(tmp_path, shown.append) is False
    assert shown[0].endswith("(at most 1)  MISSED")
    assert "0 of 1 figures within their bounds" in shown[-1]


def test_a_missed_figure_fails_the_command(
    demo_module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_module, "demo", lambda folder: False)
    assert main(["demo", "--folder", str(tmp_path)]) == 1


def test_a_figure_that_is_nan_is_missed(demo_module: Any) -> None:
    assert not demo_module.Check(what="a figure", figure=float("nan"), bound=1.0).ok


def test_a_fault_of_the_users_is_one_message_and_exit_code_one(
    demo_module: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(folder: Path) -> bool:
        raise ModelError(["something is wrong."])

    monkeypatch.setattr(demo_module, "demo", fails)
    assert main(["demo", "--folder", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "couplax: Model has 1 fault:\n  1. something is wrong.\n"


@pytest.mark.parametrize("arguments", [[], ["dmeo"], ["demo", "--fodler", "x"]])
def test_what_is_no_command_exits_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: couplax" in capsys.readouterr().err
