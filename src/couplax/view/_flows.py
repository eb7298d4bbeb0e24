"""What flows into, between and out of the stations of an XDSM."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ._diagram import Diagram, Flow, Kind, Station, numbered, process
from ._scheme import Block, Control, Role, Step

# One variable of a flow: from where, to where, as what, and its name.
_Passed = tuple[int | None, int | None, Kind, str]
# The positions of the stations that give each name, in order.
_Givers = Mapping[str, Sequence[int]]


def diagram(steps: Sequence[Step]) -> Diagram:
    """Returns the diagram of `steps`."""
    stations = numbered(steps)
    passed = _Traffic(stations).passed()
    return Diagram(stations=stations, flows=tuple(_gathered(passed)), process=tuple(process(steps)))


def _gathered(passed: Iterable[_Passed]) -> Iterator[Flow]:
    """Yields flows, each of all that passes from one place to another as one kind."""
    names: dict[tuple[int | None, int | None, Kind], dict[str, None]] = {}
    for source, target, kind, name in passed:
        names.setdefault((source, target, kind), {})[name] = None
    for (source, target, kind), gathered in names.items():
        yield Flow(source=source, target=target, kind=kind, names=tuple(gathered))


@dataclass(frozen=True)
class _Traffic:
    """Who gives what to whom."""

    stations: Sequence[Station]

    def passed(self) -> Iterator[_Passed]:
        """Yields every variable that passes from one place to another."""
        for position, station in enumerate(self.stations):
            if isinstance(station.runs, Control):
                yield from self._started(position, station.runs)
                yield from self._returned(position, station.runs)
            yield from self._read(position, station)
            yield from self._left(position, station)

    def _started(self, position: int, control: Control) -> Iterator[_Passed]:
        """Yields where a solver or an optimiser starts; the initial states of an integration are read."""
        kind = {Role.SOLVER: Kind.GUESS, Role.OPTIMISER: Kind.START}.get(control.role)
        if kind:
            yield from ((None, position, kind, name) for name in control.finds)

    def _returned(self, position: int, control: Control) -> Iterator[_Passed]:
        """Yields what a control gets back from what it drives."""
        around = {*self.stations[position].inside, position}
        for name in control.wants:
            source = self._giver(name, around, self._answers)
            if source is not None:
                yield source, position, _answer(self.stations[source].runs, control, name), name

    def _read(self, position: int, station: Station) -> Iterator[_Passed]:
        """Yields what a station reads."""
        for name in station.runs.reads:
            finder = self._finder(name, station)
            source = self._giver(name, station.inside, self._values) if finder is None else finder
            if source is None:
                yield None, position, Kind.INPUT, name
            elif finder is None:
                yield source, position, Kind.DATA if source < position else Kind.FEEDBACK, name
            else:
                yield source, position, self._found_as(name, finder), name

    def _left(self, position: int, station: Station) -> Iterator[_Passed]:
        """Yields what a station gives to the outside."""
        runs = station.runs
        kind = Kind.OPTIMUM if isinstance(runs, Control) and runs.role is Role.OPTIMISER else Kind.OUTPUT
        for name in runs.writes if isinstance(runs, Control) else self._given(runs):
            if not self._is_hidden(position, ()):
                yield position, None, kind, name

    def _finder(self, name: str, station: Station) -> int | None:
        """Returns the innermost control around a station that finds the value of `name`."""
        return next((at for at in reversed(station.inside) if name in self._controls[at].finds), None)

    def _found_as(self, name: str, finder: int) -> Kind:
        """Returns what a value is for those who have it from the control that finds it."""
        role = self._controls[finder].role
        if role is Role.INTEGRATION:
            return Kind.STATE
        givers = [self.stations[at].runs for at in self._answers.get(name, ())]
        blocks = [giver for giver in givers if isinstance(giver, Block)]
        if any(name in block.writes for block in blocks):
            return Kind.TARGET
        return Kind.UNKNOWN if blocks else Kind.DESIGN

    def _giver(self, name: str, around: Collection[int], givers: _Givers) -> int | None:
        """Returns the station that gives `name` to one that has the controls `around` around it.

        A control comes before what it drives, and gives nothing of its own to that.
        """
        seen = (at for at in givers.get(name, ()) if at not in around and not self._is_hidden(at, around))
        return next(seen, None)

    def _is_hidden(self, position: int, around: Collection[int]) -> bool:
        """Returns whether a station stands in a loop that hides it from those not in the loop."""
        inside = self.stations[position].inside
        return any(self._controls[at].hides for at in inside if at not in around)

    def _given(self, block: Block) -> Iterator[str]:
        """Yields what a block gives to the outside: no residuals and rates of names that a control finds."""
        yield from block.writes
        yield from (name for name in (*block.residuals, *block.rates) if name not in self._found)

    @cached_property
    def _controls(self) -> dict[int, Control]:
        """What drives loops, by position."""
        return {at: own.runs for at, own in enumerate(self.stations) if isinstance(own.runs, Control)}

    @cached_property
    def _found(self) -> frozenset[str]:
        """The names that some control finds."""
        return frozenset(name for control in self._controls.values() for name in control.finds)

    @cached_property
    def _values(self) -> _Givers:
        """The stations that give the value of each name."""
        return _givers(
            own.runs.writes if isinstance(own.runs, Control) else self._given(own.runs)
            for own in self.stations
        )

    @cached_property
    def _answers(self) -> _Givers:
        """The stations that give the value, residual or rate of each name."""
        return _givers(
            own.runs.writes if isinstance(own.runs, Control) else own.runs.gives for own in self.stations
        )


def _givers(given: Iterable[Iterable[str]]) -> _Givers:
    """Returns the positions at which each name is given, in order, from what is given at each position."""
    found: dict[str, list[int]] = {}
    for position, names in enumerate(given):
        for name in names:
            found.setdefault(name, []).append(position)
    return found


def _answer(giver: Block | Control, taker: Control, name: str) -> Kind:
    """Returns what `name` is for a control that gets it back."""
    if isinstance(giver, Block) and name in giver.residuals:
        return Kind.RESIDUAL
    if isinstance(giver, Block) and name in giver.rates:
        return Kind.RATE
    if taker.role is Role.INTEGRATION:
        return Kind.DATA
    return Kind.VALUE if name in taker.finds else Kind.RESPONSE
