"""The host side of a foreign code: numpy in, numpy out, never JAX's arrays."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import scipy.sparse

from couplax._calls import AbstractCounted, Count, register
from couplax.foreign._caller import FAILED, Caller, failed
from couplax.foreign._code import Code, Routine
from couplax.foreign._declaration import Outputs, checked
from couplax.foreign._differences import AbstractDifferences, Central, Forward
from couplax.foreign._direct import key_bytes
from couplax.foreign._domain import point
from couplax.foreign._memo import Memo, key_of
from couplax.foreign._signature import Signature
from couplax.foreign._sweep import compressed, contracted, nonzero_only, unit_vectors
from couplax.foreign._tally import Tally

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]


class Host(AbstractCounted):
    """Calls a code's routines, counts the calls and remembers the last points.

    One caller at a time is in the code, unless it is thread-safe; and one at its counts and points, always.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self.tally = Tally(forget=self._forget)
        self._guard = threading.RLock()
        self._lock: AbstractContextManager[Any] = nullcontext() if code.thread_safe else self._guard
        self._caller = Caller(code, self.tally, self._guard)
        self._values = Memo(code.memo)
        self._probes = Memo(code.memo)
        register(self)

    @property
    def name(self) -> str:
        """What messages call the code."""
        return self.code.name

    @property
    def is_exact_backwards_alone(self) -> bool:
        """Whether the code offers an adjoint and no tangent."""
        return self.code.adjoint is not None and self.code.tangent is None

    def count(self) -> Count:
        """Returns how often the code was called since its tally was last reset."""
        tally = self.tally
        tally.collect()
        with self._guard:
            return Count(calls=tally.calls, failures=tally.failures, nonfinite=dict(tally.nonfinite))

    def value(self, signature: Signature, inputs: Arrays) -> tuple[Array, ...]:
        """Returns the code's outputs at `inputs`."""
        key = key_of(inputs)
        with self._lock:
            with self._guard:
                found = self._values.find(key)
                self._count("values" if found is None else "memo_hits", 1)
            if found is not None:
                return found
            outputs = self._caller.once(signature, inputs)
            with self._guard:
                return self._values.keep(key, outputs)

    def prepared(self, signature: Signature) -> Callable[..., Sequence[Any]]:
        """Returns what `value` does for one signature, in the fewest steps, of the inputs one by one."""
        if self.code.thread_safe:
            return lambda *leaves: self.value(signature, leaves)
        memo, tally, lock = self._values, self.tally, self._guard
        once, kind = self._caller.prepared(signature), key_bytes(signature.arguments.structs)

        def anew(*leaves: Any) -> Sequence[Any]:
            with lock:
                tally.values += 1
                return once(leaves)

        def remembered(*leaves: Any) -> Sequence[Any]:
            key = kind + b"".join([leaf.tobytes() for leaf in leaves])
            with lock:
                found = memo.find(key)
                if found is not None:
                    tally.memo_hits += 1
                    return found
                tally.values += 1
                return memo.keep(key, once(leaves))

        return remembered if self.code.memo > 0 else anew

    def values(self, signature: Signature, points: Sequence[Arrays]) -> list[tuple[Array, ...]]:
        """Returns the code's outputs at each of `points`."""
        return self._many("values", self._values, signature, points)

    def tangents(
        self,
        signature: Signature,
        inputs: Arrays,
        outputs: Arrays,
        sweep: Sequence[Arrays],
        scheme: AbstractDifferences | None = None,
    ) -> list[Arrays]:
        """Returns J(x) v for each v: the code's own tangent, else differences; a zero v costs nothing.

        Args:
            outputs: the wanted outputs at `inputs`.
            scheme: the differences to take where the code has no tangent; by default its own.
        """
        routine = self.code.tangent
        if routine is not None:
            derivative = partial(_each, partial(self._own_tangent, routine, signature, inputs))
        else:
            derivative = partial(
                self._by_differences, scheme or self.code.differences, signature, inputs, outputs
            )
        pattern = self._pattern(signature)
        if pattern is not None:
            derivative = partial(compressed, derivative, pattern=pattern)
        return nonzero_only(derivative, sweep, [np.zeros_like(y) for y in outputs])

    def adjoints(
        self,
        signature: Signature,
        inputs: Arrays,
        outputs: Arrays,
        sweep: Sequence[Arrays],
        scheme: AbstractDifferences | None = None,
    ) -> list[Arrays]:
        """Returns J(x)^T w for each w: the code's own adjoint, else from the columns of J(x)."""
        routine = self.code.adjoint
        zero = [np.zeros_like(inputs[place]) for place in signature.inputs]
        if routine is None:
            by_columns = partial(self._by_columns, signature, inputs, outputs, scheme)
            return nonzero_only(by_columns, sweep, zero)
        derivative = partial(_each, partial(self._own_adjoint, routine, signature, inputs))
        pattern = self._pattern(signature)
        if pattern is not None:
            derivative = partial(compressed, derivative, pattern=pattern.T.tocsr())
        return nonzero_only(derivative, sweep, zero)

    def second_tangent(self, signature: Signature, inputs: Arrays, vs: Arrays, moves: Arrays) -> Arrays:
        """Returns how J(x) v changes for each wanted output as the active inputs make `moves`."""

        def first(at: Arrays) -> Arrays:
            return self.tangents(signature, at, self._wanted(signature, at), [vs], self._inner)[0]

        return self._second(signature, inputs, moves, first)

    def second_adjoint(self, signature: Signature, inputs: Arrays, ws: Arrays, moves: Arrays) -> Arrays:
        """Returns how J(x)^T w changes for each active input as the active inputs make `moves`."""

        def first(at: Arrays) -> Arrays:
            return self.adjoints(signature, at, self._wanted(signature, at), [ws], self._inner)[0]

        return self._second(signature, inputs, moves, first)

    def _second(
        self, signature: Signature, inputs: Arrays, moves: Arrays, first: Callable[[Arrays], Arrays]
    ) -> Arrays:
        scheme = self.code.differences
        outer = (Forward if isinstance(scheme, Forward) else Central)(scheme.second)
        plan = outer.plan(point(self.code, inputs, first(inputs)), signature.all_inputs(moves))
        return plan.combine([first(probe) for probe in plan.probes])

    @property
    def _inner(self) -> AbstractDifferences:
        """The scheme for the derivative that is itself differenced: its noise is divided by a step again."""
        scheme = self.code.differences
        return scheme if scheme.step is not None else replace(scheme, step=scheme.second)

    def _wanted(self, signature: Signature, inputs: Arrays) -> list[Array]:
        leaves = self._many("probes", self._probes, signature, [inputs])[0]
        return [leaves[place] for place in signature.outputs]

    def _own_tangent(self, routine: Routine, signature: Signature, inputs: Arrays, vs: Arrays) -> Arrays:
        every = zip(inputs, signature.all_inputs(vs), strict=True)
        dense = [np.zeros_like(x) if v is None else v for x, v in every]
        with self._lock:
            self._count("tangents", 1)
            primals = signature.as_arguments(self._caller.handed(inputs))
            tangents = signature.as_arguments(self._caller.handed(dense))
            leaves = self._routine("tangent", signature, inputs, signature.out, routine, primals, tangents)
        return [leaves[place] for place in signature.outputs]

    def _own_adjoint(self, routine: Routine, signature: Signature, inputs: Arrays, ws: Arrays) -> Arrays:
        with self._lock:
            self._count("adjoints", 1)
            primals = signature.as_arguments(self._caller.handed(inputs))
            cotangents = signature.as_outputs(self._caller.handed(signature.all_outputs(ws)))
            leaves = self._routine(
                "adjoint", signature, inputs, signature.arguments, routine, primals, cotangents
            )
        return [leaves[place] for place in signature.inputs]

    def _routine(
        self, kind: str, signature: Signature, inputs: Arrays, out: Outputs, routine: Routine, *arguments: Any
    ) -> Sequence[Array]:
        result = self._caller.guarded(signature, inputs, lambda: routine(*arguments))
        if result is FAILED:
            return [failed(struct) for struct in out.structs]
        return checked(f"{self.code.name} ({kind})", out, result)

    def _by_differences(
        self,
        scheme: AbstractDifferences,
        signature: Signature,
        inputs: Arrays,
        outputs: Arrays,
        sweep: Sequence[Arrays],
    ) -> list[Arrays]:
        here = point(self.code, inputs, outputs)
        plans = [scheme.plan(here, signature.all_inputs(vs)) for vs in sweep]
        probes = [probe for plan in plans for probe in plan.probes]
        found = iter(self._many("probes", self._probes, signature, probes))
        results: list[Arrays] = []
        for plan in plans:
            there = [next(found) for _ in plan.probes]
            results.append(plan.combine([[leaves[k] for k in signature.outputs] for leaves in there]))
        return results

    def _by_columns(
        self,
        signature: Signature,
        inputs: Arrays,
        outputs: Arrays,
        scheme: AbstractDifferences | None,
        sweep: Sequence[Arrays],
    ) -> list[Arrays]:
        like = [inputs[place] for place in signature.inputs]
        columns = self.tangents(signature, inputs, outputs, list(unit_vectors(like)), scheme)
        return [contracted(columns, ws, like) for ws in sweep]

    def _many(
        self, kind: str, memo: Memo, signature: Signature, points: Sequence[Arrays]
    ) -> list[tuple[Array, ...]]:
        """Returns the outputs at each of `points`, those evaluated anew counted as `kind`."""
        with self._lock:
            keys = [key_of(at) for at in points]
            with self._guard:
                found = {key: memo.find(key) or self._values.find(key) for key in keys}
                missing = {key: at for key, at in zip(keys, points, strict=True) if found[key] is None}
                self._count("memo_hits", len(points) - len(missing))
            if missing:
                results, calls = self._caller.evaluate(signature, list(missing.values()))
                with self._guard:
                    self._count(kind, calls)
                    found |= {key: memo.keep(key, each) for key, each in zip(missing, results, strict=True)}
            return [found[key] or () for key in keys]

    def _count(self, kind: str, calls: int) -> None:
        with self._guard:
            setattr(self.tally, kind, getattr(self.tally, kind) + calls)

    def _pattern(self, signature: Signature) -> "scipy.sparse.csr_array | None":
        """Returns which of the wanted outputs depend on which of the active inputs, element by element."""
        if self.code.sparsity is None:
            return None
        rows = _elements(signature.out.structs, signature.outputs)
        columns = _elements(signature.arguments.structs, signature.inputs)
        return self.code.sparsity.matrix[rows][:, columns]

    def _forget(self) -> None:
        with self._guard:
            self._values.clear()
            self._probes.clear()


def _each(one: Callable[[Arrays], Arrays], sweep: Sequence[Arrays]) -> list[Arrays]:
    return [one(vectors) for vectors in sweep]


def _elements(structs: Sequence[Any], places: Sequence[int]) -> Array:
    """Returns the flat positions of the elements of those arrays that `places` picks."""
    ends = np.cumsum([0, *(int(np.prod(struct.shape)) for struct in structs)])
    return np.concatenate([np.arange(ends[k], ends[k + 1]) for k in places])


_HOSTS: "WeakValueDictionary[Code, Host]" = WeakValueDictionary()


def host_of(code: Code) -> Host:
    """Returns the host of `code`, the same one for equal codes."""
    host = _HOSTS.get(code)
    if host is None:
        host = _HOSTS[code] = Host(code)
    return host
