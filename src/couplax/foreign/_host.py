"""The host side of a foreign code: numpy in, numpy out, never JAX's arrays."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import jax.numpy as jnp
import numpy as np

from couplax.foreign._code import Code, Routine
from couplax.foreign._declaration import checked
from couplax.foreign._differences import Point
from couplax.foreign._memo import Memo
from couplax.foreign._signature import Signature
from couplax.foreign._tally import Tally

Arrays = Sequence[np.ndarray]


class Host:
    """Calls a code's routines, one caller at a time, counts the calls and remembers the last points."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.tally = Tally(forget=self._forget)
        self._values = Memo(code.memo)
        self._probes = Memo(code.memo)
        self._lock: AbstractContextManager[Any] = nullcontext() if code.thread_safe else threading.RLock()

    def value(self, signature: Signature, inputs: Arrays) -> tuple[np.ndarray, ...]:
        """Returns the code's outputs at `inputs`."""
        with self._lock:
            found = self._values.find(inputs)
            if found is not None:
                self.tally.memo_hits += 1
                return found
            self.tally.values += 1
            return self._evaluated(self._values, signature, inputs)

    def tangents(
        self, signature: Signature, inputs: Arrays, outputs: Arrays, sweep: Sequence[Arrays]
    ) -> list[list[np.ndarray]]:
        """Returns J(x) v for each v: the code's own tangent, else one difference; a zero v costs nothing."""
        routine = self.code.tangent
        one = self._difference if routine is None else partial(self._own_tangent, routine)
        zero = [np.zeros_like(y) for y in outputs]
        return [one(signature, inputs, outputs, vs) if any(map(np.any, vs)) else zero for vs in sweep]

    def adjoints(
        self, signature: Signature, inputs: Arrays, outputs: Arrays, sweep: Sequence[Arrays]
    ) -> list[list[np.ndarray]]:
        """Returns J(x)^T w for each w of the sweep: the code's own adjoint, else from the columns of J(x)."""
        nonzero = [any(map(np.any, ws)) for ws in sweep]
        zero = [np.zeros_like(inputs[place]) for place in signature.inputs]
        routine = self.code.adjoint
        if routine is not None:
            own = partial(self._own_adjoint, routine, signature, inputs)
            return [own(ws) if flag else zero for ws, flag in zip(sweep, nonzero, strict=True)]
        if not any(nonzero):
            return [zero for _ in sweep]
        columns = self.tangents(signature, inputs, outputs, list(_unit_vectors(zero)))
        return [_contracted(columns, ws, zero) for ws in sweep]

    def _own_tangent(
        self, routine: Routine, signature: Signature, inputs: Arrays, outputs: Arrays, vs: Arrays
    ) -> list[np.ndarray]:
        dense = [
            np.zeros_like(x) if v is None else v
            for x, v in zip(inputs, signature.all_inputs(vs), strict=True)
        ]
        with self._lock:
            self.tally.tangents += 1
            primals, tangents = (signature.as_arguments(self._handed(leaves)) for leaves in (inputs, dense))
            result = routine(primals, tangents)
        leaves = checked(f"{self.code.name} (tangent)", signature.out, result)
        return [leaves[place] for place in signature.outputs]

    def _own_adjoint(
        self, routine: Routine, signature: Signature, inputs: Arrays, ws: Arrays
    ) -> list[np.ndarray]:
        with self._lock:
            self.tally.adjoints += 1
            primals = signature.as_arguments(self._handed(inputs))
            cotangents = signature.as_outputs(self._handed(signature.all_outputs(ws)))
            result = routine(primals, cotangents)
        leaves = checked(f"{self.code.name} (adjoint)", signature.arguments, result)
        return [leaves[place] for place in signature.inputs]

    def _difference(
        self, signature: Signature, inputs: Arrays, outputs: Arrays, vs: Arrays
    ) -> list[np.ndarray]:
        def evaluate(displaced: Arrays) -> list[np.ndarray]:
            leaves = self._probed(signature, displaced)
            return [leaves[place] for place in signature.outputs]

        point = Point(
            inputs=inputs,
            outputs=outputs,
            typical=[np.maximum(np.abs(x), s) for x, s in zip(inputs, self._scales(signature), strict=True)],
            epsilon=[self._epsilon(x.dtype) for x in inputs],
        )
        return self.code.differences.along(evaluate, point, signature.all_inputs(vs))

    def _probed(self, signature: Signature, inputs: Arrays) -> tuple[np.ndarray, ...]:
        with self._lock:
            found = self._probes.find(inputs) or self._values.find(inputs)
            if found is not None:
                self.tally.memo_hits += 1
                return found
            self.tally.probes += 1
            return self._evaluated(self._probes, signature, inputs)

    def _evaluated(self, memo: Memo, signature: Signature, inputs: Arrays) -> tuple[np.ndarray, ...]:
        result = self.code.fn(*signature.as_arguments(self._handed(inputs)))
        outputs = checked(self.code.name, signature.out, result)
        return memo.keep(inputs, outputs)

    def _handed(self, leaves: Arrays) -> list[np.ndarray]:
        """Returns `leaves` as the code may have them: numpy scalars, and arrays as copies it may keep."""
        return [leaf[()] if leaf.ndim == 0 else self._copied(leaf) for leaf in leaves]

    def _copied(self, leaf: np.ndarray) -> np.ndarray:
        copy = np.array(leaf)
        copy.flags.writeable = self.code.inplace
        return copy

    def _scales(self, signature: Signature) -> list[Any]:
        scale = 1.0 if self.code.scale is None else self.code.scale
        count = len(signature.arguments.structs)
        return list(scale) if isinstance(scale, tuple) else [scale] * count

    def _epsilon(self, dtype: np.dtype) -> float:
        dtypes = [dtype] if self.code.precision is None else [dtype, np.dtype(self.code.precision)]
        return max((float(jnp.finfo(d).eps) for d in dtypes if jnp.issubdtype(d, jnp.inexact)), default=0.0)

    def _forget(self) -> None:
        with self._lock:
            self._values.clear()
            self._probes.clear()


def _unit_vectors(like: Arrays) -> Iterator[list[np.ndarray]]:
    """Yields, for each element of the arrays in order, vectors that are 1 there and 0 elsewhere."""
    for place, array in enumerate(like):
        for index in range(array.size):
            vectors = [np.zeros_like(x) for x in like]
            vectors[place].reshape(-1)[index] = 1
            yield vectors


def _contracted(columns: Sequence[Arrays], ws: Arrays, like: Arrays) -> list[np.ndarray]:
    """Returns J^T w in the shapes of `like`, from the columns of J in order."""
    flat = np.array([sum(np.vdot(c, w) for c, w in zip(column, ws, strict=True)) for column in columns])
    ends = np.cumsum([array.size for array in like])[:-1]
    return [part.reshape(x.shape).astype(x.dtype) for part, x in zip(np.split(flat, ends), like, strict=True)]


_HOSTS: "WeakValueDictionary[Code, Host]" = WeakValueDictionary()


def host_of(code: Code) -> Host:
    """Returns the host of `code`, the same one for equal codes."""
    host = _HOSTS.get(code)
    if host is None:
        host = _HOSTS[code] = Host(code)
    return host
