"""What a model is run on: values and guesses, by name."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import jax
import jax.core
import numpy as np

from couplax._errors import GuessError, ModelError
from couplax.graph import Graph, is_outside, missing_inputs, unknown_names
from couplax.solve._program import Program, closures_in

_NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def as_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `given` with rows of numbers, lists or tuples, as arrays; other trees stay what they are."""
    return {
        name: np.asarray(value) if isinstance(value, list | tuple) and _is_row(value) else value
        for name, value in given.items()
    }


def _is_row(value: Any) -> bool:
    """Returns whether `value` is a list or tuple of numbers, or of rows alike."""
    if not value or not all(isinstance(each, list | tuple) for each in value):
        return bool(value) and all(isinstance(each, _NUMBERS) for each in value)
    return len({len(each) for each in value}) == 1 and all(_is_row(each) for each in value)


def check_inputs(graph: Graph, given: Collection[str], needed: Collection[str]) -> None:
    """Raises where an input of `graph` is given that it does not have, or twice, or one is missing.

    Args:
        needed: the inputs that have to be given, unless they have a default.

    Raises:
        ModelError: with a sentence for each.
    """
    repeated = [
        f"input `{name}` is given {count} times." for name, count in Counter(list(given)).items() if count > 1
    ]
    not_needed = [name for name in graph.inputs if name not in needed]
    faults = [
        *unknown_names(given, graph.inputs, "input"),
        *repeated,
        *missing_inputs(graph, [*given, *not_needed]),
    ]
    if faults:
        raise ModelError(faults)


def guesses_for(
    program: Program, graph: Graph, declared: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns where each unknown of the program starts: as given, else as its output declares.

    Raises:
        GuessError: a guess is given of no unknown of the graph, or an unknown has none.
    """
    check_guesses(program, graph, declared, given)
    found = as_values(given)
    check_bounds(graph, found)
    return {name: found.get(name, declared.get(name)) for name in program.unknowns}


def check_once(values: Mapping[str, Any], named: Mapping[str, Any]) -> None:
    """Raises where an input is given by mapping and by keyword.

    Raises:
        ModelError: with a sentence for each.
    """
    both = [
        f"input `{name}` is given twice, in the mapping and as a keyword." for name in values if name in named
    ]
    if both:
        raise ModelError(both)


def check_bounds(graph: Graph, guesses: Mapping[str, Any]) -> None:
    """Raises where a guess is outside the bounds that are declared of its unknown, as far as it is known.

    Raises:
        GuessError: with a sentence for each.
    """
    faults = [
        f"The guess of `{name}`, {guesses[name]}, is outside its bounds {lower} to {upper}, which"
        f" {component.described} declares. Choose one between them."
        for name, (component, (lower, upper)) in graph.bounded.items()
        if name in guesses and not _is_traced(guesses[name]) and is_outside(guesses[name], (lower, upper))
    ]
    if faults:
        raise GuessError("\n".join(faults))


def _is_traced(value: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value))


def check_guesses(
    program: Program, graph: Graph, declared: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Raises where a guess is given of no unknown of the graph, or an unknown of the program has none.

    Raises:
        GuessError: with a sentence for each.
    """
    every = [name for node in graph.nodes for name in node.unknowns]
    faults = unknown_names(given, every, "unknown")
    faults += [
        f"`{name}`, an unknown of cycle `{_cycle_of(program, name)}`, has no guess. Pass "
        f"guess={{{name!r}: ...}}, or declare couplax.output({name!r}, guess=...)."
        for name in program.unknowns
        if name not in given and name not in declared
    ]
    if faults:
        raise GuessError("\n".join(faults))


def _cycle_of(program: Program, unknown: str) -> str:
    """Returns the name of the cycle that is cut at `unknown`."""
    return next(closure.name for closure in closures_in(program.steps) if unknown in closure.cut)
