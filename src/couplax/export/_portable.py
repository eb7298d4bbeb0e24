"""The pass that leaves no call of LAPACK: what factorises and solves is written out in plain operations.

JAX lowers factorisations on a CPU to calls of LAPACK, which it brings along itself. TensorFlow does not, nor
does another runtime of StableHLO.
"""

from collections.abc import Sequence, Set
from functools import partial
from typing import Any

import jax
import jax.extend.core as jec

from couplax._errors import MissingRuleError
from couplax._source import where
from couplax.export._compositions import COMPOSITIONS, Composition, NotWritten
from couplax.export._host_calls import equations
from couplax.export._types import describe_aval
from couplax.stage import FINALISE_RULES, FinaliseContext, finalise, simplify

LIBRARY_CALLS = frozenset(
    {
        "cholesky",
        "eig",
        "eigh",
        "geqrf",
        "hessenberg",
        "householder_product",
        "lu",
        "lu_pivots_to_permutation",
        "ormqr",
        "qr",
        "schur",
        "svd",
        "triangular_solve",
        "tridiagonal",
        "tridiagonal_solve",
    }
)
"""The primitives that JAX lowers to calls of a library on some platform."""

PASSING_CALLS = frozenset({"ormqr"})
"""Those whose calls the next version of JAX may not know any more, so that none may be written."""


def portable(closed: jec.ClosedJaxpr, names: Set[str] = LIBRARY_CALLS) -> jec.ClosedJaxpr:
    """Returns `closed` with plain operations in place of the primitives of `names`, which call a library.

    Raises:
        MissingRuleError: a primitive calls a library, and nothing is there to stand for it.
    """
    found = {eqn.primitive.name: eqn for eqn in equations(closed.jaxpr)}
    calls = {name: eqn for name, eqn in found.items() if name in names}
    if not calls:
        return closed
    missing = [eqn for name, eqn in calls.items() if name not in COMPOSITIONS]
    if missing:
        raise _missing(missing[0])
    rules = {name: partial(_composed, COMPOSITIONS[name]) for name in calls}
    return simplify(finalise(closed, rules=FINALISE_RULES | rules))


def _composed(fn: Composition, context: FinaliseContext, *inputs: Any, **params: Any) -> Sequence[Any]:
    def outputs(*values: Any) -> list[Any]:
        return jax.tree.leaves(fn(*values, **params))

    avals = map(jax.typeof, inputs)
    structs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
    try:
        return context.inline(jax.make_jaxpr(outputs)(*structs), *inputs)
    except NotWritten as reason:
        raise MissingRuleError(
            f"JAX primitive `{context.eqn.primitive.name}`, reached at {where(context.eqn)}, is a call of a "
            f"library that comes with JAX alone: {reason}.\nRewrite that call."
        ) from None


def _missing(eqn: jec.JaxprEqn) -> MissingRuleError:
    inputs = ", ".join(describe_aval(atom.aval) for atom in eqn.invars)
    return MissingRuleError(
        f"JAX primitive `{eqn.primitive.name}` on ({inputs}), reached at {where(eqn)}, is a call of a "
        "library that comes with JAX alone, and nothing in couplax stands for it elsewhere.\n"
        "Rewrite that call."
    )
