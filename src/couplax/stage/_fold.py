"""Equations of known values, run while the program is staged: by numpy where its bits are JAX's, else by JAX.

JAX compiles every new shape of every primitive, which takes a thousand times as long as the numbers do.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.extend.core as jec
import numpy as np

from couplax.stage._interpret import Value, bind, interpret, is_known

Array = np.ndarray[Any, Any]
NumpyRule = Callable[..., Any]
"""`rule(*inputs, **params) -> output`, or `NotImplemented` where the bits could be others than JAX's."""

_DTYPES = frozenset(map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")))


def fold(eqn: jec.JaxprEqn, inputs: Sequence[Value]) -> list[Value]:
    """Returns the outputs of `eqn`, run here and now; of a `cond`, the branch that is taken."""
    if eqn.primitive.name == "cond":
        index, *operands = inputs
        return interpret(taken_branch(eqn.params["branches"], index), operands, fold_known)
    output = _by_numpy(eqn, inputs)
    if output is not NotImplemented:
        return [output]
    with jax.ensure_compile_time_eval():
        return bind(eqn, inputs)


def fold_known(eqn: jec.JaxprEqn, inputs: Sequence[Value]) -> list[Value]:
    """Returns the outputs of `eqn`, run here and now where its inputs are known; else it is bound."""
    return fold(eqn, inputs) if all(is_known(value) for value in inputs) else bind(eqn, inputs)


def taken_branch(branches: Sequence[Any], index: Value) -> Any:
    """Returns the branch of a `cond` that a known `index` picks, which is clamped as in JAX."""
    return branches[int(np.clip(index, 0, len(branches) - 1))]


def in_numpy(value: Value) -> Value:
    """Returns a known value as numpy's array; a key, which numpy does not have, as it is."""
    is_key = jax.dtypes.issubdtype(jax.typeof(value).dtype, jax.dtypes.prng_key)
    return value if is_key else np.asarray(value)


def _by_numpy(eqn: jec.JaxprEqn, inputs: Sequence[Value]) -> Any:
    rule = NUMPY_RULES.get(eqn.primitive.name)
    dtypes = [_dtype(atom) for atom in (*eqn.invars, *eqn.outvars)]
    if rule is None or not _DTYPES.issuperset(dtypes):
        return NotImplemented
    arrays = [np.asarray(value, dtype) for value, dtype in zip(inputs, dtypes, strict=False)]
    with np.errstate(all="ignore"):
        output = rule(*arrays, **eqn.params)
    if output is NotImplemented or any(_has_subnormal(array) for array in (*arrays, output)):
        return NotImplemented
    return np.asarray(output, dtypes[-1])


def _dtype(atom: Any) -> Any:
    return getattr(atom.aval, "dtype", None)


def _has_subnormal(array: Array) -> bool:
    """Returns whether a number is there that JAX flushes to zero and numpy does not."""
    if array.dtype.kind != "f":
        return False
    return bool(np.any((array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny)))


def _plain(ufunc: Callable[..., Any]) -> NumpyRule:
    return lambda *inputs, **params: ufunc(*inputs)


def _of_kinds(kinds: str, ufunc: Callable[..., Any]) -> NumpyRule:
    return lambda *inputs, **params: ufunc(*inputs) if inputs[0].dtype.kind in kinds else NotImplemented


def _reduced(kinds: str, ufunc: Any) -> NumpyRule:
    def rule(array: Array, *, axes: Any, **params: Any) -> Any:
        return ufunc.reduce(array, axis=tuple(axes)) if array.dtype.kind in kinds else NotImplemented

    return rule


def _broadcast(array: Array, *, shape: Any, broadcast_dimensions: Any, **params: Any) -> Array:
    sizes = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, array.shape, strict=True):
        sizes[axis] = size
    return np.array(np.broadcast_to(array.reshape(sizes), shape))


def _convert(array: Array, *, new_dtype: Any, **params: Any) -> Any:
    """A float becomes an integer in JAX's own way, and a long unsigned integer a float."""
    kinds = array.dtype.kind + np.dtype(new_dtype).kind
    if kinds in {"fi", "fu"} or (kinds == "uf" and array.dtype.itemsize == 8):
        return NotImplemented
    return array.astype(new_dtype)


def _dynamic_slice(array: Array, *starts: Array, slice_sizes: Any) -> Array:
    return array[_window(array, starts, slice_sizes)].copy()


def _dynamic_update_slice(array: Array, update: Array, *starts: Array) -> Array:
    written = array.copy()
    written[_window(array, starts, update.shape)] = update
    return written


def _window(array: Array, starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Returns the window of `sizes` at `starts`, moved inside as JAX does."""
    triples = zip(starts, sizes, array.shape, strict=True)
    begins = [min(max(int(start), 0), most - size) for start, size, most in triples]
    return tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True))


def _iota(*, dtype: Any, shape: Any, dimension: int, **params: Any) -> Array:
    sizes = [size if axis == dimension else 1 for axis, size in enumerate(shape)]
    return np.array(np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(sizes), shape))


def _select(which: Array, *cases: Array) -> Any:
    return np.where(which, cases[1], cases[0]) if len(cases) == 2 else NotImplemented


def _slice(array: Array, *, start_indices: Any, limit_indices: Any, strides: Any) -> Array:
    steps = strides or (1,) * array.ndim
    return array[tuple(map(slice, start_indices, limit_indices, steps))].copy()


def _reshape(array: Array, *, new_sizes: Any, dimensions: Any, **params: Any) -> Any:
    return array.reshape(new_sizes) if dimensions is None else NotImplemented


def _power(array: Array, *, y: int) -> Any:
    return array * array if y == 2 else NotImplemented


NUMPY_RULES: Mapping[str, NumpyRule] = MappingProxyType(
    {
        **{
            name: _plain(ufunc)
            for name, ufunc in {
                "add": np.add,
                "sub": np.subtract,
                "mul": np.multiply,
                "neg": np.negative,
                "abs": np.abs,
                "eq": np.equal,
                "ne": np.not_equal,
                "lt": np.less,
                "le": np.less_equal,
                "gt": np.greater,
                "ge": np.greater_equal,
                "and": np.bitwise_and,
                "or": np.bitwise_or,
                "xor": np.bitwise_xor,
                "not": np.invert,
                "is_finite": np.isfinite,
                "nextafter": np.nextafter,
                "copy": np.array,
            }.items()
        },
        "div": _of_kinds("f", np.divide),
        "sqrt": _of_kinds("f", np.sqrt),
        "ceil": _of_kinds("f", np.ceil),
        "floor": _of_kinds("f", np.floor),
        "max": _of_kinds("biu", np.maximum),
        "min": _of_kinds("biu", np.minimum),
        "reduce_or": _reduced("b", np.logical_or),
        "reduce_and": _reduced("b", np.logical_and),
        "reduce_max": _reduced("iu", np.maximum),
        "reduce_min": _reduced("iu", np.minimum),
        "broadcast_in_dim": _broadcast,
        "concatenate": lambda *arrays, dimension: np.concatenate(arrays, dimension),
        "convert_element_type": _convert,
        "dynamic_slice": _dynamic_slice,
        "dynamic_update_slice": _dynamic_update_slice,
        "integer_pow": _power,
        "iota": _iota,
        "reshape": _reshape,
        "rev": lambda array, *, dimensions: np.flip(array, dimensions).copy(),
        "select_n": _select,
        "slice": _slice,
        "squeeze": lambda array, *, dimensions: np.squeeze(array, tuple(dimensions)),
        "transpose": lambda array, *, permutation: np.transpose(array, permutation).copy(),
    }
)
"""The primitives that numpy computes to JAX's bits, by name."""
