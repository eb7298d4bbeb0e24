"""Foreign codes as custom operators: nodes of a domain of their own, and what the file says of them."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from couplax._errors import ExportError
from couplax._source import where
from couplax.export._context import Context
from couplax.export._names import FOREIGN
from couplax.export._table import Entry, OnnxRules
from couplax.export._types import TensorType
from couplax.foreign._operator import carrier, described
from couplax.foreign._primitives import FOREIGN_PRIMITIVES

if TYPE_CHECKING:
    import onnx_ir as ir

ForeignChoice = Literal["error", "custom_op"]
"""What a foreign code may become."""

DOMAIN = "couplax"
"""The domain of the operators that stand for foreign codes."""


class Operators:
    """The operators that a file calls, by their names; calls that are alike are calls of one operator."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._described: dict[str, dict[str, Any]] = {}
        self._hosts: dict[str, Any] = {}

    def rules(self) -> OnnxRules:
        """Returns the rules that write calls of foreign codes as operators."""
        return {primitive.name: Entry(rule=self._write) for primitive in FOREIGN_PRIMITIVES}

    def finish(self, model: "ir.Model") -> None:
        """Says in `model` what the operators are that it calls, as JSON under `couplax.foreign`."""
        called = {node.op_type for node in model.graph.all_nodes() if node.domain == DOMAIN}
        if called:
            model.opset_imports[DOMAIN] = 1
            kept = {name: about for name, about in self._described.items() if name in called}
            model.metadata_props[FOREIGN] = json.dumps(kept, ensure_ascii=False)

    def _write(
        self,
        context: Context,
        *inputs: "ir.Value",
        host: Any,
        signature: Any,
        mapped: Sequence[bool],
        lanes: Any,
        transposed: bool | None = None,
    ) -> list["ir.Value"]:
        self._check_name(host)
        about = described(
            context.eqn.primitive.name,
            host=host,
            signature=signature,
            mapped=mapped,
            lanes=lanes,
            transposed=transposed,
        )
        name = self._name(about, where(context.eqn))
        ins = zip(inputs, context.ins, strict=True)
        taken = [context.cast(value, carrier(tensor.dtype)) for value, tensor in ins]
        wide = [TensorType(carrier(tensor.dtype), tensor.shape) for tensor in context.outs]
        given = context.ops(name, *taken, outputs=wide, domain=DOMAIN)
        outs = zip(given, context.outs, strict=True)
        return [context.cast(value, tensor.dtype) for value, tensor in outs]

    def _check_name(self, host: Any) -> None:
        if self._hosts.setdefault(host.name, host) is not host:
            raise ExportError(
                f"Two foreign codes are named `{host.name}`, and the operators of a file bear the names of "
                "their codes. Give each its own: couplax.foreign(..., name=...)."
            )

    def _name(self, about: dict[str, Any], place: str) -> str:
        """Returns the name of the operator that is described so, a new one where there is none."""
        key = json.dumps(about)
        if key not in self._names:
            name = _free(_stem(about), self._described)
            self._names[key], self._described[name] = name, {**about, "called_at": []}
        places = self._described[self._names[key]]["called_at"]
        if place not in places:
            places.append(place)
        return self._names[key]


def _stem(about: dict[str, Any]) -> str:
    """Returns such as `disc_value` or `disc_tangent_batch`."""
    code = re.sub(r"\W+", "_", about["code"], flags=re.ASCII).strip("_") or "code"
    return f"{code}_{about['operation']}" + ("" if about["batch"] is None else "_batch")


def _free(stem: str, taken: Iterable[str]) -> str:
    """Returns `stem`, with a number where that is taken already."""
    taken, number, name = set(taken), 1, stem
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def check_choice(foreign: Any) -> None:
    """Returns nothing; raises where `foreign` is none of what there is to choose from."""
    choices = get_args(ForeignChoice)
    if foreign not in choices:
        raise ExportError(f"foreign={foreign!r} is none of {', '.join(map(repr, choices))}.")
