"""Every case of a rule with its first axis open: the numbers of JAX, or a refusal that names the size."""

from typing import Any

import jax
import numpy as np
import onnx
import onnxruntime
import pytest

import couplax as cpx
from couplax._struct import with_sizes
from onnx_runtime import in_units, plain_leaves
from rule_cases import Case
from rule_cases.elementwise import CONVERSIONS, ELEMENTWISE
from rule_cases.indexing import INDEXING
from rule_cases.linear import LINEAR
from rule_cases.random import RANDOM
from rule_cases.reductions import REDUCTIONS
from rule_cases.shapes import SHAPES
from rule_cases.windows import CONVOLUTIONS, WINDOWS

# Factorisations run for so many steps as there are columns, and windows have to know whether any lies inside.
REFUSED = {
    "cholesky of an indefinite matrix",
    "complete qr",
    "gradients of grouped convolutions",
    "lu",
    "lu of a singular matrix",
    "no window inside",
    "qr",
    "qr of 12",
    "raw qr",
    "reduction by a function",
    "reflections, left=True transposed=False",
    "reflections, left=True transposed=True",
}

FAMILIES = (
    *ELEMENTWISE,
    *CONVERSIONS,
    *SHAPES,
    *REDUCTIONS,
    *LINEAR,
    *INDEXING,
    *RANDOM,
    *CONVOLUTIONS,
    *WINDOWS,
)

# A generator's state has four words, whatever the batch.
FIXED = {"bits of the other generator"}
TABLE = [case for case in FAMILIES if case.name not in FIXED]


def opened(args: tuple[Any, ...]) -> list[Any]:
    """Returns structs of `args` with `n` for the size of the first axis, in each first axis that has it."""
    size = np.shape(args[0])[:1]
    return [_struct(value, size) for value in args]


def _struct(value: Any, size: tuple[int, ...]) -> Any:
    struct = jax.eval_shape(lambda x: x, value)
    if not size or struct.shape[:1] != size:
        return struct
    return jax.ShapeDtypeStruct(("n", *struct.shape[1:]), struct.dtype)


def check_traced(case: Case, structs: list[Any]) -> None:
    """Returns nothing; skips the case where JAX itself has to have an integer."""
    try:
        jax.make_jaxpr(case.fn)(*with_sizes(structs))
    except Exception as error:  # JAX has no one class for it
        pytest.skip(f"JAX does not trace it with an open size: {type(error).__name__}")


@pytest.mark.long_table(8)
@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_a_rule_serves_an_open_size_or_says_that_it_does_not(case: Case) -> None:
    args = case.args(case.dtypes[0])
    structs = opened(args)
    check_traced(case, structs)
    proto = written(case, structs)
    if isinstance(proto, str):
        assert ("`n` is in the way" in proto, "_DimExpr" in proto, case.name in REFUSED) == (
            True,
            False,
            True,
        )
        return
    came = run(proto, plain_leaves(args))
    with np.errstate(all="ignore"):
        wanted = plain_leaves(jax.jit(case.fn)(*args))
    pairs = zip(came, wanted, strict=True)
    assert not [fault for pair in pairs if (fault := in_units(*pair, case.units, whole=case.whole))]


def written(case: Case, structs: list[Any]) -> onnx.ModelProto | str:
    """Returns the file, or the words with which it is refused."""
    try:
        return cpx.to_onnx(case.fn, *structs, verify=False)
    except cpx.ExportError as error:
        return str(error)


def run(proto: onnx.ModelProto, args: list[np.ndarray]) -> list[np.ndarray]:
    """Returns what ONNX Runtime gives; of constants that nothing reads it only warns."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [entry.name for entry in session.get_inputs()]
    return [np.asarray(value) for value in session.run(None, dict(zip(names, args, strict=True)))]
