"""What an XDSM shows: stations on the diagonal, and what flows from one to another.

Source: A. B. Lambe and J. R. R. A. Martins, "Extensions to the design structure matrix for the description of
multidisciplinary design, analysis, and optimization processes", Structural and Multidisciplinary Optimization
46 (2012), 273-284.
"""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from couplax._errors import ModelError, quoted
from couplax.graph import Component, Cycle, Graph, order
from couplax.solve import Closure


class Kind(enum.Enum):
    """What a flow carries."""

    DATA = "data"
    INPUT = "input"
    OUTPUT = "output"
    GUESS = "guess"
    TARGET = "target"
    VALUE = "value"

    @property
    def at_cut(self) -> bool:
        """Whether the variables are those at which a cycle is cut."""
        return self in (Kind.GUESS, Kind.TARGET, Kind.VALUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A component or a solver, at its place on the diagonal.

    Attributes:
        runs: the component; a closure for the solver of a cycle.
        driven_by: for a component of a closed cycle, what closes it.
        number: when it runs; a solver runs again after its cycle: `1, 4→2`.
    """

    runs: Component | Closure
    driven_by: Closure | None
    number: str

    @property
    def name(self) -> str:
        """The component's name, or the solver's."""
        return self.runs.name if isinstance(self.runs, Component) else type(self.runs.solver).__name__

    @property
    def component(self) -> Component | None:
        """The component, if it is one."""
        return self.runs if isinstance(self.runs, Component) else None

    @property
    def drives(self) -> Closure | None:
        """The cycle that the station solves, if it is a solver."""
        return self.runs if isinstance(self.runs, Closure) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Variables that pass from one station to another.

    Attributes:
        source: the station's position on the diagonal; None for what comes from outside.
        target: the station's position on the diagonal; None for what goes outside.
    """

    source: int | None
    target: int | None
    kind: Kind
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """Stations with what flows between them.

    Attributes:
        process: pairs of positions, the second of which runs next after the first.
    """

    stations: tuple[Station, ...]
    flows: tuple[Flow, ...]
    process: tuple[tuple[int, int], ...]


def diagram(graph: Graph, closures: Sequence[Closure]) -> Diagram:
    """Returns the diagram of `graph`, its cycles driven by the solvers of `closures`.

    Raises:
        ModelError: a closure closes no cycle of the graph.
    """
    stations = tuple(_stations(graph, _by_cycle(graph, closures)))
    return Diagram(
        stations=stations,
        flows=tuple(_flows(stations, frozenset(graph.inputs))),
        process=tuple(_process(stations)),
    )


def _by_cycle(graph: Graph, closures: Sequence[Closure]) -> dict[Cycle, Closure]:
    """Returns the closure of each cycle that has one."""
    faults = [
        f"`{closure.name}` is closed and is no cycle of the model."
        f" It has {quoted(cycle.name for cycle in graph.cycles)}."
        for closure in closures
        if closure.cycle not in graph.cycles
    ]
    if faults:
        raise ModelError(faults)
    return {closure.cycle: closure for closure in closures}


def _stations(graph: Graph, closures: Mapping[Cycle, Closure]) -> Iterator[Station]:
    """Yields the stations in the order in which they run."""
    number = 1
    for step in graph.steps:
        closure = closures.get(step) if isinstance(step, Cycle) else None
        components = _components(step, closure)
        if closure:
            after = number + len(components) + 1
            yield Station(runs=closure, driven_by=None, number=f"{number}, {after}→{number + 1}")
            number += 1
        for component in components:
            yield Station(runs=component, driven_by=closure, number=str(number))
            number += 1
        # The solver's second number.
        number += closure is not None


def _components(step: Component | Cycle, closure: Closure | None) -> tuple[Component, ...]:
    """Returns the components of one step of the graph, in the order in which they run."""
    if isinstance(step, Component):
        return (step,)
    return order(step, closure.cut) if closure else step.components


def _flows(stations: Sequence[Station], inputs: frozenset[str]) -> Iterator[Flow]:
    """Yields what flows into, between and out of `stations`."""
    for position, station in enumerate(stations):
        if station.drives:
            yield Flow(source=None, target=position, kind=Kind.GUESS, names=station.drives.cut)
        for source, other in enumerate(stations):
            yield from _flow(source, other, position, station)
        if station.component:
            yield from _outer_flows(position, station.component, inputs)


def _outer_flows(position: int, component: Component, inputs: frozenset[str]) -> Iterator[Flow]:
    """Yields what `component` reads from outside, and all that it writes."""
    free = tuple(name for name in _read(component) if name in inputs)
    if free:
        yield Flow(source=None, target=position, kind=Kind.INPUT, names=free)
    written = tuple(output.name for output in component.outputs)
    yield Flow(source=position, target=None, kind=Kind.OUTPUT, names=written)


def _flow(source: int, giver: Station, target: int, taker: Station) -> Iterator[Flow]:
    """Yields what flows from `giver` to `taker`, if anything does."""
    if giver.component and taker.component:
        kind, names = Kind.DATA, _uncut(giver, taker, _shared(giver.component, _read(taker.component)))
    elif giver.component and taker.drives:
        kind, names = Kind.VALUE, _shared(giver.component, taker.drives.cut)
    elif taker.component and giver.drives and taker.driven_by is giver.drives:
        read = _read(taker.component)
        kind, names = Kind.TARGET, tuple(name for name in giver.drives.cut if name in read)
    else:
        return
    if names:
        yield Flow(source=source, target=target, kind=kind, names=names)


def _uncut(giver: Station, taker: Station, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns those of `names` that `taker` has from `giver` itself, not by way of their solver."""
    if giver.driven_by is None or giver.driven_by is not taker.driven_by:
        return names
    cut = giver.driven_by.cut
    return tuple(name for name in names if name not in cut)


def _shared(component: Component, wanted: Iterable[str]) -> tuple[str, ...]:
    """Returns the names that `component` writes and that are `wanted`."""
    names = frozenset(wanted)
    return tuple(output.name for output in component.outputs if output.name in names)


def _read(component: Component) -> tuple[str, ...]:
    """Returns the names that `component` reads, each once."""
    return tuple(dict.fromkeys(read.name for read in component.inputs))


def _process(stations: Sequence[Station]) -> Iterator[tuple[int, int]]:
    """Yields each position with the one that runs next after it: after a cycle comes its solver again."""
    solver: int | None = None
    for position, station in enumerate(stations):
        if position:
            inside = station.driven_by is not None
            yield (position - 1 if inside or solver is None else solver), position
        if station.drives:
            solver = position
        elif station.driven_by is None:
            solver = None
        if solver is not None and station.driven_by and _is_last(stations, position):
            yield position, solver


def _is_last(stations: Sequence[Station], position: int) -> bool:
    """Returns whether the station at `position` is the last of its cycle."""
    after = stations[position + 1 : position + 2]
    return not after or after[0].driven_by is not stations[position].driven_by
