"""Foreign codes of complex numbers, which stay what they are: an operator has none of two parts."""

from typing import Any

from couplax._errors import ExportError
from couplax._source import where
from couplax.export._plain._table import PlainContext, plain_rule
from couplax.export._plain._values import Value
from couplax.foreign._primitives import FOREIGN_PRIMITIVES


@plain_rule(*sorted(primitive.name for primitive in FOREIGN_PRIMITIVES))
def _foreign(context: PlainContext, *inputs: Value, host: Any, **params: Any) -> Value:
    raise ExportError(
        f"Foreign code `{host.code.name}`, called at {where(context.eqn)}, takes or gives complex numbers, "
        "and ONNX has none for an operator. Let it take and give their real and imaginary parts, or pair it "
        "with a JAX function, couplax.paired(fast, reference)."
    )
