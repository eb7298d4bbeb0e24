"""Programs of the table to TensorFlow and StableHLO: one of each family, with `--whole-table` all of them."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import pytest

from couplax.export import from_stablehlo, to_stablehlo, to_tensorflow
from couplax.stage import Staged, stage
from differences import difference
from programs import FAMILIES, Program, in_dtype

pytest.importorskip("tensorflow", reason="the extra `tensorflow` is not installed")

# They bring loops in loops, factorisations, random numbers, events and derivatives.
CHOSEN = (
    "Tsit5 adaptive",
    "Kvaerno3",
    "UnsafeBrownianPath",
    "SaveAt ts given",
    "event with Newton",
    "neural ODE, weights given",
    "gradient, RecursiveCheckpointAdjoint",
    "root, Bisection",
    "Lineax of a Jacobian",
    "Sellar, gradient",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives the tests the programs that were asked for, with their families in their names."""
    if "program" in metafunc.fixturenames:
        whole = metafunc.config.getoption("--whole-table")
        table = [(family, each) for family, programs in FAMILIES.items() for each in programs]
        chosen = {
            f"{family}-{each.name}": each for family, each in table if whole or each.name.startswith(CHOSEN)
        }
        metafunc.parametrize("program", chosen.values(), ids=list(chosen))


def flat(program: Program, args: Any) -> Staged:
    """Returns `program` staged from flat arrays to flat arrays, as every target takes and gives them."""
    leaves, tree = jax.tree.flatten(args)
    return stage(lambda *values: jax.tree.leaves(program.fn(*jax.tree.unflatten(tree, values))), *leaves)


def faults(written: Any, program: Program, trials: Sequence[Any]) -> list[str]:
    """Returns where what was written differs from JAX, on each of `trials`."""
    jitted = jax.jit(lambda *args: program.fn(*args))
    pairs = [
        pair
        for trial in trials
        for pair in zip(written(*jax.tree.leaves(trial)), jax.tree.leaves(jitted(*trial)), strict=True)
    ]
    return [
        fault
        for came, wanted in pairs
        if (fault := difference(np.asarray(came), np.asarray(wanted), program.tolerance, whole=True))
    ]


@pytest.mark.long_table(2)
def test_tensorflow_and_stablehlo_give_the_numbers_of_jax(program: Program) -> None:
    trials = [in_dtype(args, np.float64) for args in (program.args, program.moved)]
    staged, leaves = flat(program, trials[0]), jax.tree.leaves(trials[0])
    assert faults(to_tensorflow(staged, *leaves), program, trials) == []
    assert faults(from_stablehlo(to_stablehlo(staged, *leaves)), program, trials) == []
