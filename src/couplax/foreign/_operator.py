"""Calls of a foreign code as operators of another runtime: described as plain data, and bound to the code.

A description is made of what JSON holds, so that it can stand in a file. It says to the person who supplies
the operator what to compute, and to `bound` how to call the code for it.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax._errors import ForeignError
from couplax._sizes import is_symbolic
from couplax.foreign._code import Code
from couplax.foreign._declaration import Outputs, outputs_for
from couplax.foreign._foreign import Foreign
from couplax.foreign._host import Host, host_of
from couplax.foreign._primitives import linear_call, value_call
from couplax.foreign._second import second_call
from couplax.foreign._signature import Signature
from couplax.foreign._skeleton import filled, skeleton

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]
Described = Mapping[str, Any]
"""What a call is, in lists, dicts, strings and integers."""

_OPERATIONS: Mapping[tuple[str, bool | None], str] = {
    ("foreign_value", None): "value",
    ("foreign_linear", False): "tangent",
    ("foreign_linear", True): "adjoint",
    ("foreign_second", False): "second_tangent",
    ("foreign_second", True): "second_adjoint",
}
_CALLS: Mapping[str, Callable[..., Arrays]] = {
    "value": value_call,
    "tangent": partial(linear_call, transposed=False),
    "adjoint": partial(linear_call, transposed=True),
    "second_tangent": partial(second_call, transposed=False),
    "second_adjoint": partial(second_call, transposed=True),
}
_CARRIERS = {"float16": "float32", "bfloat16": "float32"}
"""What an operator takes and gives in place of a dtype that runtimes do not hand to operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operand:
    """An array that an operator takes or gives: what it is, of which input or output of the code."""

    name: str
    role: str
    struct: jax.ShapeDtypeStruct


def described(
    primitive: str,
    *,
    host: Host,
    signature: Signature,
    mapped: Sequence[bool],
    lanes: Any,
    transposed: bool | None = None,
) -> dict[str, Any]:
    """Returns what a call of a foreign primitive with these params is, for the file that it goes into.

    Raises:
        ForeignError: the code takes arrays in structures that a file cannot describe.
    """
    operation = _OPERATIONS[primitive, transposed]
    operands, results = _operands(operation, signature), _results(operation, signature)
    return {
        "code": host.code.name,
        "operation": operation,
        "differences": _is_by_differences(operation, host.code),
        "batch": lanes if lanes is None else _size(lanes),
        "inputs": _entries(operands, mapped, lanes),
        "outputs": _entries(results, [lanes is not None] * len(results), lanes),
        "returns": _words(signature.out),
        "arguments": skeleton(host.code.name, signature.arguments),
        "varying": list(signature.inputs),
        "wanted": list(signature.outputs),
    }


def _is_by_differences(operation: str, code: Code) -> bool:
    """Returns whether the code itself offers no such derivative."""
    offered = {
        "value": True,
        "tangent": code.tangent is not None,
        "adjoint": code.adjoint is not None or code.tangent is not None,
    }
    return not offered.get(operation, False)


def carrier(dtype: Any) -> np.dtype:
    """Returns the dtype that an operator takes and gives for `dtype`, which holds all its numbers."""
    return np.dtype(_CARRIERS.get(np.dtype(dtype).name, dtype))


def hosts_of(codes: Iterable[Any]) -> dict[str, Host]:
    """Returns the hosts of foreign codes, or of what wraps one, by the codes' names.

    Raises:
        ForeignError: one of them is no foreign code, or two have one name.
    """
    hosts: dict[str, Host] = {}
    for given in codes:
        # A component, a function that is jitted and the like have it inside.
        code = inspect.unwrap(given, stop=_is_foreign)
        if not isinstance(code, Foreign):
            raise ForeignError(
                f"foreign=[...] takes foreign codes, which couplax.foreign returns, and {given!r} is a "
                f"{type(given).__name__}. Pass the code that the file calls."
            )
        host = host_of(code.code)
        if hosts.setdefault(host.name, host) is not host:
            raise ForeignError(
                f"foreign=[...] holds two codes named `{host.name}`, and a file calls codes by their names. "
                "Pass the one that it was made with."
            )
    return hosts


def _is_foreign(given: Any) -> bool:
    return isinstance(given, Foreign)


def bound(about: Described, host: Host) -> Callable[[Arrays], list[Array]]:
    """Returns what the operator `about` computes, by the code of `host`, from and to the operator's arrays.

    Raises:
        ForeignError: the code returns other arrays than the operator.
    """
    _check_fits(about, host)
    takes = [_own_dtype(entry) for entry in about["inputs"]]
    gives = [np.dtype(entry["dtype"]) for entry in about["outputs"]]
    prepared: dict[Any, Callable[[Arrays], Arrays]] = {}

    def run(arrays: Arrays) -> list[Array]:
        given = [array.astype(dtype, copy=False) for array, dtype in zip(arrays, takes, strict=True)]
        key = tuple([array.shape for array in given])
        if key not in prepared:
            prepared[key] = _prepared(about, host, given)
        results = prepared[key](given)
        return [np.asarray(result, dtype) for result, dtype in zip(results, gives, strict=True)]

    return run


def _prepared(about: Described, host: Host, like: Arrays) -> Callable[[Arrays], Arrays]:
    """Returns the call for arrays of the shapes of these."""
    mapped = [bool(entry.get("batched")) for entry in about["inputs"]]
    pairs = list(zip(like, mapped, strict=True))
    lanes = next((len(array) for array, flag in pairs if flag), None)
    structs = [jax.ShapeDtypeStruct(array.shape[flag:], array.dtype) for array, flag in pairs]
    signature = _signature(about, host, structs)
    if about["operation"] == "value" and lanes is None:
        once = host.prepared(signature)
        return lambda arrays: once(*[array[()] if array.ndim == 0 else array for array in arrays])
    return partial(_CALLS[about["operation"]], host=host, signature=signature, mapped=mapped, lanes=lanes)


def _operands(operation: str, signature: Signature) -> list[_Operand]:
    """Returns what the operator takes, in order."""
    x = _named("argument", signature.arguments, range(len(signature.arguments.structs)))
    values = _named("value", signature.out, signature.outputs)
    tangents = _named("tangent", signature.arguments, signature.inputs)
    cotangents = _named("cotangent", signature.out, signature.outputs)
    moves = _named("move", signature.arguments, signature.inputs)
    return {
        "value": x,
        "tangent": [*x, *values, *tangents],
        "adjoint": [*x, *values, *cotangents],
        "second_tangent": [*x, *tangents, *moves],
        "second_adjoint": [*x, *cotangents, *moves],
    }[operation]


def _results(operation: str, signature: Signature) -> list[_Operand]:
    """Returns what the operator gives, in order."""
    if operation == "value":
        return _named("value", signature.out, range(len(signature.out.structs)))
    if operation.endswith("adjoint"):
        return _named("cotangent", signature.arguments, signature.inputs)
    return _named("tangent", signature.out, signature.outputs)


def _named(role: str, of: Outputs, places: Iterable[int]) -> list[_Operand]:
    return [_Operand(name=of.paths[k] or "out", role=role, struct=of.structs[k]) for k in places]


def _entries(operands: Sequence[_Operand], batched: Sequence[bool], lanes: Any) -> list[dict[str, Any]]:
    return [_entry(operand, flag, lanes) for operand, flag in zip(operands, batched, strict=True)]


def _entry(operand: _Operand, batched: bool, lanes: Any) -> dict[str, Any]:
    own, wide = np.dtype(operand.struct.dtype), carrier(operand.struct.dtype)
    shape = [lanes, *operand.struct.shape] if batched else operand.struct.shape
    return {
        "name": operand.name,
        "is": operand.role,
        "dtype": wide.name,
        "shape": [_size(size) for size in shape],
        **({"precision": own.name} if own != wide else {}),
        **({"batched": True} if batched else {}),
    }


def _size(size: Any) -> int | str:
    return str(size) if is_symbolic(size) else int(size)


def _own_dtype(entry: Described) -> np.dtype:
    return jnp.dtype(entry.get("precision", entry["dtype"]))


def _signature(about: Described, host: Host, structs: Sequence[jax.ShapeDtypeStruct]) -> Signature:
    """Returns the signature of a call on arrays of these structs."""
    names = [entry["name"] for entry in about["inputs"] if entry["is"] == "argument"]
    leaves = tuple(structs[: len(names)])
    arguments = filled(about["arguments"], leaves)
    return Signature(
        arguments=Outputs(structs=leaves, paths=tuple(names), tree=jax.tree.structure(arguments)),
        out=outputs_for(host.code.out, arguments),
        inputs=tuple(about["varying"]),
        outputs=tuple(about["wanted"]),
    )


def _check_fits(about: Described, host: Host) -> None:
    """Returns nothing; raises where the code returns other arrays than the one that the file was made with.

    Open sizes are not looked at.
    """
    pairs = [(entry["shape"][1 if entry.get("batched") else 0 :], entry) for entry in about["inputs"]]
    if any(isinstance(size, str) for shape, _ in pairs for size in shape):
        return
    structs = [jax.ShapeDtypeStruct(tuple(shape), _own_dtype(entry)) for shape, entry in pairs]
    signature = _signature(about, host, structs)
    came, wanted = _words(signature.out), about["returns"]
    if came != wanted:
        raise ForeignError(
            f"Foreign code `{host.name}` declares to return {', '.join(came)} for "
            f"({', '.join(_words(signature.arguments))}), and the file was made with one that returns "
            f"{', '.join(wanted)}. Pass that one, or export again."
        )


def _words(arrays: Outputs) -> list[str]:
    """Returns each array as one word, such as `float64[3]`."""
    return [
        f"{np.dtype(struct.dtype).name}[{','.join(str(_size(size)) for size in struct.shape)}]"
        for struct in arrays.structs
    ]
