"""A function as the targets of StableHLO take it: staged, on flat arrays, with its gradient."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp

from couplax._errors import ExportError
from couplax.export._given import staged_for_export
from couplax.export._host_calls import refuse_host_calls
from couplax.export._portable import LIBRARY_CALLS, PASSING_CALLS, portable
from couplax.stage import Staged, stage

Struct = jax.ShapeDtypeStruct


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A staged function.

    Attributes:
        forward: from the flat inputs to the flat outputs.
        reverse: from the flat inputs and the cotangents of the outputs that have any, to the cotangents of
            the inputs that have any; None where no gradient was asked for.
        in_tree: the structure of the arguments; `out_tree`: that of the result, in a pair with the
            status where there is one.
        meanings: what each status means; nothing where there is none.
    """

    forward: jec.ClosedJaxpr
    reverse: jec.ClosedJaxpr | None
    in_tree: Any
    out_tree: Any
    meanings: tuple[str, ...]

    @property
    def inputs(self) -> list[Struct]:
        """The structs of the flat inputs."""
        return structs_of(self.forward.in_avals)

    @property
    def outputs(self) -> list[Struct]:
        """The structs of the flat outputs."""
        return structs_of(self.forward.out_avals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of a program.

    Attributes:
        target: the word for it in messages.
        failures: what becomes of run-time checks.
        gradients: whether the program of the gradient is wanted too.
        portable: whether all calls of LAPACK are written out.
    """

    target: str
    failures: Any = None
    gradients: bool = False
    portable: bool = False


def program_of(fn: Callable[..., Any], args: Sequence[Any], wanted: Wanted) -> Program:
    """Returns `fn` at `args` staged, with its gradient where that is wanted.

    Raises:
        MissingRuleError: it calls foreign code that no JAX function stands for.
        ExportError: it returns no array, calls the host, or has no gradient.
        StageError: it cannot be staged; `failures` is unknown.
    """
    staged = staged_for_export(fn, args, failures=wanted.failures)
    if not staged.results:
        raise ExportError(
            f"The function returns no array, and {wanted.target} has an output. Return a value."
        )
    return Program(
        forward=_fit(staged.jaxpr, wanted),
        reverse=_fit(_reverse(fn, staged, wanted), wanted) if wanted.gradients else None,
        in_tree=staged.in_tree,
        out_tree=staged.out_tree,
        meanings=staged.meanings,
    )


def has_cotangent(value: Any) -> bool:
    """Returns whether `value`, with a dtype, is of numbers that have derivatives."""
    return jnp.issubdtype(value.dtype, jnp.inexact)


def structs_of(avals: Sequence[Any]) -> list[Struct]:
    """Returns the structs of `avals`."""
    return [Struct(aval.shape, aval.dtype) for aval in avals]


def _fit(closed: jec.ClosedJaxpr, wanted: Wanted) -> jec.ClosedJaxpr:
    refuse_host_calls(closed, wanted.target)
    return portable(closed, LIBRARY_CALLS if wanted.portable else PASSING_CALLS)


def _reverse(fn: Callable[..., Any], staged: Staged, wanted: Wanted) -> jec.ClosedJaxpr:
    inputs, outputs = structs_of(staged.jaxpr.in_avals), structs_of(staged.results)
    moving = [index for index, struct in enumerate(inputs) if has_cotangent(struct)]

    def pulled(flat: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
        def smooth(values: Sequence[Any]) -> list[Any]:
            full = list(flat)
            for index, value in zip(moving, values, strict=True):
                full[index] = value
            result = jax.tree.leaves(fn(*jax.tree.unflatten(staged.in_tree, full)))
            return [value for value, struct in zip(result, outputs, strict=True) if has_cotangent(struct)]

        return jax.vjp(smooth, [flat[index] for index in moving])[1](list(cotangents))[0]

    cotangents = [struct for struct in outputs if has_cotangent(struct)]
    # The status is the function's; its derivative has none of its own.
    failures = "ignore" if staged.meanings else wanted.failures
    try:
        return stage(pulled, inputs, cotangents, failures=failures).jaxpr
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ExportError(
            f"`gradients=True` asks for the gradient, which this function does not have: {error}"
        ) from error
