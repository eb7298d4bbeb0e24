"""A routine with a C ABI as the routine of a foreign code: called by Python, and by programs without it."""

import ctypes
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from couplax._errors import ForeignError
from couplax.foreign._c_call import call_from_program, call_from_python, lock_of, target_of
from couplax.foreign._c_declaration import Declaration, Returns, Struct
from couplax.foreign._c_plan import Plan, adjoint_plan, tangent_plan, value_plan
from couplax.foreign._extension import extension, hold
from couplax.foreign._host import Host
from couplax.foreign._native_counts import Purpose, ledger_of
from couplax.foreign._native_linear import Call, NativeLinear, floating
from couplax.foreign._route import AbstractNative, lowered
from couplax.foreign._signature import Signature

Arrays = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a routine is in memory; `owner` keeps it there."""

    number: int
    owner: Any = field(compare=False)


def address_of(library: Any, symbol: Any) -> Address:
    """Returns where `symbol` is: a name in `library`, a `ctypes` function, or an integer.

    Raises:
        ForeignError: the library or the symbol is not there.
    """
    if isinstance(symbol, int):
        return Address(symbol, None)
    if not isinstance(symbol, str):
        return Address(ctypes.cast(symbol, ctypes.c_void_p).value or 0, symbol)
    loaded = _library(library, symbol)
    for name in (symbol, f"{symbol}_"):
        try:
            function = loaded[name]
        except AttributeError:
            continue
        if name == symbol:
            return Address(ctypes.cast(function, ctypes.c_void_p).value or 0, loaded)
        raise ForeignError(
            f"Library `{loaded._name}` has no symbol `{symbol}`, and has `{name}`: a Fortran routine "
            f"without `bind(c)`. Pass `{name}` (all arguments are then pointers), or give the routine "
            "`bind(c)`."
        )
    raise ForeignError(
        f"Library `{loaded._name}` has no symbol `{symbol}`. Its symbols are listed by `nm -D`."
    )


def _library(library: Any, symbol: str) -> ctypes.CDLL:
    if isinstance(library, ctypes.CDLL):
        return library
    if library is None:
        raise ForeignError(
            f"Routine `{symbol}` is named without a library. Pass the library's path, or a `ctypes` "
            "function or an address as `symbol`."
        )
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise ForeignError(f"Library `{library}` of routine `{symbol}` cannot be loaded: {error}.") from error


@dataclass(frozen=True)
class CRoutine(AbstractNative):
    """The routine for the value, with the code's tangent and adjoint routines where it has them."""

    declaration: Declaration
    returns: Returns
    address: Address
    tangent: Address | None
    adjoint: Address | None
    thread_safe: bool

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name, _ in self.declaration.inputs])

    def __call__(self, *arrays: Any) -> Any:
        """Returns the outputs at numpy arrays."""
        return jax.tree.unflatten(self.returns.tree, self.run(value_plan, self.address, arrays, arrays))

    def run(
        self, make: Callable[..., Plan], address: Address, primals: Arrays, arrays: Arrays
    ) -> list[np.ndarray[Any, Any]]:
        """Returns the outputs of the plan that `make` makes for `primals`, called from Python."""
        plan = make(self.declaration, tuple(np.shape(x) for x in primals))
        return call_from_python(plan, address.number, self.lock, arrays)

    @property
    def structs(self) -> tuple[list[Struct], list[Struct]]:
        """The inputs and the outputs as declared."""
        named = (self.declaration.inputs, self.declaration.outputs)
        inputs, outputs = ([struct for _, struct in pairs] for pairs in named)
        return inputs, outputs

    @property
    def lock(self) -> Any:
        """What one caller at a time holds."""
        return None if self.thread_safe else lock_of(self.address.number)

    def lower_value(
        self,
        context: Any,
        operands: Arrays,
        *,
        host: Host,
        signature: Signature,
        mapped: Sequence[bool],
        lanes: int | None,
    ) -> Any:
        """Returns the lowered value, or None where there is no extension."""
        if not _is_there(context):
            return None
        return _Program(self, host, signature, context).value(operands, mapped, lanes)

    def lower_linear(
        self,
        context: Any,
        operands: Arrays,
        *,
        host: Host,
        signature: Signature,
        transposed: bool,
        mapped: Sequence[bool],
        lanes: int | None,
    ) -> Any:
        """Returns the lowered linear map, or None where the host has to serve."""
        if not _is_there(context):
            return None
        linear = _Program(self, host, signature, context).linear()
        if not linear.serves(transposed):
            return None
        one = linear.transposed if transposed else linear.forward
        return lowered(context, one, operands, mapped, lanes)


def _is_there(context: Any) -> bool:
    module = extension()
    return module is not None and module.calls_c and tuple(context.module_context.platforms) == ("cpu",)


@dataclass(frozen=True, slots=True)
class _Program:
    """A routine inside one program that is being lowered."""

    routine: CRoutine
    host: Host
    signature: Signature
    context: Any

    def value(self, operands: Arrays, mapped: Sequence[bool], lanes: int | None) -> Any:
        """Returns the lowered value; all lanes in one call."""
        call = self._call(value_plan, self.routine.address, "values", mapped, lanes)
        return lowered(self.context, lambda *x: call(x), operands)

    def linear(self) -> NativeLinear:
        """Returns the linear map."""
        routine = self.routine
        value = self._call(value_plan, routine.address, "probes")
        tangent = routine.tangent and self._call(tangent_plan, routine.tangent, "tangents")
        adjoint = routine.adjoint and self._call(adjoint_plan, routine.adjoint, "adjoints")
        inputs, outputs = routine.structs
        return NativeLinear(
            code=self.host.code,
            signature=self.signature,
            value=value,
            # The routines' own values are among the outputs too, and scratch.
            tangent=tangent and (lambda arrays: tangent(arrays)[len(outputs) :]),
            adjoint=adjoint and (lambda arrays: adjoint(arrays)[: len(floating(inputs))]),
        )

    def _call(
        self,
        make: Callable[..., Plan],
        address: Address,
        purpose: Purpose,
        mapped: Sequence[bool] | None = None,
        lanes: int | None = None,
    ) -> Call:
        shapes = tuple(struct.shape for struct in self.signature.arguments.structs)
        plan = make(self.routine.declaration, shapes)
        flags = mapped if mapped is not None else [False] * len(plan.inputs)
        book = ledger_of(self.host).book(purpose, plan)
        target = target_of(plan, address.number, self.routine.lock, book, flags, lanes)
        hold(self.context, (target, address))
        return lambda arrays: call_from_program(target, plan, lanes, arrays)


@dataclass(frozen=True, slots=True)
class CTangent:
    """The tangent routine for the host: `(primals, tangents) -> tangents of the outputs`."""

    routine: CRoutine
    address: Address

    def __call__(self, primals: Arrays, tangents: Arrays) -> Any:
        """Returns the tangents of all outputs."""
        inputs, structs = self.routine.structs
        vectors = [tangents[k] for k in floating(inputs)]
        outputs = self.routine.run(tangent_plan, self.address, primals, [*primals, *vectors])
        derivatives = dict(zip(floating(structs), outputs[len(structs) :], strict=True))
        leaves = [derivatives.get(k, np.zeros_like(outputs[k])) for k in range(len(structs))]
        return jax.tree.unflatten(self.routine.returns.tree, leaves)


@dataclass(frozen=True, slots=True)
class CAdjoint:
    """The adjoint routine for the host: `(primals, cotangents) -> cotangents of the inputs`."""

    routine: CRoutine
    address: Address

    def __call__(self, primals: Arrays, cotangents: Any) -> tuple[Any, ...]:
        """Returns the cotangents of all inputs, zeros for integers."""
        inputs, structs = self.routine.structs
        leaves = jax.tree.leaves(cotangents)
        vectors = [leaves[k] for k in floating(structs)]
        outputs = self.routine.run(adjoint_plan, self.address, primals, [*primals, *vectors])
        given = dict(zip(floating(inputs), outputs, strict=False))
        zeros = [np.zeros_like(primal) for primal in primals]
        return tuple(given[k].astype(zero.dtype) if k in given else zero for k, zero in enumerate(zeros))
