"""`foreign`: a numpy function as a JAX function."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, overload

import jax
import jax.numpy as jnp

from couplax.foreign._code import Code, Routine
from couplax.foreign._declaration import Declaration, Outputs, declared, outputs_of
from couplax.foreign._differences import AbstractDifferences, Forward
from couplax.foreign._host import host_of
from couplax.foreign._primitives import foreign_value_p
from couplax.foreign._signature import Signature
from couplax.foreign._tally import Tally


class Foreign:
    """A foreign code as a JAX function: traceable, differentiable both ways, mapped by `vmap`.

    Attributes:
        code: its parts; Foreigns of equal codes are equal.
        tally: how often the code was called, and for what.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self._host = host_of(code)
        functools.update_wrapper(self, code.fn, updated=())

    @property
    def tally(self) -> Tally:
        """Counts of calls of the code since they were last reset."""
        return self._host.tally

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the code returns on `args`, as JAX arrays.

        Raises:
            ForeignError: the code returned something else than it declares.
        """
        if kwargs:
            bound = inspect.signature(self.code.fn).bind(*args, **kwargs)
            args = bound.args
        leaves, tree = jax.tree.flatten_with_path(args)
        arrays = [jnp.asarray(leaf) for _, leaf in leaves]
        structs = tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)
        paths = tuple(jax.tree_util.keystr(path) for path, _ in leaves)
        signature = Signature(
            arguments=Outputs(structs=structs, paths=paths, tree=tree),
            out=declared(self.code.name, self.code.out, jax.tree.unflatten(tree, structs)),
        )
        mapped = (False,) * len(arrays)
        outputs = foreign_value_p.bind(
            *arrays, host=self._host, signature=signature, mapped=mapped, lanes=None
        )
        return jax.tree.unflatten(signature.out.tree, outputs)

    def __eq__(self, other: object) -> bool:
        """Returns whether `other` is a foreign code of equal parts."""
        return isinstance(other, Foreign) and self.code == other.code

    def __hash__(self) -> int:
        """Returns a hash of the parts."""
        return hash(self.code)

    def __repr__(self) -> str:
        """Returns the code's name and its tally."""
        return f"<foreign {self.code.name}: {self.tally}>"


_FORWARD = Forward()


@overload
def foreign(fn: Routine, out: Declaration, **options: Any) -> Foreign: ...
@overload
def foreign(*, out: Declaration, **options: Any) -> Callable[[Routine], Foreign]: ...
def foreign(  # pyright: ignore[reportInconsistentOverload]  # the options are spelled out once, here
    fn: Routine | None = None,
    out: Declaration = None,
    *,
    tangent: Routine | None = None,
    adjoint: Routine | None = None,
    differences: AbstractDifferences = _FORWARD,
    memo: int = 8,
    precision: Any = None,
    scale: float | tuple[float, ...] | None = None,
    thread_safe: bool = False,
    inplace: bool = False,
    name: str | None = None,
) -> Foreign | Callable[[Routine], Foreign]:
    """Returns the numpy function `fn` as a differentiable JAX function; without `fn`, a decorator.

    A derivative costs, beside the value: one tangent or one probe for a direction; one adjoint for a
        gradient, or without one as
    many tangents or probes as the varying inputs have elements. Inputs that do not vary cost nothing.

    Args:
        fn: takes numpy arrays (scalars as numpy scalars), returns an array or a tuple or dict of arrays. It
            must return the same for the same inputs: equal calls may be folded to one.
        out: what it returns: a dtype for a scalar, a `jax.ShapeDtypeStruct`, a pytree of them, or a function
            from input structs to such.
        tangent: the code's own `(primals, tangents) -> J tangents`, tuples of arrays in.
        adjoint: the code's own `(primals, cotangents) -> J^T cotangents`, a tuple like the arguments out.
        differences: how derivatives that the code does not offer are taken.
        memo: how many of the last points are remembered, by the exact bytes of the inputs.
        precision: the dtype that the code computes with inside, where that is coarser than its arrays.
        scale: the magnitude below which an input's difference step stops shrinking, one number for all inputs
            or a tuple of one per flat input; 1 by default.
        thread_safe: whether several threads may be in the code at once; by default one lock guards it.
        inplace: whether the code writes to its inputs; it then gets writable copies.
        name: what messages call the code; by default the function's name.

    Raises:
        ForeignError: on a call, where the code returns something else than it declares.
        DerivativeError: where a second derivative is asked for.
    """
    if fn is None:
        return functools.partial(
            foreign,
            out=out,
            tangent=tangent,
            adjoint=adjoint,
            differences=differences,
            memo=memo,
            precision=precision,
            scale=scale,
            thread_safe=thread_safe,
            inplace=inplace,
            name=name,
        )
    code = Code(
        name=name or getattr(fn, "__name__", type(fn).__name__),
        fn=fn,
        out=outputs_of(out),
        tangent=tangent,
        adjoint=adjoint,
        differences=differences,
        memo=memo,
        precision=None if precision is None else jnp.dtype(precision),
        scale=scale,
        thread_safe=thread_safe,
        inplace=inplace,
    )
    return Foreign(code)
