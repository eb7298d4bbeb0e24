"""One run of a file in ONNX Runtime, with bfloat16 among its inputs and outputs too."""

from collections.abc import Sequence
from ctypes import string_at
from typing import Any

import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime

_BFLOAT16 = np.dtype(jnp.bfloat16)


def run(session: onnxruntime.InferenceSession, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the outputs of a session on `inputs`, in order.

    Numpy's bfloat16 is a type that ONNX Runtime does not know: its bits go in as integers with the type said
    beside them, and are read where they lie.
    """
    names = [entry.name for entry in session.get_inputs()]
    given = {name: _given(value) for name, value in zip(names, inputs, strict=True)}
    return [_read(value) for value in session.run_with_ort_values(None, given)]


def _given(array: np.ndarray) -> Any:
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype != _BFLOAT16:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = array.view(np.uint16)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)


def _read(value: Any) -> np.ndarray:
    if value.data_type() != "tensor(bfloat16)":
        return np.asarray(value.numpy())
    bits = string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return np.frombuffer(bits, _BFLOAT16).reshape(value.shape()).copy()
