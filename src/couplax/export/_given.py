"""What an export is given: a function and arguments that fit it, or a short message."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from couplax._errors import ExportError
from couplax._tree import describe
from couplax.export._names import argument_names
from couplax.stage import Staged, stage


def staged_for_export(fn: Callable[..., Any], args: Sequence[Any], *, failures: Any) -> Staged:
    """Returns `fn` at `args` staged, once both are found to be what an export can take.

    Raises:
        ExportError: `fn` is no function; an argument is no array, or does not fit; an
            array that `fn` closes over holds NaN.
        StageError: it cannot be staged.
    """
    _check_function(fn, args)
    for name, value in zip(argument_names(fn, args), jax.tree.leaves(tuple(args)), strict=True):
        _check_argument(name, value)
    staged = stage(fn, *args, failures=failures)
    _check_closed_over(staged)
    return staged


def _check_function(fn: Any, args: Sequence[Any]) -> None:
    if not callable(fn):
        raise ExportError(
            f"A function is wanted first, then its arguments; what came first is {_shown(fn)} of type "
            f"{type(fn).__name__}."
        )
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        raise ExportError(
            f"The function takes {signature}, and {len(args)} positional arguments do not fit it: {error}."
        ) from error


def _check_argument(name: str, value: Any) -> None:
    if isinstance(value, jax.core.Tracer):
        raise ExportError(
            f"Argument `{name}` is being traced: an export cannot stand inside `jax.jit`, `grad` or `vmap`. "
            "Export outside, at an array or a struct."
        )
    dtype = getattr(value, "dtype", None)
    if dtype is None and not isinstance(value, bool | int | float | complex):
        raise ExportError(
            f"Argument `{name}` is {_shown(value)} of type {type(value).__name__}; an array, a number or a "
            "struct is wanted."
        )
    if not jax.config.read("jax_enable_x64"):
        _check_narrowed(name, value)


def _check_narrowed(name: str, value: Any) -> None:
    """Returns nothing; raises where `value` is not what it was once JAX has made it 32 bits wide."""
    advice = "`jax.config.update('jax_enable_x64', True)` keeps 64 bits"
    if isinstance(value, jax.ShapeDtypeStruct):
        narrow = jax.dtypes.canonicalize_dtype(value.dtype) if _is_numeric(value.dtype) else value.dtype
        if narrow != value.dtype:
            raise ExportError(
                f"Argument `{name}` is a struct of {np.dtype(value.dtype).name}, and JAX computes in "
                f"{narrow.name} here: {advice}; else ask for {narrow.name}."
            )
    elif not isinstance(value, jax.Array) and not _fits_in_32_bits(np.asarray(value)):
        raise ExportError(
            f"Argument `{name}` holds numbers beyond what 32 bits hold, and JAX makes it 32 bits wide here: "
            f"{advice}."
        )


def _is_numeric(dtype: Any) -> bool:
    return not jax.dtypes.issubdtype(dtype, jax.dtypes.extended)


def _fits_in_32_bits(array: np.ndarray) -> bool:
    narrow = jax.dtypes.canonicalize_dtype(array.dtype) if array.dtype.kind in "iufc" else array.dtype
    if narrow == array.dtype:
        return True
    if narrow.kind in "iu":
        limits = np.iinfo(narrow)
        return bool(((array >= limits.min) & (array <= limits.max)).all())
    with np.errstate(over="ignore"):
        return bool((np.isfinite(array.astype(narrow)) | ~np.isfinite(array)).all())


def _check_closed_over(staged: Staged) -> None:
    """Returns nothing; raises where an array that the function closes over holds NaN among numbers."""
    for array in map(np.asarray, filter(_is_inexact, staged.closed_over)):
        bad = np.argwhere(np.isnan(array))
        if 0 < len(bad) < array.size:
            more = f" and {len(bad) - 1} places more" if len(bad) > 1 else ""
            raise ExportError(
                f"An array that the function closes over, {describe(array)}, holds NaN at {bad[0].tolist()}"
                f"{more}, and would go into the file so. Mend the array, or pass it as an argument."
            )


def _is_inexact(array: Any) -> bool:
    return jnp.issubdtype(array.dtype, jnp.inexact)


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 60 else f"{text[:57]}..."
