"""A JAX function in ONNX Runtime against JAX itself: where the numbers differ, in units in the last place."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime

from couplax.export import to_onnx
from couplax.export._plain import parts_of
from couplax.export._runtime import run
from differences import difference


def outputs_of(fn: Callable[..., Any], *args: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Returns what ONNX Runtime and what JAX give for `fn` at `args`, complex numbers and keys in parts."""
    proto = to_onnx(fn, *args, verify=False)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    came = run(session, plain_leaves(args))
    with np.errstate(all="ignore"):
        wanted = plain_leaves(jax.jit(lambda *values: fn(*values))(*args))
    return came, wanted


def plain_leaves(tree: Any) -> list[np.ndarray]:
    """Returns the arrays of a pytree, complex numbers and keys in parts."""
    return [np.asarray(part) for value in jax.tree.leaves(tree) for part in parts_of(value)]


def faults(fn: Callable[..., Any], *args: Any, units: float = 0, whole: bool = False) -> list[str]:
    """Returns where ONNX Runtime and JAX differ by more than `units` in the last place; nothing if nowhere.

    Args:
        whole: the units are those of the largest magnitude of each output, as for sums of many terms.
    """
    came, wanted = outputs_of(fn, *args)
    assert len(came) == len(wanted)
    found = [in_units(*pair, units, whole=whole) for pair in zip(came, wanted, strict=True)]
    return [f"output {number}: {fault}" for number, fault in enumerate(found) if fault]


def in_units(came: np.ndarray, wanted: np.ndarray, units: float, *, whole: bool = False) -> str:
    """Returns where `came` is not `wanted` to `units` in the last place; nothing where it is."""
    floats = jnp.issubdtype(wanted.dtype, jnp.floating)
    return difference(came, wanted, units * float(jnp.finfo(wanted.dtype).eps) if floats else 0, whole=whole)
