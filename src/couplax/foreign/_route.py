"""Routes from a compiled program to the host.

`compiled`: a custom call of the extension, which calls the host with numpy scalars and read-only views of
XLA's memory. On CPU, where the extension is. `callback`: JAX's own callback, everywhere else. `native`
programs know another way than through the host: a code whose routine is an `AbstractNative` is asked for it
first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal
from weakref import WeakValueDictionary

import jax
import numpy as np
from jax.interpreters import mlir

from couplax._errors import ForeignError, keep_error
from couplax.foreign._caller import told
from couplax.foreign._exit import exit_guard
from couplax.foreign._extension import PYTHON_TARGET, call_target, extension
from couplax.foreign._host import Host
from couplax.foreign._signature import Signature

Call = Callable[..., Sequence[Any]]
Lower = Callable[..., Any]
Route = Literal["native", "compiled", "callback"]

_fastest: ContextVar[Route] = ContextVar("fastest", default="native")


@contextmanager
def route(fastest: Route) -> Generator[None]:
    """Lowers programs with no faster route than `fastest`; those that are compiled already keep theirs."""
    token = _fastest.set(fastest)
    try:
        yield
    finally:
        _fastest.reset(token)


class AbstractNative(ABC):
    """A routine that programs can call without the host.

    Law: results that are not None are those of calling the routine through the host.
    """

    @abstractmethod
    def lower_value(
        self,
        context: Any,
        operands: Sequence[Any],
        *,
        host: Host,
        signature: Signature,
        mapped: Sequence[bool],
        lanes: int | None,
    ) -> Any:
        """Returns the lowered value primitive, or None where the host has to serve."""

    @abstractmethod
    def lower_linear(
        self,
        context: Any,
        operands: Sequence[Any],
        *,
        host: Host,
        signature: Signature,
        transposed: bool,
        mapped: Sequence[bool],
        lanes: int | None,
    ) -> Any:
        """Returns the lowered linear map, or None where the host has to serve."""


def lowering(
    call: Call,
    native: Literal["value", "linear"] | None = None,
    prepared: Callable[..., Callable[..., Sequence[Any]] | None] | None = None,
) -> Lower:
    """Returns the lowering rule of a primitive whose host side is `call(arrays, **params)`.

    Args:
        native: what the primitive is to a routine that programs call without the host.
        prepared: from the params to what calls the host for them in fewer steps, of the arrays one by one, or
            None.
    """

    def lower(context: Any, *operands: Any, **params: Any) -> Any:
        fastest, routine = _fastest.get(), params["host"].code.fn
        if native is not None and fastest == "native" and isinstance(routine, AbstractNative):
            rule = routine.lower_value if native == "value" else routine.lower_linear
            results = rule(context, operands, **params)
            if results is not None:
                return results
        if fastest != "callback" and _is_cpu(context) and extension() is not None:
            return _compiled(call, prepared, context, operands, params)
        return _callback(call, prepared, context, operands, params)

    return lower


def lowered(
    context: Any,
    fun: Callable[..., list[Any]],
    operands: Sequence[Any],
    mapped: Sequence[bool] = (),
    lanes: int | None = None,
) -> Any:
    """Returns the results of the JAX function `fun` in the program that is being lowered, lane by lane."""
    if lanes is None:
        return mlir.lower_fun(fun, multiple_results=True)(context, *operands)
    axes = tuple(0 if flag else None for flag in mapped)
    every = jax.vmap(lambda flat: fun(*flat), in_axes=(axes,), axis_size=lanes)
    return mlir.lower_fun(lambda *flat: every(flat), multiple_results=True)(context, *operands)


def _is_cpu(context: Any) -> bool:
    return tuple(context.module_context.platforms) == ("cpu",)


def _host_side(call: Call, prepared: Any, params: dict[str, Any]) -> Callable[..., Sequence[Any]]:
    """Returns what calls the host for `params`, of the arrays one by one."""
    direct = None if prepared is None else prepared(**params)
    return direct if direct is not None else lambda *arrays: call(arrays, **params)


# ---- the compiled route

_targets: "WeakValueDictionary[Hashable, Any]" = WeakValueDictionary()


def _compiled(
    call: Call, prepared: Any, context: Any, operands: Sequence[Any], params: dict[str, Any]
) -> Any:
    return call_target(context, PYTHON_TARGET, _target(call, prepared, context, params), operands)


def _target(call: Call, prepared: Any, context: Any, params: dict[str, Any]) -> Any:
    """Returns what XLA calls, the same for equal calls, so that XLA folds them to one."""
    types = tuple(
        tuple(np.dtype(aval.dtype) for aval in avals) for avals in (context.avals_in, context.avals_out)
    )
    key = (call, tuple(sorted(params.items())), types)
    target = _targets.get(key)
    if target is None:
        name = params["host"].code.name
        run = _host_side(call, prepared, params)
        target = extension().Callback(run, *types, lambda error: _told(name, error), lambda: _kept(name))
        _targets[key] = target
    return target


def _told(name: str, error: BaseException) -> str:
    """Returns the text that goes through XLA in place of `error`."""
    if not isinstance(error, Exception):
        return f"Foreign code `{name}` was ended by {type(error).__name__}"
    return told(name, error)


def _kept(name: str) -> ForeignError:
    """Returns the error for an array that outlives the call; its memory is XLA's, and is used again."""
    error = ForeignError(
        f"Foreign code `{name}` kept one of the arrays that it was called with, or a view of one. They are "
        "valid during the call alone: keep a copy (`np.array(x)`)."
    )
    keep_error(error)
    return error


# ---- JAX's callback


def _callback(
    call: Call, prepared: Any, context: Any, operands: Sequence[Any], params: dict[str, Any]
) -> Any:
    name = params["host"].code.name
    host_side = _host_side(call, prepared, params)

    def run(*arrays: Any) -> tuple[Any, ...]:
        # The arrays are views of XLA's memory, and nobody sees whether the code keeps them.
        own = [_own(array) for array in arrays]
        exit_guard.enter()
        try:
            return tuple(host_side(*own))
        except Exception as error:  # the boundary to compiled code, which keeps no more than the text
            raise ForeignError(_told(name, error)) from error
        finally:
            exit_guard.leave()

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


def _own(view: Any) -> Any:
    """Returns a copy of `view` that nobody writes to; a number where it has no axes."""
    copy = np.array(view)
    copy.flags.writeable = False
    return copy[()] if copy.ndim == 0 else copy
