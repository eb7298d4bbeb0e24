"""`foreign_c`: a routine with a C ABI as a JAX function."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from couplax.foreign._c_declaration import declaration_of
from couplax.foreign._c_routine import CAdjoint, CRoutine, CTangent, address_of
from couplax.foreign._foreign import Foreign, foreign


def foreign_c(
    library: Any,
    symbol: Any,
    inputs: Mapping[str, Any] | Sequence[Any],
    out: Any,
    *,
    arguments: Sequence[str] | None = None,
    size_dtype: Any = jnp.int32,
    tangent: Any = None,
    adjoint: Any = None,
    thread_safe: bool = False,
    name: str | None = None,
    **options: Any,
) -> Foreign:
    """Returns the C routine `symbol` as a differentiable JAX function; programs call it without Python.

    ```c
    double drag(int n, const double *x, double mach);        // arguments=("n", "x", "mach"), out a float64
    void lift(const double *x, const int *n, double *y);     // arguments=("*x", "*n", "*y")
    ```

    Derivatives are those of Tapenade's routines where they are given: in a tangent each floating-point
    argument is followed by its derivative, passed as it is; a returned number is then written through a
    pointer at the end, and its derivative returned. In an adjoint each is followed by a pointer to its
    cotangent, zeros for inputs, the given ones for outputs; that of a returned number comes last, by value.
    Integers and sizes have no derivative. Where a routine is not given, differences are taken.

    Programs remember the last `memo` points of a routine as Python does, each for itself; `memo=0` spares a
    routine that costs less than a microsecond the trouble. Values are not looked at for infinities.

    Args:
        library: the path of a shared library, a `ctypes.CDLL`, or None where `symbol` is no name.
        symbol: a name in the library, a `ctypes` function, or an address as an integer (`address` of a numba
            `cfunc`).
        inputs: a dtype for a scalar or a `jax.ShapeDtypeStruct` for an array, by name or in order. A string
            in a shape names the size of an axis: `jax.ShapeDtypeStruct(("n", 3), jnp.float64)`. Arrays are in
            C order.
        out: the same for the outputs: one, a tuple, or a mapping by name. One that is also an input by name
            is changed in place by the routine, on a copy.
        arguments: the routine's parameters in its order, each the name of an input, an output or a size;
            `*name` is passed by pointer, as arrays and outputs always are. A scalar output that is not named
            is the return value. By default the inputs and then the outputs, where one scalar output is the
            return value; unnamed ones are `in0`, `out0`, ...
        size_dtype: the integer type of sizes.
        tangent: the routine for v -> J v, as `symbol` is given.
        adjoint: the routine for w -> J^T w, as `symbol` is given.
        thread_safe: whether several threads may be in the routine at once; by default one lock guards it.
        options: those of `foreign` for differences and the memo: `differences`, `precision`, `scale`,
            `bounds`, `sparsity`, `memo`.

    Raises:
        ForeignError: the library or a symbol is not there, or the arguments do not name each input and
        output.
    """
    called = name or (symbol if isinstance(symbol, str) else _name_of(symbol))
    declaration, returns = declaration_of(called, inputs, out, arguments, size_dtype)
    routine = CRoutine(
        declaration=declaration,
        returns=returns,
        address=address_of(library, symbol),
        tangent=None if tangent is None else address_of(library, tangent),
        adjoint=None if adjoint is None else address_of(library, adjoint),
        thread_safe=thread_safe,
    )
    return foreign(
        routine,
        returns,
        tangent=None if routine.tangent is None else CTangent(routine, routine.tangent),
        adjoint=None if routine.adjoint is None else CAdjoint(routine, routine.adjoint),
        thread_safe=thread_safe,
        name=called,
        **options,
    )


def _name_of(pointer: Any) -> str:
    return (
        f"routine at 0x{pointer:x}" if isinstance(pointer, int) else getattr(pointer, "__name__", "routine")
    )
