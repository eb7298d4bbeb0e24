"""A node of a model's graph: what has a name, reads variables and writes variables."""

import enum
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ._units import as_given
from ._variables import Input, Output

if TYPE_CHECKING:
    from ._component import Component


TIME = "t"
"""The variable that is time for rates, and for what they need at each time."""

Run = tuple[dict[str, Any], dict[str, Any]]
"""What running a node gives: its outputs by variable name, and how each solve inside went, by its name."""


class Kind(enum.Enum):
    """How what a node writes follows from what it reads."""

    EXPLICIT = "explicit"
    """It is computed."""
    RESIDUAL = "residual"
    """It is found such that what is computed is zero."""
    RATE = "rate"
    """It changes in time as is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """New names for the nodes and variables of a graph.

    Attributes:
        prefix: stands before the names, with a dot; empty for none.
        promoted: variables that keep their name.
        renamed: variables with the name that they get, prefix or not.
    """

    prefix: str = ""
    promoted: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])

    def variable(self, name: str) -> str:
        """Returns the new name of the variable `name`."""
        if name in self.renamed:
            return self.renamed[name]
        return name if name in self.promoted else self.node(name)

    def node(self, name: str) -> str:
        """Returns the new name of the node `name`."""
        return f"{self.prefix}.{name}" if self.prefix else name


@runtime_checkable
class Node(Protocol):
    """A component, or what closes several: named variables in, named variables out."""

    @property
    def name(self) -> str:
        """The node's name, unique in a model."""
        ...

    @property
    def kind(self) -> Kind:
        """How what the node writes follows from what it reads."""
        ...

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the node reads."""
        ...

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What the node writes."""
        ...

    @property
    def components(self) -> tuple["Component", ...]:
        """The components that the node holds; a component holds itself."""
        ...

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The variables that solvers inside the node find, and that need a guess."""
        ...

    @property
    def solves(self) -> tuple[str, ...]:
        """The names of the solves inside the node, each before those inside it."""
        ...

    @property
    def place(self) -> str:
        """`file.py:line` where the node was written."""
        ...

    @property
    def described(self) -> str:
        """The node in a message: its name and place."""
        ...

    def run(
        self, values: Mapping[str, Any], guesses: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the outputs by variable name, and how each solve inside went, by its name.

        Args:
            values: by variable name; may hold more than is read.
            guesses: where each of `unknowns` starts.
        """
        ...

    def named(self, naming: Naming) -> "Node":
        """Returns the node under new names."""
        ...

    def reading_in(self, units: Mapping[str, str]) -> "Node":
        """Returns the node such that it reads variables given in `units`, and converts them to its own."""
        ...

    def with_components(self, change: "Mapping[str, tuple[Node, ...]]") -> tuple["Node", ...]:
        """Returns what the node becomes when components inside, by name, are replaced by others or none."""
        ...


def free_inputs(nodes: Iterable[Node], written: Collection[str] = ()) -> tuple[Input, ...]:
    """Returns what `nodes` read and none of them writes, one input for each name, as it is given.

    Of several readers of a name the first says what is known of it, and the first that has one gives the
    default.

    Args:
        written: variables that are not free besides.
    """
    nodes = tuple(nodes)
    inside = {output.name for node in nodes for output in node.outputs}.union(written)
    found: dict[str, Input] = {}
    for node in nodes:
        for read in node.inputs:
            if read.name not in inside:
                given = as_given(read)
                found[read.name] = found[read.name].merged(given) if read.name in found else given
    return tuple(found.values())


def written_units(outputs: Iterable[Output]) -> dict[str, str]:
    """Returns the units of those of `outputs` that have some, by name."""
    return {output.name: output.units for output in outputs if output.units}


def all_reading_in(nodes: tuple[Node, ...], units: Mapping[str, str]) -> tuple[Node, ...]:
    """Returns `nodes` such that each reads variables given in `units`; the same tuple where that is so."""
    told = tuple(node.reading_in(units) for node in nodes)
    return nodes if all(new is old for new, old in zip(told, nodes, strict=True)) else told
