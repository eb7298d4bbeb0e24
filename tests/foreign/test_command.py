"""An executable as a JAX function: values, derivatives, names, folders and failures."""

import inspect
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.foreign import foreign_command

Make = Callable[..., cpx.Foreign]

SOLVER = """
    import json, math, sys
    read, written = sys.argv[1:3]
    given = json.load(open(read))
    x, z = given["x"], given["z"]
    if "tangent" in given:
        dx, dz = given["tangent"]["x"], given["tangent"]["z"]
        result = {"y": math.cos(x) * z[0] * dx + math.sin(x) * dz[0], "u": [2 * x * dx, dz[1]]}
    elif "cotangent" in given:
        y, u = given["cotangent"]["y"], given["cotangent"]["u"]
        result = {"x": math.cos(x) * z[0] * y + 2 * x * u[0], "z": [math.sin(x) * y, u[1]]}
    else:
        result = {"y": math.sin(x) * z[0], "u": [x * x, z[1]], "version": 3}
    if x > 90:
        print("first line", "x is too large", sep="\\n", file=sys.stderr)
        sys.exit(7)
    json.dump(result, open(written, "w"))
"""
OUT = {"y": jnp.float64, "u": jax.ShapeDtypeStruct((2,), jnp.float64)}
Z = np.array([2.0, 3.0])


@pytest.fixture
def solver(tmp_path: Path) -> list[str]:
    """Returns the command of a small solver that reads and writes JSON."""
    return script(tmp_path, SOLVER)


def script(folder: Path, text: str) -> list[str]:
    path = folder / "solver.py"
    path.write_text(textwrap.dedent(text))
    return [sys.executable, str(path), "{input}", "{output}"]


def expected(x: float) -> dict[str, Any]:
    return {"y": np.sin(x) * 2.0, "u": np.array([x * x, 3.0])}


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_a_command_returns_what_it_writes(solver: list[str], wrap: Callable[[Any], Any]) -> None:
    found = wrap(foreign_command(solver, ["x", "z"], OUT))(0.3, Z)
    assert found["y"] == expected(0.3)["y"]
    np.testing.assert_array_equal(found["u"], expected(0.3)["u"])


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_a_command_without_derivatives_is_differentiated_by_probes(
    solver: list[str], wrap: Callable[[Any], Any]
) -> None:
    f = foreign_command(solver, ["x", "z"], OUT)
    # Forward differences: the square root of the precision, times a curvature of about 1.
    slope = wrap(jax.grad(lambda x: f(x, Z)["y"]))(0.3)
    assert slope == pytest.approx(np.cos(0.3) * 2, rel=1e-7)
    assert (f.tally.values, f.tally.probes) == (1, 1)


def test_a_command_with_a_tangent_and_an_adjoint_is_differentiated_by_them(solver: list[str]) -> None:
    f = foreign_command(solver, ["x", "z"], OUT, tangent=solver, adjoint=solver)
    forward = jax.jacfwd(f, argnums=(0, 1))(0.3, Z)
    reverse = jax.jacrev(f, argnums=(0, 1))(0.3, Z)
    exact = {
        "y": (2 * np.cos(0.3), np.array([np.sin(0.3), 0])),
        "u": (np.array([0.6, 0]), np.array([[0.0, 0], [0, 1]])),
    }
    for jacobian in (forward, reverse):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-15), jacobian, exact)
    assert f.tally.probes == 0


def test_a_command_is_mapped_by_vmap(solver: list[str]) -> None:
    f = foreign_command(solver, ["x", "z"], OUT)
    found = jax.vmap(f, in_axes=(0, None))(jnp.array([0.1, 0.2]), Z)
    np.testing.assert_array_equal(found["y"], [expected(0.1)["y"], expected(0.2)["y"]])


def test_runs_of_a_command_can_be_spread_over_threads(solver: list[str]) -> None:
    with ThreadPoolExecutor(2) as executor:
        f = foreign_command(solver, ["x", "z"], OUT, executor=executor)
        jacobian = jax.jacfwd(lambda z: f(0.3, z)["u"])(Z)
    np.testing.assert_allclose(jacobian, [[0, 0], [0, 1]], atol=1e-7)  # linear: the error is rounding


def test_a_command_has_the_names_of_its_inputs(solver: list[str]) -> None:
    f = foreign_command(solver, ["x", "z"], OUT, name="wing")
    assert list(inspect.signature(f).parameters) == ["x", "z"]
    component = cpx.component(f, "y", "u")
    assert (component.name, [read.name for read in component.inputs]) == ("wing", ["x", "z"])
    assert f(z=Z, x=0.3)["y"] == expected(0.3)["y"]


def test_commands_of_equal_parts_are_equal(solver: list[str]) -> None:
    def build(**options: Any) -> cpx.Foreign:
        return foreign_command(solver, ["x", "z"], OUT, environment={"B": "2", "A": "1"}, **options)

    assert build(tangent=solver) == build(tangent=solver)
    assert hash(build(adjoint=solver)) == hash(build(adjoint=solver))
    assert build() != build(timeout=3.0)


def test_every_bit_of_the_numbers_survives_both_files(tmp_path: Path, rng: np.random.Generator) -> None:
    copy = script(tmp_path, "import shutil, sys; shutil.copy(*sys.argv[1:3])")
    struct = jax.ShapeDtypeStruct((4, 50), jnp.float64)
    numbers = rng.standard_normal((4, 50)) * 10.0 ** rng.integers(-300, 300, (4, 50))
    numbers[0, :4] = [np.inf, -np.inf, 5e-324, -0.0]
    found = foreign_command(copy, ["x"], {"x": struct})(numbers)["x"]
    assert np.asarray(found).tobytes() == numbers.tobytes()


def test_complex_numbers_structures_and_whole_numbers_survive_both_files(tmp_path: Path) -> None:
    copy = script(tmp_path, "import shutil, sys; shutil.copy(*sys.argv[1:3])")
    given = {
        "a": np.array([1 + 2j, 3]),
        "b": (np.array([1, 2]), {"c": np.float32(0.1)}),
        "empty": np.zeros((0, 3)),
    }
    out = jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), x.dtype), given)
    found = foreign_command(copy, ["a", "b", "empty"], out)(*given.values())
    jax.tree.map(np.testing.assert_array_equal, found, given)
    assert found["b"][1]["c"].dtype == np.float32


def test_the_folder_is_removed_after_a_success_and_kept_on_request(solver: list[str], tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    foreign_command(solver, ["x", "z"], OUT, folder=runs)(0.3, Z)
    assert list(runs.iterdir()) == []
    foreign_command(solver, ["x", "z"], OUT, folder=runs, keep=True)(0.3, Z)
    (kept,) = runs.iterdir()
    assert json.loads((kept / "input.json").read_text()) == {"x": 0.3, "z": [2.0, 3.0]}


def test_a_failure_says_what_came_and_keeps_the_folder(solver: list[str], tmp_path: Path) -> None:
    f = foreign_command(solver, ["x", "z"], OUT, folder=tmp_path / "runs", name="wing")
    with pytest.raises(cpx.ForeignError) as caught:
        f(100.0, Z)
    (kept,) = (tmp_path / "runs").iterdir()
    for part in ("`wing` failed", "returned 7", "where 0 means success", "x is too large", str(kept)):
        assert part in str(caught.value)


def test_a_return_code_that_is_allowed_is_a_success(tmp_path: Path) -> None:
    command = script(tmp_path, "import sys; open(sys.argv[2], 'w').write('4.5'); sys.exit(3)")
    assert foreign_command(command, ["x"], jnp.float64, allowed=(0, 3))(1.0) == 4.5
    with pytest.raises(cpx.ForeignError, match="returned 3, where 0 means success"):
        foreign_command(command, ["x"], jnp.float64)(1.0)


def test_a_failed_run_is_tried_again(tmp_path: Path) -> None:
    text = f"""
        import pathlib, sys
        count = pathlib.Path({str(tmp_path / "count")!r})
        tries = int(count.read_text()) + 1 if count.exists() else 1
        count.write_text(str(tries))
        if tries < 3: sys.exit("no licence")
        pathlib.Path(sys.argv[2]).write_text("8.5")
    """
    command = script(tmp_path, text)
    with pytest.raises(cpx.ForeignError, match="no licence"):
        foreign_command(command, ["x"], jnp.float64, retries=1)(1.0)
    (tmp_path / "count").unlink()
    assert foreign_command(command, ["x"], jnp.float64, retries=2)(1.0) == 8.5


def alive(pid_file: Path) -> bool:
    """Returns whether the process whose number is in the file still runs; a zombie does not."""
    state = Path(f"/proc/{pid_file.read_text()}/stat")
    return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


SLOW = "sleep 60 & echo $! > {pid}; trap '' TERM; sleep 60"


def test_the_timeout_stops_the_command_and_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = ["/bin/sh", "-c", SLOW.format(pid=pid)]
    with pytest.raises(cpx.ForeignError, match=r"still running after 0\.5 s"):
        foreign_command(command, ["x"], jnp.float64, timeout=0.5)(1.0)
    assert not alive(pid)


@pytest.mark.parametrize("call", ["f(1.0)", "jax.jit(f)(1.0)"])
def test_an_interrupt_stops_the_command_and_its_children(tmp_path: Path, call: str) -> None:
    pid = tmp_path / "pid"
    program = f"""
        import jax
        import jax.numpy as jnp
        from couplax import foreign_command
        command = ["/bin/sh", "-c", {SLOW.format(pid=pid)!r}]
        f = foreign_command(command, ["x"], jnp.float32, folder={str(tmp_path)!r})
        {call}
    """
    path = os.pathsep.join(sys.path)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not (pid.exists() and pid.read_text()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(0.2)  # The child may be there before the call that starts it has returned.
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in error
    assert not alive(pid)


def test_the_environment_is_added_to_or_replaces_that_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_HERE", "2")
    text = """
        import json, os, sys
        json.dump([int(os.environ.get(k, 0)) for k in ("FROM_HERE", "ADDED")], open(sys.argv[2], "w"))
    """
    out = jax.ShapeDtypeStruct((2,), jnp.int32)
    command = script(tmp_path, text)
    added = foreign_command(command, ["x"], out, environment={"ADDED": "5"})
    replaced = foreign_command(command, ["x"], out, environment={"ADDED": "5"}, inherit=False)
    assert added(1.0).tolist() == [2, 5]
    assert replaced(1.0).tolist() == [0, 5]


def test_files_are_copied_into_the_folder(tmp_path: Path) -> None:
    (tmp_path / "table.txt").write_text("6.25")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "more.txt").write_text("1")
    command = ["/bin/sh", "-c", "test -f data/more.txt && cp table.txt output.json"]
    f = foreign_command(command, ["x"], jnp.float64, files=[tmp_path / "table.txt", tmp_path / "data"])
    assert f(1.0) == 6.25


def test_an_executable_by_a_relative_path_is_found_from_where_it_was_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "solve.sh"
    program.write_text("#!/bin/sh\necho 1.5 > $1\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    f = foreign_command(["./solve.sh", "{output}"], ["x"], jnp.float64)
    monkeypatch.chdir("/")
    assert f(1.0) == 1.5
