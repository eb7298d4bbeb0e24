"""The project's own files hold together: pins, package, change log, make."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = sorted((ROOT / "constraints").glob("py*.txt"))
LONGEST_FILE = 600


def normal(requirement: str) -> str:
    """Returns the name in `requirement` as indexes spell it."""
    name = re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def needed() -> set[str]:
    """Returns every package that the runs of `make` ask for."""
    groups = PROJECT["dependency-groups"]
    extras = PROJECT["project"]["optional-dependencies"]
    asked = [*PROJECT["project"]["dependencies"], *extras["onnx"], *groups["test"], *groups["lint"]]
    return {normal(requirement) for requirement in asked} | {"pip", "setuptools"}


def test_each_supported_python_has_its_pins() -> None:
    supported = {
        match[1]
        for line in PROJECT["project"]["classifiers"]
        if (match := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    }
    assert {path.stem.removeprefix("py") for path in PINS} == supported


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.stem)
def test_pins_are_exact_versions_and_nothing_else(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.stem)
def test_all_that_make_installs_is_pinned(path: Path) -> None:
    pinned = {normal(line) for line in path.read_text(encoding="utf-8").splitlines()}
    assert needed() - pinned == set()


def test_the_change_log_knows_the_version() -> None:
    assert f"[{PROJECT['project']['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_source_file_is_longer_than_one_can_read() -> None:
    sizes = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("src", "tests", "examples")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {path: size for path, size in sizes.items() if size > LONGEST_FILE} == {}


def copied(tmp_path: Path) -> Path:
    """Returns a copy of what is built, so that no build folder is left in the checkout."""
    source = tmp_path / "source"
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
    shutil.copytree(ROOT / "src", source / "src", ignore=left_out)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    return source


def test_the_source_distribution_holds_what_the_compiled_route_is_built_from(tmp_path: Path) -> None:
    source = copied(tmp_path)
    build = "import setuptools.build_meta as backend; print(backend.build_sdist('.'))"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (archive,) = source.glob("couplax-*.tar.gz")
    with tarfile.open(archive) as held:
        names = {Path(name).name for name in held.getnames()}
    assert {path.name for path in (ROOT / "src/couplax/foreign/_native").iterdir()} <= names


def test_without_a_compiler_a_wheel_is_built_that_holds_every_module_and_is_typed(tmp_path: Path) -> None:
    source = copied(tmp_path)
    build = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
    no_compiler = {**os.environ, "CC": "no-such-compiler"}
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(source)], check=True, env=no_compiler)
    (wheel,) = tmp_path.glob("couplax-*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("couplax/")}
    written = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/couplax").rglob("*.py*")
        if path.suffix in {".py", ".pyi"}
    }
    assert held == written | {"couplax/py.typed"}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not on this machine")
@pytest.mark.parametrize("goal", ["demo", "test", "interpreter"])
def test_make_refuses_an_interpreter_it_cannot_use_in_one_line(goal: str) -> None:
    done = subprocess.run(
        ["make", "--silent", "--no-print-directory", goal, "PYTHON=python2.0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode != 0
    assert "no command `python2.0` runs here" in line
