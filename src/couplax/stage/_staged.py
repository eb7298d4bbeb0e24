"""`stage`: from a JAX function to a program of JAX's own operations on its inputs alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import jax
import jax.extend.core as jec
import jax.numpy as jnp

from couplax._errors import StageError, quoted
from couplax._sizes import size_at, solved, symbols_in
from couplax._struct import with_sizes
from couplax._tree import describe
from couplax.stage._closed_over import closed_over
from couplax.stage._finalise import Failures, finalise
from couplax.stage._interpret import count_equations
from couplax.stage._possible import possible
from couplax.stage._simplify import simplify
from couplax.stage._sized import at_sizes
from couplax.stage._specialise import specialise
from couplax.stage._status import collected
from couplax.stage._summary import Stage, stage_of, summarise
from couplax.stage._traced import traced

ROUNDS = 5
"""The passes that make a program smaller are repeated until it stays as it is, at most so many times."""


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False)
class Staged:
    """A staged program; called like the function that it was made from, and a function for `jax.jit` too.

    Attributes:
        fn: what was staged, whose names the program bears where it is exported.
        jaxpr: the program, from flat inputs to flat outputs.
        in_tree: the structure of the positional arguments; `out_tree`: that of the result.
        stages: what each pass left.
        meanings: where the program was staged with `failures="status"` and so gives a pair of the result and
            a status, what each status means, 0 first; else nothing.
        failures: what became of run-time checks.
        closed_over: the arrays that the function closes over.
    """

    fn: Callable[..., Any]
    jaxpr: jec.ClosedJaxpr
    in_tree: Any
    out_tree: Any
    stages: tuple[Stage, ...]
    meanings: tuple[str, ...] = ()
    failures: Failures = "nan"
    closed_over: tuple[Any, ...] = ()

    def __call__(self, *args: Any) -> Any:
        """Returns what the original function returns on `args`, in a pair with the status where there is one.

        Raises:
            StageError: `args` do not have the structure or shapes that the program was staged for.
        """
        flat, tree = jax.tree.flatten(args)
        avals = self.jaxpr.in_avals
        symbols = self._symbols(flat)
        have = [describe(value) for value in flat]
        want = [describe(jax.ShapeDtypeStruct(_shape_at(aval.shape, symbols), aval.dtype)) for aval in avals]
        if tree != self.in_tree or have != want:
            raise StageError(
                f"This program was staged for {self.in_tree} of ({', '.join(want)}), and came to be called "
                f"with {tree} of ({', '.join(have)}). Stage it again for these arguments."
            )
        program = at_sizes(self.jaxpr, frozenset(symbols.items())) if symbols else self.jaxpr
        return jax.tree.unflatten(self.out_tree, jec.jaxpr_as_fun(program)(*flat))

    def _symbols(self, flat: Sequence[Any]) -> dict[str, int]:
        """Returns what the shapes of `flat` make of the names of sizes, as far as they fit."""
        shapes = [
            (aval.shape, jnp.shape(value)) for aval, value in zip(self.jaxpr.in_avals, flat, strict=False)
        ]
        return solved([pair for wanted, came in shapes for pair in zip(wanted, came, strict=False)])

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """Where `inspect` reads the names of the parameters."""
        return self.fn

    def is_for(self, args: Sequence[Any]) -> bool:
        """Returns whether the program was staged for arguments of just these types."""
        flat, tree = jax.tree.flatten(tuple(args))
        structs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in self.jaxpr.in_avals]
        return tree == self.in_tree and [*map(describe, flat)] == [*map(describe, structs)]

    @property
    def results(self) -> list[Any]:
        """The types of what the original function returns, without the status."""
        avals = list(self.jaxpr.out_avals)
        return avals[:-1] if self.meanings else avals

    @property
    def statuses(self) -> dict[int, str]:
        """What each status means that can occur: a library's checks bring whole lists of messages."""
        told = dict(enumerate(self.meanings))
        known = possible(self.jaxpr)[-1] if told else None
        return told if known is None else {code: told[code] for code in sorted({0, *known} & told.keys())}

    def summary(self) -> str:
        """Returns what each pass left, how much of it was known, and the loops that remain."""
        return summarise(self.stages, self.jaxpr)


def stage(fn: Callable[..., Any], *args: Any, failures: Failures | None = None) -> Staged:
    """Returns `fn` at `args` as a program that is finalised, specialised and simplified.

    Finalised: what libraries wrap for transformations is unwrapped. Specialised: what depends on no input is
        computed.
    Simplified: dead and repeated code is gone.

    Args:
        fn: any JAX function of positional arguments. A program that is staged for these arguments already is
            taken as it is.
        args: arrays, Python numbers or structs, or pytrees of them; only shapes and dtypes matter. A struct
            is a `jax.ShapeDtypeStruct` or a `couplax.struct`, and may have names for sizes.
        failures: what becomes of run-time checks such as `eqx.error_if`: `"nan"`, the default, makes the
            result NaN where one fires, `"ignore"` drops them, and with `"status"` the program gives a pair:
            the result, and an integer that is 0, or says which check fired first (`Staged.meanings`). What
            is staged already stays as it was staged.

    Raises:
        StageError: a primitive wraps code that cannot be traced; a shape depends on values, or on a size
            that is open; the function closes over what is being traced; `failures` is none of these, or not
            what the program was staged with.
    """
    failures = _wanted(fn, failures)
    args = with_sizes(args)
    if isinstance(fn, Staged) and fn.is_for(args):
        return fn
    closed, shape = traced(fn, args)
    arrays = closed_over(closed)
    finalised, meanings = finalise(closed, failures=failures), ()
    if failures == "status":
        finalised, meanings = collected(finalised)
        shape = (shape, 0)
    _checked("finalised", finalised)
    specialised = _checked("specialised", specialise(finalised))
    simplified = _settled(_checked("simplified", simplify(specialised)))
    programs = {
        "traced": closed,
        "finalised": finalised,
        "specialised": specialised,
        "simplified": simplified,
    }
    return Staged(
        fn=fn,
        jaxpr=simplified,
        in_tree=jax.tree.structure(args),
        out_tree=jax.tree.structure(shape),
        stages=tuple(stage_of(name, program) for name, program in programs.items()),
        meanings=meanings,
        failures=failures,
        closed_over=arrays,
    )


def _wanted(fn: Callable[..., Any], failures: Failures | None) -> Failures:
    """Returns what is to become of run-time checks, which for a staged program is settled."""
    settled = fn.failures if isinstance(fn, Staged) else None
    if failures is None:
        return settled or "nan"
    if failures not in get_args(Failures):
        raise StageError(f"failures={failures!r} is not known. Choose one of {quoted(get_args(Failures))}.")
    if settled not in (None, failures):
        raise StageError(
            f'This program was staged with failures="{settled}", and its checks are so by now; '
            f'failures="{failures}" came. Leave it out, or stage the function itself again.'
        )
    return failures


def _shape_at(shape: Sequence[Any], symbols: Mapping[str, int]) -> tuple[Any, ...]:
    """Returns `shape` with integers for the sizes that `symbols` gives."""
    return tuple(size_at(size, symbols) if symbols_in(size).issubset(symbols) else size for size in shape)


def _settled(closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    """Returns `closed` once another round of the passes makes it no smaller."""
    for _ in range(ROUNDS):
        specialised = _checked("specialised", specialise(closed))
        again = _checked("simplified", simplify(specialised))
        if count_equations(again.jaxpr) == count_equations(closed.jaxpr):
            break
        closed = again
    return closed


def _checked(name: str, closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    try:
        jec.check_jaxpr(closed.jaxpr)
    except jec.JaxprTypeError as error:
        raise StageError(
            f"The program that was {name} does not type-check, a fault of couplax: {error}"
        ) from error
    return closed
