"""A graph as text and its constants as arrays, made a model."""

from collections.abc import Mapping
from typing import Any

import onnx

Arrays = Mapping[str, Any]


def model_of(text: str, arrays: Arrays) -> onnx.ModelProto:
    """Returns the checked model of a graph in ONNX's own notation."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\nby_hand {text}')
    for name, array in arrays.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.checker.check_model(model, full_check=True)
    return model
