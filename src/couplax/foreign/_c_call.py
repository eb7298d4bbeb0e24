"""Two ways to carry out a plan: from programs through the extension, from Python through `ctypes`."""

import ctypes
import functools
import math
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import jax
import jax.ffi
import numpy as np

from couplax.foreign._c_declaration import Struct
from couplax.foreign._c_plan import NOT_PREPARED, ZEROED, Kind, Plan
from couplax.foreign._extension import C_TARGET, extension
from couplax.foreign._native_counts import Book

Array = np.ndarray[Any, Any]

_CTYPES: dict[str, Any] = {
    "d": ctypes.c_double,
    "f": ctypes.c_float,
    "q": ctypes.c_int64,
    "i": ctypes.c_int32,
    "h": ctypes.c_int16,
    "b": ctypes.c_int8,
    "Q": ctypes.c_uint64,
    "I": ctypes.c_uint32,
    "H": ctypes.c_uint16,
    "B": ctypes.c_uint8,
    "?": ctypes.c_bool,
}


@functools.cache
def lock_of(address: int) -> Any:
    """Returns the one lock of the routine at `address`, which programs and Python share."""
    module = extension()
    return threading.Lock() if module is None else module.Lock()


# ---- from Python


def call_from_python(plan: Plan, address: int, lock: Any, arrays: Sequence[Any]) -> list[Array]:
    """Returns the plan's outputs; `lock` is held meanwhile, None where several callers may be inside."""
    pairs = zip(arrays, plan.inputs, strict=True)
    inputs = [np.asarray(array, struct.dtype, order="C") for array, struct in pairs]
    outputs = [_prepared(plan, k, inputs) for k in range(len(plan.outputs))]
    arguments = [_argument(parameter, inputs, outputs) for parameter in plan.parameters]
    if lock is None:
        result = _function(plan, address)(*arguments)
    else:
        with lock:
            result = _function(plan, address)(*arguments)
    if plan.returned != "-":
        outputs[plan.returned_to][...] = result
    return outputs


@functools.lru_cache(maxsize=256)
def _function(plan: Plan, address: int) -> Callable[..., Any]:
    types = [_CTYPES[letter] if kind in _BY_VALUE else ctypes.c_void_p for kind, letter, _ in plan.parameters]
    return ctypes.CFUNCTYPE(None if plan.returned == "-" else _CTYPES[plan.returned], *types)(address)


_BY_VALUE = (Kind.VALUE, Kind.CONSTANT)


def _prepared(plan: Plan, place: int, inputs: Sequence[Array]) -> Array:
    struct, source = plan.outputs[place], plan.preparations[place]
    if source in (NOT_PREPARED, ZEROED):
        return np.zeros(struct.shape, struct.dtype)
    return np.array(inputs[source], order="C")


def _argument(parameter: tuple[int, str, int], inputs: Sequence[Array], outputs: Sequence[Array]) -> Any:
    kind, letter, number = parameter
    match kind:
        case Kind.VALUE:
            return inputs[number].item()
        case Kind.INPUT:
            return inputs[number].ctypes.data
        case Kind.OUTPUT:
            return outputs[number].ctypes.data
        case Kind.CONSTANT:
            return number
        case _:
            # By reference, which keeps the number alive during the call, as its bare address would not.
            return ctypes.byref(_CTYPES[letter](number))


# ---- from compiled programs

_targets: "WeakValueDictionary[Hashable, Any]" = WeakValueDictionary()


def target_of(
    plan: Plan,
    address: int,
    lock: Any,
    book: Book,
    mapped: Sequence[bool],
    lanes: int | None,
) -> Any:
    """Returns the plan as the extension calls it, the same for equal ones, so that XLA folds equal calls."""
    key = (plan, address, lock, book, tuple(mapped), lanes)
    target = _targets.get(key)
    if target is None:
        strides = [0 if lanes and not flag else _size(s) for s, flag in zip(plan.inputs, mapped, strict=True)]
        target = extension().Routine(
            address,
            plan.parameters,
            tuple(strides),
            tuple(_size(struct) for struct in plan.inputs),
            tuple(_size(struct) for struct in plan.outputs),
            plan.preparations,
            plan.returned,
            plan.returned_to,
            1 if lanes is None else lanes,
            lock,
            book.calls,
            book.hits,
            book.memos,
        )
        _targets[key] = target
    return target


def _size(struct: Struct) -> int:
    return math.prod(struct.shape) * np.dtype(struct.dtype).itemsize


def call_from_program(target: Any, plan: Plan, lanes: int | None, arrays: Sequence[Any]) -> list[Any]:
    """Returns the plan's outputs as JAX arrays, in a program that is being traced."""
    lead = () if lanes is None else (lanes,)
    structs = [Struct((*lead, *struct.shape), struct.dtype) for struct in plan.outputs]
    call = jax.ffi.ffi_call(C_TARGET, structs, vmap_method="sequential")
    cast = [array.astype(struct.dtype) for array, struct in zip(arrays, plan.inputs, strict=True)]
    return list(call(*cast, index=np.uint64(target.index), mark=np.uint64(extension().mark)))
