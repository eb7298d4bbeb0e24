"""`stage`: from a JAX function to a program of JAX's own operations on its inputs alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.extend.core as jec

from couplax._errors import StageError
from couplax._tree import describe
from couplax.stage._finalise import Failures, finalise
from couplax.stage._interpret import count_equations
from couplax.stage._simplify import simplify
from couplax.stage._specialise import specialise

Pass = Callable[[jec.ClosedJaxpr], jec.ClosedJaxpr]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one pass left: its `name`, and how many `equations`, those inside loops and branches included."""

    name: str
    equations: int


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False)
class Staged:
    """A staged program; called like the function that it was made from, and a function for `jax.jit` too.

    Attributes:
        jaxpr: the program, from flat inputs to flat outputs.
        in_tree: the structure of the positional arguments; `out_tree`: that of the result.
        stages: what each pass left.
    """

    jaxpr: jec.ClosedJaxpr
    in_tree: Any
    out_tree: Any
    stages: tuple[Stage, ...]

    def __call__(self, *args: Any) -> Any:
        """Returns what the original function returns on `args`.

        Raises:
            StageError: `args` do not have the structure or shapes that the program was staged for.
        """
        flat, tree = jax.tree.flatten(args)
        have = [describe(value) for value in flat]
        want = [describe(jax.ShapeDtypeStruct(aval.shape, aval.dtype)) for aval in self.jaxpr.in_avals]
        if tree != self.in_tree or have != want:
            raise StageError(
                f"This program was staged for {self.in_tree} of ({', '.join(want)}), and came to be called "
                f"with {tree} of ({', '.join(have)}). Stage it again for these arguments."
            )
        return jax.tree.unflatten(self.out_tree, jec.jaxpr_as_fun(self.jaxpr)(*flat))

    def summary(self) -> str:
        """Returns a table of how many equations each pass left, and the loops that remain."""
        lines = [f"{stage.name:<12} {stage.equations:>7} equations" for stage in self.stages]
        return "\n".join([*lines, _loops(self.jaxpr)])


def stage(fn: Callable[..., Any], *args: Any, failures: Failures = "nan") -> Staged:
    """Returns `fn` at `args` as a program that is finalised, specialised and simplified.

    Finalised: what libraries wrap for transformations is unwrapped. Specialised: what depends on no input is
        computed.
    Simplified: dead and repeated code is gone.

    Args:
        fn: any JAX function of positional arguments.
        args: arrays, Python numbers or `jax.ShapeDtypeStruct`s, or pytrees of them; only shapes and dtypes
            matter.
        failures: what becomes of run-time checks such as `eqx.error_if`: `"nan"` or `"ignore"`.

    Raises:
        StageError: a primitive wraps code that cannot be traced.
    """
    closed, shape = jax.make_jaxpr(fn, return_shape=True)(*args)
    stages = [Stage(name="traced", equations=count_equations(closed.jaxpr))]
    for name, transform in _passes(failures):
        closed = _checked(name, transform(closed))
        stages.append(Stage(name=name, equations=count_equations(closed.jaxpr)))
    in_tree, out_tree = jax.tree.structure(args), jax.tree.structure(shape)
    return Staged(jaxpr=closed, in_tree=in_tree, out_tree=out_tree, stages=tuple(stages))


def _passes(failures: Failures) -> Sequence[tuple[str, Pass]]:
    return (
        ("finalised", partial(finalise, failures=failures)),
        ("specialised", specialise),
        ("simplified", simplify),
    )


def _checked(name: str, closed: jec.ClosedJaxpr) -> jec.ClosedJaxpr:
    try:
        jec.check_jaxpr(closed.jaxpr)
    except jec.JaxprTypeError as error:
        raise StageError(
            f"The program that was {name} does not type-check, a fault of couplax: {error}"
        ) from error
    return closed


def _loops(closed: jec.ClosedJaxpr) -> str:
    loops = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive.name in {"while", "scan"}]
    if not loops:
        return "no loop remains"
    return "\n".join(_loop_line(eqn) for eqn in loops)


def _loop_line(eqn: jec.JaxprEqn) -> str:
    if eqn.primitive.name == "scan":
        size = count_equations(eqn.params["jaxpr"].jaxpr)
        return f"a loop of {eqn.params['length']} trips, {size} equations each"
    size = count_equations(eqn.params["body_jaxpr"].jaxpr)
    return f"a loop until its condition fails, {size} equations a trip"
