"""Tracing, with what JAX raises where a shape cannot be known told in a few words."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jec

from couplax._errors import StageError
from couplax._sizes import is_open
from couplax._source import where_raised

_VALUE_ERRORS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
)


def traced(fn: Callable[..., Any], args: Sequence[Any]) -> tuple[jec.ClosedJaxpr, Any]:
    """Returns the jaxpr of `fn` at `args`, and the structure of its result in structs.

    Raises:
        StageError: a shape or a branch of Python depends on values, or on a size that is open.
    """
    try:
        return jax.make_jaxpr(fn, return_shape=True)(*args)
    except _VALUE_ERRORS as error:
        raise _depends_on_values(error) from error
    except jax.errors.InconclusiveDimensionOperation as error:
        raise _depends_on_sizes(error) from error
    except (TypeError, NotImplementedError) as error:
        told = _told(error, args)
        if told is None:
            raise
        raise told from error


def _told(error: Exception, args: Sequence[Any]) -> StageError | None:
    """Returns what is told of an error of JAX or Python that is no class of its own; None of another one."""
    if "sequences of concrete values" in str(error):
        return _depends_on_values(error)
    return _depends_on_sizes(error) if _names_size(error) and _has_open_sizes(args) else None


def _has_open_sizes(args: Sequence[Any]) -> bool:
    return any(is_open(getattr(leaf, "shape", ())) for leaf in jax.tree.leaves(args))


def _names_size(error: Exception) -> bool:
    """Returns whether Python or JAX tells of a symbolic size in a place where an integer has to be."""
    return "_DimExpr" in str(error) or "dim_as_value" in str(error)


def _depends_on_values(error: Exception) -> StageError:
    return StageError(
        f"A shape or a branch depends on values that only a run gives, at {where_raised(error)}: "
        f"{_first_line(error)}\nKeep shapes fixed, with `jnp.where` or `size=` (`jnp.nonzero(x, size=4)`), "
        "and choose with `jnp.where` or `jax.lax.cond`."
    )


def _depends_on_sizes(error: Exception) -> StageError:
    return StageError(
        f"The program is not the same for every size, at {where_raised(error)}: {_first_line(error)}\n"
        "Give that axis an integer for its size, or write code that no open size decides."
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].replace("'_DimExpr' object", "a symbolic size")
