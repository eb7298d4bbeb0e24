"""Every ONNX rule: exported, checked, run in ONNX Runtime, compared with JAX, on edge values too."""

from typing import Any

import jax
import jax.extend.core as jec
import numpy as np
import pytest

from couplax.export import ONNX_RULES
from couplax.export._plain import plain
from couplax.stage import stage
from onnx_runtime import faults
from rule_cases import Case
from rule_cases.complex_numbers import COMPLEX, FOURIER, LINEAR_COMPLEX
from rule_cases.elementwise import CONVERSIONS, ELEMENTWISE
from rule_cases.indexing import INDEXING
from rule_cases.linear import LINEAR
from rule_cases.random import RANDOM
from rule_cases.reductions import REDUCTIONS
from rule_cases.shapes import SHAPES
from rule_cases.special import SPECIAL
from rule_cases.spectral import SPECTRAL
from rule_cases.windows import CONVOLUTIONS, WINDOWS

TABLE = (
    *ELEMENTWISE,
    *CONVERSIONS,
    *SHAPES,
    *REDUCTIONS,
    *LINEAR,
    *INDEXING,
    *RANDOM,
    *CONVOLUTIONS,
    *WINDOWS,
    *COMPLEX,
    *FOURIER,
    *LINEAR_COMPLEX,
    *SPECTRAL,
    *SPECIAL,
)
CASES = {case.name: case for case in TABLE}
PARAMS = [
    pytest.param(case, dtype, id=f"{case.name}-{np.dtype(dtype).name}")
    for case in CASES.values()
    for dtype in case.dtypes
]


@pytest.mark.parametrize(("case", "dtype"), PARAMS)
def test_a_rule_gives_what_jax_gives(case: Case, dtype: Any) -> None:
    assert not faults(case.fn, *case.args(dtype), units=case.units, whole=case.whole)


def primitives(jaxpr: Any) -> set[str]:
    """Returns the names of the primitives of a jaxpr and of those inside it."""
    found = {eqn.primitive.name for eqn in jaxpr.eqns}
    return found.union(
        *(
            primitives(getattr(sub, "jaxpr", sub))
            for e in jaxpr.eqns
            for sub in jec.jaxprs_in_params(e.params)
        )
    )


# Their own tests are in test_control.py.
LOOPS_AND_BRANCHES = {"cond", "while", "scan"}
# Its own tests are in test_symbolic.py.
SIZES = {"dim_as_value"}
# Primitives that JAX 0.10 does not have.
NEW = {"log2", "polynomial", "tile", "unstack", "one_minus_square", "empty"}


def test_every_rule_has_a_case() -> None:
    seen: set[str] = set()
    assert len(CASES) == len(TABLE)
    for case in TABLE:
        seen |= primitives(plain(stage(case.fn, *case.args(case.dtypes[0])).jaxpr).jaxpr)
    missing = set(ONNX_RULES) - seen - LOOPS_AND_BRANCHES - SIZES
    assert missing <= (NEW if jax.__version_info__ < (0, 12) else set())
