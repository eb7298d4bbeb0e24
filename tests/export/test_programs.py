"""The table of programs in ONNX Runtime against JAX: in float64 to rounding, steps and events included."""

from typing import Any

import diffrax
import jax
import lineax
import numpy as np
import onnx
import onnxruntime
import optimistix
import pytest

from couplax.export import to_onnx
from differences import difference
from programs import FAMILIES, PROGRAMS, Program, in_dtype
from programs._program import SINGLE

LIBRARIES = (
    (diffrax, diffrax.AbstractSolver),
    (optimistix, optimistix.AbstractRootFinder),
    (optimistix, optimistix.AbstractFixedPointSolver),
    (optimistix, optimistix.AbstractLeastSquaresSolver),
    (optimistix, optimistix.AbstractMinimiser),
    (lineax, lineax.AbstractLinearSolver),
)

# `OptaxMinimiser` needs optax, which is no dependency of couplax; `NormalCG` is a name for `Normal(CG)`.
LEFT_OUT = {"OptaxMinimiser", "NormalCG"}


def named(*, single: bool = False) -> list[Any]:
    """Returns the programs of the table, or those compared in float32, with their families in their names."""
    return [
        pytest.param(program, id=f"{family}-{program.name}")
        for family, programs in FAMILIES.items()
        for program in programs
        if program.single or not single
    ]


def run(proto: onnx.ModelProto, *trials: tuple[Any, ...]) -> list[list[np.ndarray]]:
    """Returns what ONNX Runtime gives on each of `trials`."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [entry.name for entry in session.get_inputs()]
    feeds = [dict(zip(names, jax.tree.leaves(trial), strict=True)) for trial in trials]
    return [[np.asarray(output) for output in session.run(None, feed)] for feed in feeds]


def faults(program: Program, dtype: Any, tolerance: float) -> list[str]:
    """Returns where the file and JAX differ, on the example and moved from it; nothing if nowhere."""
    trials = [in_dtype(args, dtype) for args in (program.args, program.moved)]
    jitted = jax.jit(lambda *args: program.fn(*args))
    wanted = [[np.asarray(value) for value in jax.tree.leaves(jitted(*trial))] for trial in trials]
    if all(np.array_equal(*pair, equal_nan=True) for pair in zip(*wanted, strict=True)):
        return ["the moved arguments move no output: the trial shows nothing"]
    came = run(to_onnx(program.fn, *trials[0], verify=False), *trials)
    return [
        f"trial {trial}, output {number}: {fault}"
        for trial in range(len(trials))
        for number, pair in enumerate(zip(came[trial], wanted[trial], strict=True))
        if (fault := difference(*pair, tolerance, whole=True))
    ]


@pytest.mark.long_table(8)
@pytest.mark.parametrize("program", named())
def test_the_file_gives_the_numbers_of_jax(program: Program) -> None:
    assert faults(program, np.float64, program.tolerance) == []


@pytest.mark.long_table(8)
@pytest.mark.parametrize("program", named(single=True))
def test_the_file_gives_the_numbers_of_jax_in_single_precision(program: Program) -> None:
    with jax.enable_x64(False):
        assert faults(program, np.float32, SINGLE) == []


def solvers() -> set[type]:
    """Returns every solver that Diffrax, Optimistix and Lineax have, base classes apart."""
    found = {
        each
        for library, base in LIBRARIES
        for name, each in vars(library).items()
        if isinstance(each, type) and issubclass(each, base) and not name.startswith("Abstract")
    }
    return {each for each in found if each.__name__ not in LEFT_OUT}


def test_every_solver_of_diffrax_optimistix_and_lineax_is_in_the_table() -> None:
    shown = {solver for program in PROGRAMS for solver in program.shows}
    assert solvers() - shown == set()


def test_the_names_of_the_programs_are_their_own() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names)) >= 60


def test_a_wrong_number_is_told() -> None:
    right = np.array([1.0, np.nan, 1e-3])
    near = right + np.array([0, 0, 1e-5])
    assert difference(right, right, 0.0) == difference(near, right, 1e-4, whole=True) == ""
    assert difference(near, right, 1e-4).startswith("at [2]: ")
    assert difference(np.zeros(3), right, 1e-4).startswith("at [0]: ")
    assert "JAX" in difference(np.array([1, 2]), np.array([1, 3]), 1e-4)
    assert "float32" in difference(right.astype(np.float32), right, 1.0)
