"""The faults of a model that can be seen from its names and from what is declared of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import jax.dtypes
import numpy as np

from couplax._errors import MissingExtraError, quoted

from ._node import Node
from ._same import same
from ._units import conversion
from ._variables import Input, Output, is_outside


def faults_of(given: Sequence[Any]) -> list[str]:
    """Returns every fault of a model made of `given`, each as a sentence; an empty list if there is none."""
    if not given:
        return ["the model has no components. Pass at least one: `Model(d1, d2)`."]
    nodes = list({id(item): item for item in given if isinstance(item, Node)}.values())
    return [
        *_strangers(given),
        *_given_twice(given),
        *_shared_names([component for node in nodes for component in node.components]),
        *_written_twice([component for node in nodes for component in node.components]),
        *_written_by_two(nodes),
        *_conflicting_defaults(nodes),
        *_clashes(nodes),
        *_bad_bounds(nodes),
    ]


def _strangers(given: Sequence[Any]) -> Iterator[str]:
    """Yields a fault for each thing that is no component."""
    for number, item in enumerate(given, start=1):
        if isinstance(item, Node):
            continue
        what = f"function `{item.__name__}`" if hasattr(item, "__name__") else f"`{item!r:.40}`"
        yield (
            f"argument {number}, {what} of type {type(item).__name__}, is no component."
            ' Make it one by `@component("y")` above the function, or `component(fn, "y")`.'
        )


def _given_twice(given: Sequence[Any]) -> Iterator[str]:
    """Yields a fault for each component that is given more than once."""
    counts = Counter(id(item) for item in given)
    for item in {id(item): item for item in given if isinstance(item, Node)}.values():
        if counts[id(item)] > 1:
            yield f"component {item.described} is given {counts[id(item)]} times. Give it once."


def _shared_names(nodes: Sequence[Node]) -> Iterator[str]:
    """Yields a fault for each name that several components have."""
    by_name: dict[str, list[Node]] = {}
    for component in nodes:
        by_name.setdefault(component.name, []).append(component)
    for name, sharing in by_name.items():
        if len(sharing) > 1:
            places = ", ".join(component.place for component in sharing)
            yield f"{len(sharing)} components are called `{name}` ({places}). Tell them apart by `name=`."


def _written_twice(nodes: Sequence[Node]) -> Iterator[str]:
    """Yields a fault for each name that one component writes more than once."""
    for component in nodes:
        for name, count in Counter(output.name for output in component.outputs).items():
            if count > 1:
                yield f"component {component.described} writes `{name}` {count} times. Rename all but one."


def _written_by_two(nodes: Sequence[Node]) -> Iterator[str]:
    """Yields a fault for each name that several components write, wherever they are."""
    writers: dict[str, list[Node]] = {}
    for node in nodes:
        inside = _writers(node)
        for name in {output.name: None for output in node.outputs}:
            writers.setdefault(name, []).extend(inside.get(name, [node]))
    for name, writing in writers.items():
        if len(writing) > 1:
            who = " and ".join(node.described for node in writing)
            yield f"`{name}` is written by {who}. Rename all but one: `rename={{{name!r}: ...}}`."


def _writers(node: Node) -> dict[str, list[Node]]:
    """Returns the components inside `node` that write each name: a node may write some itself."""
    found: dict[str, list[Node]] = {}
    for component in node.components:
        for name in {output.name: None for output in component.outputs}:
            found.setdefault(name, []).append(component)
    return found


def _conflicting_defaults(nodes: Sequence[Node]) -> Iterator[str]:
    """Yields a fault for each input that nothing writes and that has several defaults."""
    written = {output.name for component in nodes for output in component.outputs}
    defaults: dict[str, list[tuple[Any, Node]]] = {}
    for component in nodes:
        for read in component.inputs:
            if not read.required and read.name not in written:
                defaults.setdefault(read.name, []).append((read.default, component))
    for name, found in defaults.items():
        if not all(same(found[0][0], value) for value, _ in found):
            said = ", ".join(f"{value!r} in {component.described}" for value, component in found)
            yield f"input {quoted([name])} has more than one default: {said}. Keep one, or make them equal."


def _clashes(nodes: Sequence[Node]) -> Iterator[str]:
    """Yields a fault for each name whose readers declare another shape, dtype or units than it comes with.

    It comes as its writer declares it; where nothing writes it, as its first reader does.
    """
    first: dict[str, tuple[Input | Output, Node]] = {}
    for node in nodes:
        first.update((output.name, (output, node)) for output in node.outputs)
    for node in nodes:
        for read in node.inputs:
            known, source = first.setdefault(read.name, (read, node))
            if source is not node:
                yield from _clash(known, source, read, node)


def _clash(known: Input | Output, source: Node, read: Input, reader: Node) -> Iterator[str]:
    """Yields what `reader` declares of a variable that does not fit what its source does."""
    does = "writes" if isinstance(known, Output) else "reads"
    for what, wanted, came in (
        ("the shape", read.shape, known.shape),
        ("the dtype", _dtype(read), _dtype(known)),
    ):
        if wanted is not None and came is not None and wanted != came:
            yield (
                f"{reader.described} reads `{read.name}` with {what} {wanted}, but {source.described} {does}"
                f" it with {came}. Make them equal."
            )
    if read.units and known.units and read.units != known.units:
        try:
            conversion(known.units, read.units)
        except (ValueError, MissingExtraError) as error:
            yield (
                f"{reader.described} reads `{read.name}` in `{read.units}`, but {source.described} {does} it"
                f" in `{known.units}`: {str(error).rstrip('.')}. Give units that convert."
            )


def _dtype(variable: Input | Output) -> str | None:
    return None if variable.dtype is None else np.dtype(jax.dtypes.canonicalize_dtype(variable.dtype)).name


def _bad_bounds(nodes: Sequence[Node]) -> Iterator[str]:
    """Yields a fault for each bound the wrong way round, and each guess or default outside its bounds."""
    for node in nodes:
        for variable in (*node.inputs, *node.outputs):
            if variable.bounds is not None:
                yield from _bad_bound(variable, node)


def _bad_bound(variable: Input | Output, node: Node) -> Iterator[str]:
    if not isinstance(variable.bounds, tuple) or len(variable.bounds) != 2:
        yield (
            f"{node.described} bounds `{variable.name}` by {variable.bounds!r}."
            " Wanted: a pair, `bounds=(lower, upper)`, None for none."
        )
        return
    lower, upper = (
        np.asarray(end if end is not None else default)
        for end, default in zip(variable.bounds, (-np.inf, np.inf), strict=True)
    )
    if (lower > upper).any():
        yield (
            f"{node.described} bounds `{variable.name}` from {lower} to {upper}, the wrong way round."
            f" Write bounds=({upper}, {lower})."
        )
        return
    what, value = ("guess", variable.guess) if isinstance(variable, Output) else ("default", variable.default)
    given = value is not None and not (isinstance(variable, Input) and variable.required)
    if given and is_outside(value, variable.bounds):
        yield (
            f"{node.described} gives `{variable.name}` the {what} {value}, outside its bounds {lower} to"
            f" {upper}. Choose a {what} between them."
        )
