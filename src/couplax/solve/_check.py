"""A check inside a program: it raises where something failed, under every transformation.

`solve_check_p` takes whether something failed, and what is to be told of it. It is 1 in each lane of a `vmap`
where nothing failed in any; what is multiplied by it, tangents included, cannot be had without the check.
Where something failed it raises, outside compiled programs at once, inside by a callback, which runs only
then.

Under `vmap` each operand has an axis of lanes in front, of size 1 where it is shared.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.core
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from couplax._errors import keep_error

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Which lane is told of, and out of how many.

    Attributes:
        index: its place along each axis of lanes; none outside a `vmap`.
        failed: how many lanes failed; `lanes`: how many there are.
    """

    index: tuple[int, ...]
    failed: int
    lanes: int


class AbstractReport(ABC):
    """What is told of a failure; equal and hashed by its parts, since programs are compiled with it."""

    @property
    @abstractmethod
    def meanings(self) -> tuple[str, ...]:
        """What failures there are, in words that need no numbers."""

    @abstractmethod
    def which(self, leaves: Sequence[Any]) -> Any:
        """Returns which of the meanings is the first to be told, from JAX arrays that the check was given."""

    @abstractmethod
    def error(self, leaves: Sequence[Array], lane: Lane, *, compiled: bool) -> Exception:
        """Returns the exception to raise, from what the check was given, of the first lane that failed.

        Args:
            compiled: whether a compiled program is running, so that no JAX may be used.
        """


solve_check_p = jec.Primitive("solve_check")
_raise_p = jec.Primitive("solve_raise")


def passed(failed: Any, leaves: Sequence[Any], report: AbstractReport) -> Any:
    """Returns 1, and raises where `failed`.

    Args:
        leaves: arrays that the report is made of.
    """
    return solve_check_p.bind(failed, *leaves, report=report)


def tied(values: Any, one: Any) -> Any:
    """Returns `values`, a pytree, times the 1 of a check, so that none of its arrays is had without it."""
    return jax.tree.map(lambda value: _tied(value, one), values)


def _tied(value: Any, one: Any) -> Any:
    if not isinstance(value, jax.Array | np.ndarray) or jax.dtypes.issubdtype(
        value.dtype, jax.dtypes.extended
    ):
        return value
    if jnp.issubdtype(value.dtype, jnp.inexact):
        return value * one.astype(value.dtype)
    # Where a failure becomes NaN, integers and booleans become zero.
    return jnp.where(jnp.isnan(one), jnp.zeros_like(value), value)


@solve_check_p.def_abstract_eval
def _check_aval(failed: Any, *leaves: Any, report: AbstractReport) -> Any:
    return jax.core.ShapedArray(failed.shape, np.dtype(np.float32))


@_raise_p.def_abstract_eval
def _raise_aval(failed: Any, *leaves: Any, report: AbstractReport) -> Any:
    return jax.core.ShapedArray((), np.dtype(np.float32))


@solve_check_p.def_impl
def _check_now(failed: Any, *leaves: Any, report: AbstractReport) -> Any:
    if np.any(np.asarray(failed)):
        raise _error(report, [np.asarray(array) for array in (failed, *leaves)], compiled=False)
    return jnp.ones(np.shape(failed), jnp.float32)


def _error(report: AbstractReport, arrays: Sequence[Array], *, compiled: bool) -> Exception:
    """Returns the exception for the first lane that failed."""
    failed, *leaves = arrays
    index = tuple(int(place) for place in np.argwhere(failed)[0])
    lane = Lane(index=index, failed=int(failed.sum()), lanes=failed.size)
    return report.error([_of_lane(leaf, index) for leaf in leaves], lane, compiled=compiled)


def _of_lane(leaf: Array, index: tuple[int, ...]) -> Array:
    shared = leaf.shape[: len(index)]
    return leaf[tuple(min(place, size - 1) for place, size in zip(index, shared, strict=True))]


def _check_compiled(failed: Any, *leaves: Any, report: AbstractReport) -> Any:
    one = jax.lax.cond(
        jnp.any(failed),
        lambda *operands: _raise_p.bind(*operands, report=report),
        lambda *_: jnp.ones((), jnp.float32),
        failed,
        *leaves,
    )
    return jnp.broadcast_to(one, failed.shape)


def _raise_lowering(context: Any, *operands: Any, report: AbstractReport) -> Any:
    def run(*arrays: Any) -> tuple[Any, ...]:
        error = _error(report, [np.array(array) for array in arrays], compiled=True)
        # Compiled code keeps the text alone: couplax's own boundaries raise this one.
        keep_error(error)
        raise error

    results, _, _ = mlir.emit_python_callback(
        context,
        run,
        None,
        list(operands),
        context.avals_in,
        context.avals_out,
        has_side_effect=False,
        returns_token=False,
    )
    return results


mlir.register_lowering(solve_check_p, mlir.lower_fun(_check_compiled, multiple_results=False))
mlir.register_lowering(_raise_p, _raise_lowering)


def _check_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, report: AbstractReport) -> tuple[Any, Any]:
    one = solve_check_p.bind(*primals, report=report)
    return one, ad.Zero(jax.typeof(one).to_tangent_aval())


def _check_batched(
    operands: Sequence[Any], axes: Sequence[int | None], *, report: AbstractReport
) -> tuple[Any, int | None]:
    pairs = zip(operands, axes, strict=True)
    fronted = [jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in pairs]
    one = solve_check_p.bind(*fronted, report=report)
    return (jnp.squeeze(one, 0), None) if axes[0] is None else (one, 0)


ad.primitive_jvps[solve_check_p] = _check_jvp
batching.primitive_batchers[solve_check_p] = _check_batched
