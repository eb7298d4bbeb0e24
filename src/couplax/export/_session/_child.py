"""The other process: ONNX Runtime, with operators that are computed by the process that started it.

It runs as a script, by itself: nothing of couplax is imported, and nothing of JAX. What passes between the
two are messages: a kind, what it is about, and arrays as bytes with a dtype and a shape.
"""

import json
import os
import struct
import sys
from collections.abc import Callable, Sequence
from ctypes import string_at
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]
Message = tuple[str, Any, list[Array]]

_LENGTH = struct.Struct("<I")
_ARRAY = struct.Struct("<3sB")
"""A dtype, as numpy spells it (`<f8`), and the number of axes."""

_TYPES = {
    "bool": "dt_bool",
    **{f"int{bits}": f"dt_int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"dt_uint{bits}" for bits in (8, 16, 32, 64)},
    "float32": "dt_float",
    "float64": "dt_double",
}
"""What an operator's dtypes are called there."""


def packed(kind: str, about: Any = None, arrays: Arrays = ()) -> bytes:
    """Returns a message as bytes."""
    return with_arrays(headed(kind, about), arrays)


def headed(kind: str, about: Any = None) -> bytes:
    """Returns the head of a message, which arrays may follow."""
    head = json.dumps([kind, about]).encode()
    return _LENGTH.pack(len(head)) + head


def with_arrays(head: bytes, arrays: Arrays) -> bytes:
    """Returns a message of a head and arrays."""
    parts = [head]
    for array in arrays:
        shape = array.shape
        word = _ARRAY.pack(array.dtype.str.encode(), len(shape))
        parts += word, struct.pack(f"<{len(shape)}q", *shape), array.tobytes()
    return b"".join(parts)


def unpacked(data: bytes) -> Message:
    """Returns a message, with arrays of its own."""
    at = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    kind, about = _head_of(data[_LENGTH.size : at])
    arrays: list[Array] = []
    while at < len(data):
        word, rank = _ARRAY.unpack_from(data, at)
        shape = struct.unpack_from(f"<{rank}q", data, at + _ARRAY.size)
        at += _ARRAY.size + 8 * rank
        # A copy is aligned, and may be written to.
        array = np.ndarray(shape, word.decode(), data, at).copy()
        at += array.nbytes
        arrays.append(array)
    return kind, about, arrays


@lru_cache(maxsize=32)
def _head_of(data: bytes) -> tuple[str, Any]:
    """Returns what a head says; the calls of an operator all have the same."""
    kind, about = json.loads(data)
    return kind, about


def serve(channel: Connection) -> None:
    """Opens the session that the first message asks for, and runs it as often as asked, until nobody asks."""
    try:
        _, about, model = unpacked(channel.recv_bytes())
        session = _opened(channel, about, model)
        channel.send_bytes(packed("ready", _facts(session)))
    except Exception as error:  # whatever ONNX Runtime raises is told
        channel.send_bytes(packed("fault", str(error)))
        return
    while True:
        _, about, feeds = unpacked(channel.recv_bytes())
        channel.send_bytes(_answer(session, about, feeds))


def _opened(channel: Connection, about: Any, model: list[Array]) -> Any:
    """Returns the session; the operators are made known before, as they must be."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Errors are told. Threads that wait for an operator leave the processor to what computes it.
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if about["operators"]:
        _make_known(channel, about["operators"], options)
    source = model[0].tobytes() if model else about["path"]
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _make_known(channel: Connection, operators: Any, options: Any) -> None:
    # The package loads `onnx` where it is there, which it does not need here.
    sys.modules.setdefault("onnx", None)  # pyright: ignore[reportArgumentType]  None is how Python marks it
    import onnxruntime_extensions as extensions

    kinds = extensions.PyCustomOpDef
    for name, takes, gives in operators:
        inputs, outputs = ([getattr(kinds, _TYPES[dtype]) for dtype in dtypes] for dtypes in (takes, gives))
        asked = _asking(channel, name, len(gives))
        extensions.Opdef.create(asked, op_type=name, inputs=inputs, outputs=outputs)
    options.register_custom_ops_library(extensions.get_library_path())


class _Exact(np.ndarray[Any, Any]):
    """An array that stays one where the package would make a list of it.

    A list takes ten times as long, and loses what is beyond 2^63 where a smaller integer stands beside it.
    """

    def tolist(self) -> Any:
        """Returns the array."""
        return self.view(np.ndarray)


def _asking(channel: Connection, name: str, count: int) -> Callable[..., Any]:
    """Returns the operator that asks the other process. It never raises: ONNX Runtime would crash."""
    head = headed("call", name)

    def call(*arrays: Any) -> Any:
        try:
            channel.send_bytes(with_arrays(head, arrays))
            _, _, results = unpacked(channel.recv_bytes())
            exact = [result.view(_Exact) for result in results]
            return tuple(exact) if count > 1 else exact[0]
        except BaseException:
            os._exit(1)

    return call


def _facts(session: Any) -> dict[str, Any]:
    told = session.get_modelmeta()
    return {
        "inputs": [[entry.name, entry.type, entry.shape] for entry in session.get_inputs()],
        "outputs": [[entry.name, entry.type, entry.shape] for entry in session.get_outputs()],
        "metadata": dict(told.custom_metadata_map),
    }


def _answer(session: Any, about: Any, feeds: Arrays) -> bytes:
    given = dict(zip(about["inputs"], feeds, strict=True))
    try:
        odd = any(entry.type == _BFLOAT16 for entry in (*session.get_inputs(), *session.get_outputs()))
        outputs = (_with_bits if odd else type(session).run)(session, about["outputs"], given)
        return packed("done", None, [np.asarray(output) for output in outputs])
    except Exception as error:  # whatever ONNX Runtime raises is told
        return packed("fault", str(error))


_BFLOAT16, _NUMBER = "tensor(bfloat16)", 16
"""What ONNX Runtime calls bfloat16, and ONNX's number for it."""


def _with_bits(session: Any, names: Any, given: dict[str, Array]) -> list[Array]:
    """Returns the outputs of a file that has bfloat16, which numpy lacks, as two bytes each."""
    import onnxruntime

    def entered(array: Array) -> Any:
        if array.dtype.kind != "V":
            return onnxruntime.OrtValue.ortvalue_from_numpy(array)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), _NUMBER)

    def left(value: Any) -> Array:
        if value.data_type() != _BFLOAT16:
            return value.numpy()
        bits = string_at(value.data_ptr(), value.tensor_size_in_bytes())
        return np.frombuffer(bits, "V2").reshape(value.shape())

    values = {name: entered(array) for name, array in given.items()}
    return [left(value) for value in session.run_with_ort_values(names, values)]


if __name__ == "__main__":
    try:
        serve(Connection(int(sys.argv[1])))
    except (EOFError, OSError):
        # The process that asks has closed its end.
        os._exit(0)
