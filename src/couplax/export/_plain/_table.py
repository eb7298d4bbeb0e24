"""The table of rules for equations on keys and complex numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.extend.core as jec
import jax.numpy as jnp

from couplax._errors import ExportError
from couplax._source import where
from couplax.export._plain._values import Keys, Pair, Value
from couplax.export._types import describe_aval


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainContext:
    """An equation on keys or complex numbers.

    Attributes:
        eqn: the equation.
        run: from a closed jaxpr and the values of its inputs to the values of its outputs.
    """

    eqn: jec.JaxprEqn
    run: Callable[[jec.ClosedJaxpr, Sequence[Value]], list[Value]]

    @property
    def in_avals(self) -> list[Any]:
        """The avals of the equation's inputs."""
        return [atom.aval for atom in self.eqn.invars]

    @property
    def out_avals(self) -> list[Any]:
        """The avals of the equation's outputs."""
        return [atom.aval for atom in self.eqn.outvars]

    def refuse(self, reason: str) -> ExportError:
        """Returns the error that says why this equation cannot be written."""
        inputs = ", ".join(map(describe_aval, self.in_avals))
        return ExportError(
            f"JAX primitive `{self.eqn.primitive.name}` on ({inputs}), reached at {where(self.eqn)}, cannot "
            f"be written to ONNX: {reason}.\nRewrite that call."
        )

    def typed(self, inputs: Sequence[Value]) -> list[Value]:
        """Returns `inputs`, numbers without a dtype as arrays of the dtypes that the equation says."""
        return [
            value if isinstance(value, Keys | Pair) else jnp.asarray(value, aval.dtype)
            for value, aval in zip(inputs, self.in_avals, strict=True)
        ]


PlainRule = Callable[..., Value]
"""`rule(context, *inputs, **params)` returns the output, or the outputs where the primitive has several."""

PLAIN_RULES: dict[str, PlainRule] = {}


def plain_rule(*primitives: str) -> Callable[[PlainRule], PlainRule]:
    """Returns a decorator that registers a rule for primitives, by name.

    Raises:
        ValueError: a primitive has a rule already.
    """

    def register(rule: PlainRule) -> PlainRule:
        for name in primitives:
            if name in PLAIN_RULES:
                raise ValueError(f"plain_rule: primitive `{name}` has a rule already.")
            PLAIN_RULES[name] = rule
        return rule

    return register
