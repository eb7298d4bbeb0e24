"""What a model knows of its variables beside their values: what tables show, and who writes what."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from couplax.graph import Graph, Node, free_inputs, order
from couplax.solve._closure import Closure


@dataclass(frozen=True, slots=True)
class Label:
    """What is said of a variable: its units and its description, empty where nothing is said."""

    units: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Station:
    """A node by its name, with the names of what it reads and writes, and the nodes inside it as they run."""

    node: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    inside: tuple["Station", ...] = ()

    @classmethod
    def of(cls, node: Node) -> "Station":
        """Returns `node` without its functions."""
        inside = order(node.cycle, node.cut) if isinstance(node, Closure) else ()
        reads = tuple(read.name for read in node.inputs)
        writes = tuple(output.name for output in node.outputs)
        return cls(node.name, reads, writes, tuple(map(cls.of, inside)))


@dataclass(frozen=True)
class About:
    """The labels of a model's variables and its nodes, in the order in which they run.

    Structure, not data: results carry it through transformations, and equal ones compare equal.
    """

    labels: tuple[tuple[str, Label], ...] = ()
    stations: tuple[Station, ...] = ()

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "About":
        """Returns what `nodes`, in the order in which they run, say of their variables."""
        nodes = tuple(nodes)
        variables = [*free_inputs(nodes), *(output for node in nodes for output in node.outputs)]
        labels = ((each.name, Label(each.units or "", each.description or "")) for each in variables)
        said = tuple((name, label) for name, label in labels if label != _BARE)
        return cls(said, tuple(map(Station.of, nodes)))

    @cached_property
    def _by_name(self) -> Mapping[str, Label]:
        return dict(self.labels)

    def label(self, name: str) -> Label:
        """Returns what is said of the variable `name`."""
        return self._by_name.get(name, _BARE)

    def __hash__(self) -> int:
        """Returns a hash of it all, computed once: transformations ask for it again and again."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.labels, self.stations))


_BARE = Label()


def said_of(graph: Graph, names: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
    """Returns the `units` and the `description` of each of `names`, as far as there are some."""
    variables = {**graph.free, **graph.written}
    said = {
        name: {"units": variables[name].units, "description": variables[name].description} for name in names
    }
    present = {name: {key: text for key, text in notes.items() if text} for name, notes in said.items()}
    return {name: notes for name, notes in present.items() if notes}
