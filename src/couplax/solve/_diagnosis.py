"""What is found where a solve ended, by running the nodes once more, one by one."""

from collections.abc import Mapping
from typing import Any

import optimistix as optx

from couplax.graph import Node, order
from couplax.solve._closure import Closure
from couplax.solve._jacobian import singularity
from couplax.solve._numbers import is_finite, text_of
from couplax.solve._solve import Solve, verdict_of

Values = Mapping[str, Any]


_DERIVATIVES = [int(verdict_of(result)) for result in (optx.RESULTS.singular, optx.RESULTS.nonfinite)]
"""Where a solve ends like this the Jacobian is looked at, which costs evaluations; elsewhere it is not."""


def diagnosis(closure: Closure, inputs: Values, solve: Solve, guesses: Values) -> str:
    """Returns in a sentence what is wrong at the point where the solve ended; nothing where nothing is seen.

    Args:
        inputs: what the cycle read.
        guesses: where the unknowns of cycles inside start.
    """
    given = {**inputs, **solve.values}
    bad = next((name for name, value in given.items() if not is_finite(value)), None)
    if bad is not None:
        return f"The {'input' if bad in inputs else 'unknown'} `{bad}` is {text_of(given[bad])}."
    try:
        found = _first_nonfinite(closure, given, guesses)
        if not found and int(solve.verdict) in _DERIVATIVES:
            found = singularity(closure, given, guesses)
        return found
    except Exception as error:  # the boundary to the user's code, of which any may fail at such a point
        return f"There a component raises {type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _first_nonfinite(closure: Closure, given: Values, guesses: Values) -> str:
    """Returns which node first gives NaN or an infinity from finite values."""
    values = dict(given)
    for node in order(closure.cycle, closure.cut):
        came, _ = node.run(values, guesses)
        for name, value in came.items():
            if not is_finite(value):
                return f"{_named(node)} gives `{name}` = {text_of(value)} from {_read(node, values)}."
        values.update({name: value for name, value in came.items() if name not in closure.cut})
    return ""


def _named(node: Node) -> str:
    text = node.described
    return text if text.startswith("cycle") else f"Component {text}"


def _read(node: Node, values: Values) -> str:
    shown = [f"{read.name} = {text_of(values[read.name], 8)}" for read in node.inputs if read.name in values]
    more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
    return ", ".join(shown[:4]) + more
