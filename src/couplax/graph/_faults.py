"""The faults of a model that can be seen from its names."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from couplax._errors import quoted

from ._component import Component
from ._same import same


def faults_of(given: Sequence[Any]) -> list[str]:
    """Returns every fault of a model made of `given`, each as a sentence; an empty list if there is none."""
    if not given:
        return ["the model has no components. Pass at least one: `Model(d1, d2)`."]
    components = list({id(item): item for item in given if isinstance(item, Component)}.values())
    return [
        *_strangers(given),
        *_given_twice(given),
        *_shared_names(components),
        *_written_twice(components),
        *_written_by_two(components),
        *_conflicting_defaults(components),
    ]


def _strangers(given: Sequence[Any]) -> Iterator[str]:
    """Yields a fault for each thing that is no component."""
    for number, item in enumerate(given, start=1):
        if isinstance(item, Component):
            continue
        what = f"function `{item.__name__}`" if hasattr(item, "__name__") else f"`{item!r:.40}`"
        yield (
            f"argument {number}, {what} of type {type(item).__name__}, is no component."
            ' Make it one by `@component("y")` above the function, or `component(fn, "y")`.'
        )


def _given_twice(given: Sequence[Any]) -> Iterator[str]:
    """Yields a fault for each component that is given more than once."""
    counts = Counter(id(item) for item in given)
    for item in {id(item): item for item in given if isinstance(item, Component)}.values():
        if counts[id(item)] > 1:
            yield f"component {item.described} is given {counts[id(item)]} times. Give it once."


def _shared_names(components: Sequence[Component]) -> Iterator[str]:
    """Yields a fault for each name that several components have."""
    by_name: dict[str, list[Component]] = {}
    for component in components:
        by_name.setdefault(component.name, []).append(component)
    for name, sharing in by_name.items():
        if len(sharing) > 1:
            places = ", ".join(component.place for component in sharing)
            yield f"{len(sharing)} components are called `{name}` ({places}). Tell them apart by `name=`."


def _written_twice(components: Sequence[Component]) -> Iterator[str]:
    """Yields a fault for each name that one component writes more than once."""
    for component in components:
        for name, count in Counter(output.name for output in component.outputs).items():
            if count > 1:
                yield f"component {component.described} writes `{name}` {count} times. Rename all but one."


def _written_by_two(components: Sequence[Component]) -> Iterator[str]:
    """Yields a fault for each name that several components write."""
    writers: dict[str, dict[int, Component]] = {}
    for position, component in enumerate(components):
        for output in component.outputs:
            writers.setdefault(output.name, {})[position] = component
    for name, by_position in writers.items():
        if len(by_position) > 1:
            who = " and ".join(component.described for component in by_position.values())
            yield f"`{name}` is written by {who}. Rename all but one: `rename={{{name!r}: ...}}`."


def _conflicting_defaults(components: Sequence[Component]) -> Iterator[str]:
    """Yields a fault for each input that nothing writes and that has several defaults."""
    written = {output.name for component in components for output in component.outputs}
    defaults: dict[str, list[tuple[Any, Component]]] = {}
    for component in components:
        for read in component.inputs:
            if not read.required and read.name not in written:
                defaults.setdefault(read.name, []).append((read.default, component))
    for name, found in defaults.items():
        if not all(same(found[0][0], value) for value, _ in found):
            said = ", ".join(f"{value!r} in {component.described}" for value, component in found)
            yield f"input {quoted([name])} has more than one default: {said}. Keep one, or make them equal."
