"""What is checked: a function of one real vector, with its derivatives, from any JAX function."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import DerivativeError
from couplax.foreign._check_layout import Layout
from couplax.foreign._foreign import Foreign

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A function at a point, its inputs and outputs that can be differentiated as vectors.

    Attributes:
        name: what the report calls it.
        function: the function itself; of a foreign code one without memo or batches, so that each call is
            a call.
        args: the arguments at the point.
        inputs: the inputs that vary; `outputs`: the outputs that do.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    inputs: Layout
    outputs: Layout

    @property
    def here(self) -> Array:
        """The inputs at the point."""
        return self.inputs.pack([leaf for leaf in jax.tree.leaves(self.args) if _varies(leaf)])

    def evaluate(self, x: Array) -> Array:
        """Returns the outputs at `x`."""
        return self.outputs.pack(self.flat(self.inputs.unpack(x)))

    def forward(self, v: Array) -> Array:
        """Returns J v in forward mode."""
        here = self.inputs.unpack(self.here)
        return self.outputs.pack(jax.jvp(self.flat, (here,), (self.inputs.unpack(v),))[1])

    def reverse(self, w: Array) -> Array:
        """Returns J^T w in reverse mode."""
        # JAX pairs complex numbers as Re(w y), so that the cotangent of (re, im) is re - i im.
        weights = [np.conj(part) for part in self.outputs.unpack(w)]
        _, pullback = jax.vjp(self.flat, self.inputs.unpack(self.here))
        return self.inputs.pack([np.conj(part) for part in pullback(weights)[0]])

    def flat(self, varying: Sequence[Any]) -> list[Any]:
        """Returns the outputs that vary, with `varying` for the arguments that do."""
        leaves, tree = jax.tree.flatten(self.args)
        given = iter(varying)
        arguments = [jnp.asarray(next(given)) if _varies(leaf) else leaf for leaf in leaves]
        return [
            leaf
            for leaf in jax.tree.leaves(self.function(*jax.tree.unflatten(tree, arguments)))
            if _varies(leaf)
        ]


def subject_of(function: Callable[..., Any], args: tuple[Any, ...]) -> Subject:
    """Returns `function` at `args` as what is checked.

    Raises:
        DerivativeError: there is nothing that varies.
    """
    args = jax.tree.map(jnp.asarray, args)
    bare = alone(function) if isinstance(function, Foreign) else function
    subject = Subject(
        name=_name(function),
        function=bare,
        args=args,
        inputs=_layout(args, _parameters(function, len(args))),
        outputs=_layout(jax.eval_shape(bare, *args), _returned(function)),
    )
    if not subject.inputs.labels or not subject.outputs.labels:
        raise DerivativeError(
            f"`{subject.name}` has no derivative to check: its inputs or its outputs hold no real "
            "or complex numbers."
        )
    return subject


def alone(function: Foreign) -> Foreign:
    """Returns the code with nothing between it and a call; a call that fails gives nan."""
    return Foreign(replace(function.code, memo=0, batched=False, executor=None, on_failure="nan"))


def _varies(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def _layout(tree: Any, heads: list[str]) -> Layout:
    """Returns the layout of the leaves that vary; `heads` are names for the parts of a tuple."""
    pairs = [(path, leaf) for path, leaf in jax.tree.leaves_with_path(tree) if _varies(leaf)]
    return Layout(
        names=tuple(_spelt(path, heads) for path, _ in pairs),
        structs=tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for _, leaf in pairs),
    )


def _spelt(path: Any, heads: list[str]) -> str:
    if not path:
        return heads[0] if heads else "output"
    place = getattr(path[0], "idx", None)
    if place is None or place >= len(heads):
        return jax.tree_util.keystr(path, simple=True, separator=".")
    return heads[place] + jax.tree_util.keystr(path[1:])


def _returned(function: Callable[..., Any]) -> list[str]:
    """Returns the names of what a function of a model returns; no other function has any."""
    named = getattr(function, "outputs", ())
    if isinstance(named, str):
        return [named]
    return [str(name) for name in named] if isinstance(named, tuple) else []


def _parameters(function: Callable[..., Any], count: int) -> list[str]:
    """Returns names for `count` arguments: those of the parameters, as far as there are any."""
    named = getattr(function, "inputs", None)
    if isinstance(named, tuple) and all(isinstance(name, str) for name in named):
        return list(named)  # A function of a model takes its arguments by position, and says what they are.
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    names = [parameter.name for parameter in parameters if parameter.kind in by_position]
    return [*names, *(f"args[{k}]" for k in range(len(names), count))]


def _name(function: Callable[..., Any]) -> str:
    if isinstance(function, Foreign):
        return function.code.name
    return getattr(function, "__name__", type(function).__name__)
