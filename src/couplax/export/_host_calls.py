"""Calls of the host that are left in a staged program, where the target has no host to call."""

from collections.abc import Iterator
from typing import Any

import jax.extend.core as jec

from couplax._errors import ExportError, MissingRuleError
from couplax._source import where
from couplax.export._types import describe_aval
from couplax.foreign._primitives import FOREIGN_PRIMITIVES
from couplax.stage._known import is_host_call


def refuse_host_calls(closed: jec.ClosedJaxpr, target: str) -> None:
    """Returns nothing; raises where `closed` calls Python or a foreign code, which `target` cannot hold.

    Raises:
        MissingRuleError: a foreign code that no JAX function stands for.
        ExportError: a callback of JAX's.
    """
    for eqn in equations(closed.jaxpr):
        if eqn.primitive in FOREIGN_PRIMITIVES:
            raise _foreign(eqn, target)
        if is_host_call(eqn.primitive):
            raise ExportError(
                f"JAX primitive `{eqn.primitive.name}`, reached at {where(eqn)}, calls back into Python, and "
                f"{target} has no Python to call.\nTake that call out, or write what it computes in JAX."
            )


def equations(jaxpr: Any) -> Iterator[jec.JaxprEqn]:
    """Yields every equation of `jaxpr`, those of the jaxprs inside it included."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in jec.jaxprs_in_params(eqn.params):
            yield from equations(inner)


def _foreign(eqn: jec.JaxprEqn, target: str) -> MissingRuleError:
    inputs = ", ".join(describe_aval(atom.aval) for atom in eqn.invars)
    code = eqn.params["host"].code.name
    return MissingRuleError(
        f"Foreign code `{code}`, called at {where(eqn)} on ({inputs}), cannot go into {target}.\n"
        "Pair it with a JAX function that stands for it there: couplax.paired(fast, reference)."
    )
