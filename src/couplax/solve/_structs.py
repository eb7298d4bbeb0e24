"""Shapes and dtypes of variables, found before anything runs, and every fault that is found on the way."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.core

from couplax._errors import GuessError, ModelError
from couplax._tree import describe, struct_of
from couplax.graph import Component, Cycle, Input, Kind, Node, Output, free_inputs, order
from couplax.solve._closure import Closure
from couplax.solve._start import TRACING_FAULTS

Structs = Mapping[str, Any]
"""Pytrees of `jax.ShapeDtypeStruct` by variable name."""


def declared(nodes: Iterable[Node]) -> dict[str, Any]:
    """Returns the structs that are declared of what is written, and of what is read and not written.

    Of no declared dtype they are floats.
    """
    nodes = tuple(nodes)
    variables = (*(output for node in nodes for output in node.outputs), *free_inputs(nodes))
    return {variable.name: _declared(variable) for variable in variables if variable.shape is not None}


def _declared(variable: Input | Output) -> jax.ShapeDtypeStruct:
    dtype = float if variable.dtype is None else variable.dtype
    return jax.ShapeDtypeStruct(tuple(variable.shape or ()), jax.dtypes.canonicalize_dtype(dtype))


def structs_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the structs of values."""
    return {name: jax.tree.map(_struct, value) for name, value in values.items()}


def _struct(value: Any) -> Any:
    if isinstance(value, jax.core.Tracer):
        return jax.ShapeDtypeStruct(value.shape, value.dtype)
    return struct_of(value)


def inferred(steps: Iterable[Node | Cycle], known: Structs) -> tuple[dict[str, Any], list[str]]:
    """Returns the structs of what can be told from `known`, and a sentence for each fault found on the way.

    Components are traced, one by one, and none is run. What a component that cannot be traced writes is not
    known, and neither is what depends on it.

    Args:
        known: of variables that are given or declared.
    """
    structs = dict(known)
    faults: list[str] = []
    for component in _in_order(steps):
        if not all(read.name in structs for read in component.inputs):
            # A default says nothing of the shape of what may be given instead.
            continue
        try:
            written = _traced(component, structs)
        except ModelError as error:
            faults += error.faults
        except TRACING_FAULTS as error:
            faults.append(_fault(component, structs, error))
        else:
            structs.update({name: struct for name, struct in written.items() if name not in structs})
    return structs, faults


def _in_order(steps: Iterable[Node | Cycle]) -> Iterator[Component]:
    """Yields the components as they run, those of open cycles as declared.

    Those of integrals are left out: they run in time, and what they write is saved at many times.
    """
    for step in steps:
        match step:
            case Component() if step.kind is not Kind.RATE:
                yield step
            case Cycle():
                yield from _in_order(step.nodes)
            case Closure():
                yield from _in_order(order(step.cycle, step.cut))
            case _:
                pass


_known: WeakKeyDictionary[Component, dict[Any, dict[str, Any]]] = WeakKeyDictionary()
"""What components write, by what they read: a model that is changed, closed or nested is not traced anew."""


def _traced(component: Component, structs: Structs) -> dict[str, Any]:
    """Returns the structs of what `component` writes."""
    read = {item.name: structs[item.name] for item in component.inputs if item.name in structs}
    leaves, tree = jax.tree.flatten(read)
    kept = _known.setdefault(component, {})
    key = (tuple(leaves), tree)
    if key not in kept:
        kept[key] = jax.eval_shape(component.evaluate, read)
    return kept[key]


def _fault(component: Component, structs: Structs, error: Exception) -> str:
    """Returns what is said of a component that cannot be traced."""
    names = dict.fromkeys(read.name for read in component.inputs if read.name in structs)
    read = ", ".join(f"`{name}` {_described(structs[name])}" for name in names)
    said = next(iter(str(error).splitlines()), "")
    return (
        f"component {component.described} cannot be run on {read or 'nothing'}:"
        f" {type(error).__name__}: {said.rstrip('.')}."
    )


def _described(struct: Any) -> str:
    leaves = jax.tree.leaves(struct)
    return describe(leaves[0]) if len(leaves) == 1 else f"({', '.join(map(describe, leaves))})"


@contextmanager
def all_faults(
    steps: Iterable[Node], given: Mapping[str, Any], guesses: Mapping[str, Any]
) -> Generator[None]:
    """Raises every fault of shape and dtype where one ends the tracing of a program.

    Args:
        given: what the program reads; `guesses`: where its unknowns start.

    Raises:
        ModelError: with a sentence for each.
    """
    try:
        yield
    except TRACING_FAULTS as error:
        if isinstance(error, GuessError) and error.__cause__ is None:
            # The guess itself does not fit; else a component did not take it, or what it was given beside.
            raise
        known = {**structs_of(guesses), **declared(steps), **structs_of(given)}
        _, faults = inferred(steps, known)
        if not faults:
            raise
        raise ModelError(faults) from error
