"""What makes the Jacobian of a cycle's residual singular where its solve ended."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from couplax.graph import order
from couplax.solve._closure import Closure
from couplax.solve._singular import singular_parts

Values = Mapping[str, Any]

_MOST_UNKNOWNS = 200
"""Of more the Jacobian is not looked at: it costs as many evaluations of the cycle."""


def singularity(closure: Closure, given: Values, guesses: Values) -> str:
    """Returns what makes the Jacobian of the residual with respect to the unknowns singular, if it is."""
    unknowns = {name: jax.tree.map(jnp.asarray, given[name]) for name in closure.cut}
    flat, rebuild = ravel_pytree(unknowns)
    if flat.size > _MOST_UNKNOWNS:
        return ""
    matrix = np.asarray(
        jax.jacfwd(lambda at: ravel_pytree(_residual(closure, given, rebuild(at), guesses))[0])(flat)
    )
    finite = bool(np.isfinite(matrix).all())
    if finite and np.linalg.matrix_rank(matrix) == flat.size:
        return ""
    names = [label for name in closure.cut for label in _elements(name, unknowns[name])]
    said = singular_parts(matrix, names, names)
    return f"{said[0].upper()}{said[1:]}."


def _residual(closure: Closure, given: Values, unknowns: Values, guesses: Values) -> dict[str, Any]:
    """Returns the residual of each unknown, as the solver had it."""
    values = {**given, **unknowns}
    ends: dict[str, Any] = {}
    for node in order(closure.cycle, closure.cut):
        came, _ = node.run(values, guesses)
        ends.update({name: value for name, value in came.items() if name in closure.cut})
        values.update({name: value for name, value in came.items() if name not in closure.cut})
    return closure.problem.residual(ends, unknowns)


def _elements(name: str, value: Any) -> list[str]:
    """Returns what each number in `value` is called, such as `w[3]`."""
    found: list[str] = []
    for path, leaf in jax.tree.leaves_with_path(value):
        label = name + jax.tree_util.keystr(path)
        places = [",".join(map(str, index)) for index in np.ndindex(leaf.shape)]
        found += [f"{label}[{place}]" if place else label for place in places]
    return found
