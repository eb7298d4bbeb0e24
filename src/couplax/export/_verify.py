"""Verification: the file in ONNX Runtime against the function in JAX."""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from os import PathLike, fspath
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime

from couplax._calls import counted_in
from couplax._errors import ExportError, VerificationError
from couplax._struct import with_sizes
from couplax._tree import describe, struct_of
from couplax.export._drawn_sizes import at_drawn_sizes
from couplax.export._file import metadata_of
from couplax.export._names import FOREIGN, MEANINGS
from couplax.export._onnx_session import session_of
from couplax.export._plain import generator_of, is_key, part_structs, parts_of
from couplax.export._report import Comparison, VerifyReport
from couplax.export._runtime import run
from couplax.export._session import Session

# Both sides round every operation, and call different implementations of `exp`, `sin`, ... that differ by an
# ulp or two. A few hundred operations in a row so keep some 12 of float64's 16 digits and 6 of float32's 7,
# at the scale of the output.
_TOLERANCES = {"float64": 1e-12, "float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}

# A difference of a foreign code divides what its inputs were rounded by through a step of some root of that.
_BY_DIFFERENCES = {"float64": 1e-6, "float32": 1e-2}

Source = onnx.ModelProto | str | PathLike[str]
"""A model, or the path of its file."""

AnySession = onnxruntime.InferenceSession | Session
"""ONNX Runtime, here or in a process of its own."""

_SEED = 20240607


def verify(proto: Source, fn: Callable[..., Any], *args: Any, tolerance: float | None = None) -> VerifyReport:
    """Returns how `proto`, run in ONNX Runtime, compares with `fn`, run in JAX, on `args` and near them.

    Args:
        proto: the model, or the path of its file.
        args: as for `to_onnx`; a struct stands for random numbers, the same ones every time, and a name among
            its sizes for two sizes.
        tolerance: the largest error allowed, relative to the largest magnitude of an output; by default
            1e-12 in float64 and 1e-6 in float32; 1e-6 and 1e-2 where the file takes differences of a foreign
            code. Integers and booleans must be equal.

    Raises:
        VerificationError: ONNX Runtime cannot run the file, or takes and gives other arrays than `fn`.
        ForeignError: the file calls a foreign code that `fn` does not call.
    """
    with _session(proto, fn, args) as session:
        rows = _rows(session, fn, args, tolerance)
    return VerifyReport(comparisons=tuple(rows))


def _rows(
    session: AnySession, fn: Callable[..., Any], args: Sequence[Any], tolerance: float | None
) -> list[Comparison]:
    # A function of its own: `jax.jit` hashes what it is given, and an Equinox module with arrays has no hash.
    compiled = jax.jit(lambda *values: fn(*values))
    # JAX raises where a check fires: where it gives numbers, the status is to be 0. A staged program says it.
    metadata = session.get_modelmeta().custom_metadata_map
    told_of = MEANINGS in metadata
    status = [np.int32(0)] if told_of and not getattr(fn, "meanings", ()) else []
    allowed = _allowed(metadata, tolerance)
    rows: list[Comparison] = []
    for told, sized in at_drawn_sizes(with_sizes(args)):
        for trial, values in _trials(sized):
            wanted = _parts((_in_jax(compiled, values, told), *status))
            rows += _compare(f"{trial}{told}", _run(session, values), wanted, session, allowed)
    return rows


def _in_jax(compiled: Callable[..., Any], values: Sequence[Any], told: str) -> Any:
    """Returns what the function gives.

    Raises:
        VerificationError: it does not run at the sizes that were drawn for its open axes.
    """
    try:
        return compiled(*values)
    except (TypeError, ValueError) as error:
        if not told:
            raise
        raise VerificationError(
            f"The function does not run{told}, sizes drawn for its open axes: {error}\nWrite the sizes that "
            "it takes as expressions, such as '2*batch', or pass arrays to `couplax.verify`."
        ) from error


@contextmanager
def _session(source: Source, fn: Callable[..., Any], args: Sequence[Any]) -> Generator[AnySession]:
    """Yields a session for the file; where it calls foreign codes, with those that `fn` calls."""
    if not _calls_foreign(source):
        yield _plain_session(source)
        return
    sized = at_drawn_sizes(with_sizes(args))[0][1]
    hosts = {host.name: host for host in counted_in(fn, *sized)}
    try:
        session = session_of(source, hosts)
    except ExportError as error:
        raise VerificationError(str(error)) from error
    with session:
        yield session


def _calls_foreign(source: Source) -> bool:
    try:
        return FOREIGN in metadata_of(source)
    except ExportError:
        # ONNX Runtime says what is wrong with it.
        return False


def _plain_session(source: Source) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # Errors are raised; what ONNX Runtime warns of beside them is not for the user.
    options.log_severity_level = 4
    model = source.SerializeToString() if isinstance(source, onnx.ModelProto) else fspath(source)
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except _ORT_ERRORS as error:
        raise VerificationError(
            f"ONNX Runtime {onnxruntime.__version__} does not load the file: {error}"
        ) from error


def _ort_errors() -> tuple[type[Exception], ...]:
    # The module has the classes, and no stub for them.
    state = import_module("onnxruntime.capi.onnxruntime_pybind11_state")

    kinds = (
        "Fail",
        "InvalidArgument",
        "InvalidGraph",
        "InvalidProtobuf",
        "NotImplemented",
        "RuntimeException",
        "NoSuchFile",
    )
    return tuple(getattr(state, kind) for kind in kinds if hasattr(state, kind))


_ORT_ERRORS = _ort_errors()


def _trials(args: Sequence[Any]) -> list[tuple[str, Any]]:
    """Returns the inputs to compare on: as given, and with every floating number moved by up to 0.1 %."""
    generator = np.random.default_rng(_SEED)
    given = jax.tree.map(lambda value: _concrete(value, generator), tuple(args))
    moved = jax.tree.map(lambda value: _moved(value, generator), given)
    drawn = any(isinstance(value, jax.ShapeDtypeStruct) for value in jax.tree.leaves(args))
    first = ("drawn" if drawn else "as given", given)
    same = all(
        np.array_equal(a, b, equal_nan=False) for a, b in zip(*map(_parts, (given, moved)), strict=True)
    )
    return [first] if same else [first, ("0.1 % off", moved)]


def _concrete(value: Any, generator: np.random.Generator) -> Any:
    if is_key(getattr(value, "dtype", np.float64)):
        return _keys(value, generator)
    struct = struct_of(value)
    if not isinstance(value, jax.ShapeDtypeStruct):
        return np.asarray(value, struct.dtype)
    if jnp.issubdtype(struct.dtype, jnp.complexfloating):
        real, imag = generator.standard_normal((2, *struct.shape))
        return np.asarray(real + 1j * imag).astype(struct.dtype)
    if jnp.issubdtype(struct.dtype, jnp.floating):
        return np.asarray(generator.standard_normal(struct.shape)).astype(struct.dtype)
    return generator.integers(0, 2, struct.shape).astype(struct.dtype)


def _keys(value: Any, generator: np.random.Generator) -> Any:
    if not isinstance(value, jax.ShapeDtypeStruct):
        return value
    (words,) = part_structs(value)
    drawn = jnp.asarray(generator.integers(0, 2**32, words.shape, np.uint32))
    return jax.random.wrap_key_data(drawn, impl=generator_of(value))


def _moved(value: Any, generator: np.random.Generator) -> Any:
    if not jnp.issubdtype(value.dtype, jnp.floating):
        return value
    return np.asarray(value * (1 + 1e-3 * generator.uniform(-1, 1, value.shape))).astype(value.dtype)


def _run(session: AnySession, values: Any) -> list[np.ndarray]:
    wanted, flat = len(session.get_inputs()), _parts(values)
    if wanted != len(flat):
        raise VerificationError(f"The file takes {wanted} inputs, and the function {len(flat)}.")
    try:
        if isinstance(session, Session):
            names = [entry.name for entry in session.get_inputs()]
            return session.run(None, dict(zip(names, flat, strict=True)))
        return run(session, flat)
    except _ORT_ERRORS as error:
        raise VerificationError(
            f"ONNX Runtime {onnxruntime.__version__} does not run the file: {error}"
        ) from error
    except ExportError as error:
        raise VerificationError(str(error)) from error


def _allowed(metadata: Mapping[str, str], tolerance: float | None) -> Mapping[str, float]:
    """Returns the largest error by dtype: the one that is asked for, or what fits the file."""
    if tolerance is not None:
        return dict.fromkeys(_TOLERANCES, tolerance)
    operators = json.loads(metadata.get(FOREIGN, "{}"))
    by_differences = any(about["differences"] for about in operators.values())
    return {**_TOLERANCES, **_BY_DIFFERENCES} if by_differences else _TOLERANCES


def _parts(values: Any) -> list[Any]:
    """Returns the plain arrays of a pytree, as the file takes and gives them."""
    return [np.asarray(part) for value in jax.tree.leaves(values) for part in parts_of(value)]


def _compare(
    trial: str,
    came: Sequence[np.ndarray],
    wanted: Sequence[Any],
    session: AnySession,
    allowed: Mapping[str, float],
) -> list[Comparison]:
    names = [entry.name for entry in session.get_outputs()]
    if len(came) != len(wanted):
        raise VerificationError(f"The file gives {len(came)} outputs, and the function {len(wanted)}.")
    return [
        _compare_one(name, trial, ours, np.asarray(theirs), allowed)
        for name, ours, theirs in zip(names, came, wanted, strict=True)
    ]


def _compare_one(
    name: str, trial: str, came: np.ndarray, wanted: np.ndarray, tolerances: Mapping[str, float]
) -> Comparison:
    allowed = tolerances.get(wanted.dtype.name, 0.0)
    alike = came.shape == wanted.shape and came.dtype == wanted.dtype
    error, scale = _distance(came, wanted) if alike else (np.inf, np.inf)
    # Beside the scale the smallest normal number, for outputs that are zero.
    tiny = float(jnp.finfo(wanted.dtype).tiny) if allowed else 0.0
    ok = alike and bool(np.isfinite(error)) and error <= allowed * scale + tiny
    return Comparison(
        output=name, trial=trial, struct=describe(wanted), error=error, scale=scale, tolerance=allowed, ok=ok
    )


def _distance(came: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Returns the largest difference and finite magnitude; infinity where NaN or infinities do not match."""
    came, wanted = came.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(wanted)
    if (
        not np.array_equal(came[~finite], wanted[~finite], equal_nan=True)
        or not np.isfinite(came[finite]).all()
    ):
        return np.inf, np.inf
    error = np.abs(came[finite] - wanted[finite]).max(initial=0.0)
    return float(error), float(np.abs(wanted[finite]).max(initial=0.0))
