"""`foreign`: a numpy function as a JAX function."""

import inspect
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial, update_wrapper
from typing import Any, overload

import jax
import jax.numpy as jnp

from couplax.foreign._code import Code, Frozen, OnFailure, Routine
from couplax.foreign._colouring import Pattern
from couplax.foreign._declaration import Declaration, Outputs, declared, outputs_of
from couplax.foreign._differences import AbstractDifferences, Forward
from couplax.foreign._host import host_of
from couplax.foreign._primitives import foreign_value_p
from couplax.foreign._second import foreign_second_p as foreign_second_p
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
        self._signatures: dict[Any, Signature] = {}
        update_wrapper(self, code.fn, updated=())

    @property
    def tally(self) -> Tally:
        """Counts of calls of the code since they were last reset.

        A compiled program may go on after its call has returned: wait for its results, by
        `jax.block_until_ready`, before the counts are read.
        """
        self._host.tally.collect()
        return self._host.tally

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the code returns on `args`, as JAX arrays.

        Raises:
            ForeignError: the code returned something else than it declares.
        """
        if kwargs:
            args = inspect.signature(self.code.fn).bind(*args, **kwargs).args
        leaves, tree = jax.tree.flatten(args)
        arrays = [jnp.asarray(leaf) for leaf in leaves]
        structs = tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)
        signature = self._signature(tree, structs)
        mapped = (False,) * len(arrays)
        outputs = foreign_value_p.bind(
            *arrays, host=self._host, signature=signature, mapped=mapped, lanes=None
        )
        return jax.tree.unflatten(signature.out.tree, outputs)

    def _signature(self, tree: Any, structs: tuple[jax.ShapeDtypeStruct, ...]) -> Signature:
        key = (tree, structs, jax.dtypes.canonicalize_dtype(float))
        if key not in self._signatures:
            arguments = jax.tree.unflatten(tree, structs)
            self._signatures[key] = Signature(
                arguments=Outputs(structs=structs, paths=_paths(self.code.fn, arguments), tree=tree),
                out=declared(self.code.name, self.code.out, arguments),
            )
        return self._signatures[key]

    def __eq__(self, other: object) -> bool:
        """Returns whether `other` is a foreign code of equal parts."""
        return isinstance(other, Foreign) and self.code == other.code

    def __hash__(self) -> int:
        """Returns a hash of the parts."""
        return hash(self.code)

    def __repr__(self) -> str:
        """Returns the code's name and its tally."""
        return f"<foreign {self.code.name}: {self.tally}>"


def _paths(fn: Routine, arguments: Any) -> tuple[str, ...]:
    """Returns what messages call each flat input: the parameter's name, and the path inside it."""
    try:
        names = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        names = []
    paths = [path for path, _ in jax.tree.leaves_with_path(arguments)]
    heads = [names[path[0].idx] if path[0].idx < len(names) else f"[{path[0].idx}]" for path in paths]
    return tuple(head + jax.tree_util.keystr(path[1:]) for head, path in zip(heads, paths, strict=True))


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
    batched: bool = False,
    sparsity: Any = None,
    executor: Executor | None = None,
    memo: int = 8,
    on_failure: OnFailure = "raise",
    precision: Any = None,
    scale: float | tuple[float, ...] | None = None,
    bounds: Any = None,
    thread_safe: bool = False,
    inplace: bool = False,
    name: str | None = None,
) -> Foreign | Callable[[Routine], Foreign]:
    """Returns the numpy function `fn` as a differentiable JAX function; without `fn`, a decorator.

    A derivative costs, beside the value: one tangent or one probe for a direction; one adjoint for a
        gradient, or without
    one as many tangents or probes as the varying inputs have elements, with `sparsity` as there are colours.
    Inputs that do not vary cost nothing.

    Args:
        fn: takes numpy arrays (scalars as numpy scalars), returns an array or a tuple or dict of arrays. It
            must return the same for the same inputs: equal calls may be folded to one.
        out: what it returns: a dtype for a scalar, a `jax.ShapeDtypeStruct`, a pytree of them, or a function
            from input structs to such.
        tangent: the code's own `(primals, tangents) -> J tangents`, tuples of arrays in.
        adjoint: the code's own `(primals, cotangents) -> J^T cotangents`, a tuple like the arguments out.
        differences: how derivatives that the code does not offer are taken: `Forward`, `Central` or
            `ComplexStep`, with `second=` a step for second derivatives.
        batched: the promise that `fn` takes a further leading axis on all of its arrays and returns one; a
            sweep or a `vmap` is then one call.
        sparsity: which flat outputs depend on which flat inputs, a boolean matrix, dense or of SciPy; see
            `detect_sparsity`.
        executor: runs the probes of a sweep side by side; any `concurrent.futures.Executor`.
        memo: how many of the last points are remembered, by the exact bytes of the inputs.
        on_failure: `"raise"` raises what the code raises; `"nan"` makes its outputs NaN and counts the
            failure.
        precision: the dtype that the code computes with inside, where that is coarser than its arrays.
        scale: the magnitude below which an input's difference step stops shrinking, one number for all inputs
            or a tuple of one per flat input; 1 by default.
        bounds: the domain, a pair (lower, upper) for all inputs or a tuple of one per flat input, None for
            none; difference steps turn inwards.
        thread_safe: whether several threads may be in the code at once; by default one lock guards it.
        inplace: whether the code writes to its inputs; it then gets writable copies.
        name: what messages call the code; by default the function's name.

    Raises:
        ForeignError: on a call, where the code returns something else than it declares.
        DerivativeError: where a second derivative is asked for and none is offered.
    """
    options = {key: value for key, value in locals().items() if key not in {"fn", "out"}}
    if fn is None:
        return partial(foreign, out=out, **options)
    options |= {
        "name": name or getattr(fn, "__name__", type(fn).__name__),
        "sparsity": None if sparsity is None else Pattern.of(sparsity),
        "precision": None if precision is None else jnp.dtype(precision),
        "scale": Frozen(1.0 if scale is None else scale),
        "bounds": Frozen(bounds),
    }
    return Foreign(Code(fn=fn, out=outputs_of(out), **options))


def paired(fast: Foreign, reference: Routine) -> Foreign:
    """Returns `fast` with the derivatives, and in exported files the values, of the JAX function `reference`.

    The two must give the same values; `check_derivatives` compares them.

    Args:
        reference: a JAX function of the same arguments, with the same structure of outputs.
    """
    return Foreign(replace(fast.code, reference=reference))
