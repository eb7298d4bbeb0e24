"""Calls of the user's routine: what it is handed, what it must return, what becomes of its failures."""

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from couplax._errors import DerivativeError, keep_error
from couplax.foreign._code import Code
from couplax.foreign._declaration import Outputs, checked
from couplax.foreign._direct import as_declared, is_plain
from couplax.foreign._signature import Signature
from couplax.foreign._tally import Tally

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]


class Caller:
    """Calls a code's routine for values, at one point or at many."""

    def __init__(self, code: Code, tally: Tally, guard: AbstractContextManager[Any]) -> None:
        self._code = code
        self._tally = tally
        self._guard = guard

    def evaluate(self, signature: Signature, points: Sequence[Arrays]) -> tuple[list[tuple[Array, ...]], int]:
        """Returns the outputs at each of `points`, and how many calls that took."""
        out = _complex(signature.out) if _is_stepped(signature, points) else signature.out
        if self._code.batched and len(points) > 1:
            return self._together(signature, out, points), 1
        arguments = [signature.as_arguments(self.handed(point)) for point in points]
        pending = zip(self._begun(arguments), points, strict=True)
        results = [self._outputs(signature, out, run, point) for run, point in pending]
        return results, len(points)

    def once(self, signature: Signature, inputs: Arrays) -> tuple[Array, ...]:
        """Returns the outputs at `inputs`, which takes one call."""
        run = _later(self._code.fn, signature.as_arguments(self.handed(inputs)))
        return self._outputs(signature, signature.out, run, inputs)

    def prepared(self, signature: Signature) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """Returns what `once` does for one signature, in the fewest steps.

        It hands the code its arrays as they come: they are valid during the call alone.
        """
        if self._code.inplace or not is_plain(signature):
            return partial(self.once, signature)
        fn, out = self._code.fn, signature.out
        accepts = as_declared(out.structs[0])

        def run(leaves: Sequence[Any]) -> Sequence[Any]:
            try:
                result = fn(*leaves)
            except Exception as error:  # the boundary to foreign code: it is raised again, and told
                return self._outputs(signature, out, partial(_again, error), leaves)
            return (result,) if accepts(result) else self._outputs(signature, out, lambda: result, leaves)

        return run

    def handed(self, leaves: Arrays) -> list[Any]:
        """Returns `leaves` as the code may have them: numpy scalars, and arrays as copies it may keep."""
        return [leaf[()] if leaf.ndim == 0 else self._copied(leaf) for leaf in leaves]

    def guarded(self, signature: Signature, inputs: Arrays, run: Callable[[], Any]) -> Any:
        """Returns what `run`, a call of a routine of the code, returns; `_FAILED` where it fails and may.

        Raises:
            Exception: what the routine raised, with a note that says at which inputs, kept for couplax's
                boundary.
        """
        try:
            return run()
        except Exception as error:  # the boundary to foreign code: whatever it raises
            if self._code.on_failure == "nan":
                with self._guard:
                    self._tally.failures += 1
                return FAILED
            _annotated(error, self._code.name, signature, inputs)
            keep_error(error)
            raise

    def _begun(self, arguments: Sequence[Any]) -> list[Callable[[], Any]]:
        executor = self._code.executor
        if executor is None or len(arguments) == 1:
            return [_later(self._code.fn, a) for a in arguments]
        return [executor.submit(self._code.fn, *a).result for a in arguments]

    def _outputs(
        self, signature: Signature, out: Outputs, run: Callable[[], Any], inputs: Arrays
    ) -> tuple[Array, ...]:
        result = self.guarded(signature, inputs, run)
        if result is FAILED:
            return tuple(failed(struct) for struct in out.structs)
        if out is not signature.out:
            _require_complex(self._code.name, result)
        leaves = checked(self._code.name, out, result)
        self._count_nonfinite(out, leaves)
        return leaves

    def _together(
        self, signature: Signature, out: Outputs, points: Sequence[Arrays]
    ) -> list[tuple[Array, ...]]:
        """Returns the outputs at each point from one call with a leading axis."""
        stacked = [np.stack(column) for column in zip(*points, strict=True)]
        count = len(points)
        structs = tuple(jax.ShapeDtypeStruct((count, *s.shape), s.dtype) for s in out.structs)
        arguments = signature.as_arguments(self.handed(stacked))
        wide = replace(out, structs=structs)
        leaves = self._outputs(replace(signature, out=wide), wide, _later(self._code.fn, arguments), stacked)
        return [tuple(leaf[k] for leaf in leaves) for k in range(count)]

    def _copied(self, leaf: Array) -> Array:
        copy = np.array(leaf)
        copy.flags.writeable = self._code.inplace
        return copy

    def _count_nonfinite(self, out: Outputs, leaves: Arrays) -> None:
        for path, leaf in zip(out.paths, leaves, strict=True):
            if leaf.dtype.kind in "fc" and not np.isfinite(leaf).all():
                with self._guard:
                    self._tally.nonfinite[path] = self._tally.nonfinite.get(path, 0) + 1


def told(name: str, error: BaseException) -> str:
    """Returns all that is to be said of `error` where compiled code keeps no more of it than a text."""
    notes = " ".join(getattr(error, "__notes__", ()))
    return f"Foreign code `{name}` failed. {notes}\n{''.join(traceback.format_exception(error))}"


FAILED: Any = object()
"""Stands for the result of a call that failed."""


def _again(error: Exception) -> Any:
    raise error


def _later(fn: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    return lambda: fn(*arguments)


def _is_stepped(signature: Signature, points: Sequence[Arrays]) -> bool:
    """Returns whether an input that is declared real comes complex: a complex step."""
    declared = signature.arguments.structs
    return any(
        x.dtype.kind == "c" != np.dtype(s.dtype).kind for x, s in zip(points[0], declared, strict=True)
    )


def _complex(out: Outputs) -> Outputs:
    structs = (jax.ShapeDtypeStruct(s.shape, np.result_type(s.dtype, np.complex64)) for s in out.structs)
    return replace(out, structs=tuple(structs))


def _require_complex(name: str, result: Any) -> None:
    if not all(np.iscomplexobj(leaf) for leaf in jax.tree.leaves(result)):
        raise DerivativeError(
            f"Foreign code `{name}` returned real numbers for complex inputs, so that a complex step sees "
            "no change. Keep the numbers complex throughout (no abs, no real, no comparison), or pass "
            "differences=couplax.Central()."
        )


def failed(struct: jax.ShapeDtypeStruct) -> Array:
    """Returns what stands for an output of a call that failed: NaN, or zero where there is none."""
    return np.full(struct.shape, np.nan if np.dtype(struct.dtype).kind in "fc" else 0, struct.dtype)


def _annotated(error: Exception, name: str, signature: Signature, inputs: Arrays) -> None:
    values = ", ".join(
        f"{path}={np.array2string(value, threshold=6)}"
        for path, value in zip(signature.arguments.paths, inputs, strict=True)
    )
    error.add_note(f"Raised by foreign code `{name}` at {values}.")
