"""The table of ONNX rules: one per primitive, by the primitive's name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.extend.core as jec

OnnxRule = Callable[..., Any]
"""`rule(context, *inputs, **params)` returns the output, or the outputs where the primitive has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A rule with how it takes its inputs.

    Attributes:
        broadcasts: whether the rule takes inputs smaller than their avals, as long as they broadcast to
            them, and may return such outputs. Other rules get their inputs at full size.
    """

    rule: OnnxRule
    broadcasts: bool = False


OnnxRules = Mapping[str, Entry]
"""Entries by the primitive's name."""

ONNX_RULES: dict[str, Entry] = {}


def rule_for(primitive: jec.Primitive | str, *, broadcasts: bool = False) -> Callable[[OnnxRule], OnnxRule]:
    """Returns a decorator that registers an ONNX rule for `primitive`, given itself or by name.

    The rule gets a `Context`, the inputs positionally and every param of the primitive by name, and returns
    the output (a sequence of them where the primitive has several).

    Args:
        broadcasts: the rule is elementwise: it takes inputs that broadcast to their shape, and may return
            such an output.

    Raises:
        ValueError: the primitive has a rule already.
    """
    name = primitive if isinstance(primitive, str) else primitive.name

    def register(rule: OnnxRule) -> OnnxRule:
        if name in ONNX_RULES:
            raise ValueError(
                f"rule_for: primitive `{name}` has an ONNX rule already; two would be one too many."
            )
        ONNX_RULES[name] = Entry(rule=rule, broadcasts=broadcasts)
        return rule

    return register
