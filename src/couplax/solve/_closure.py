"""A cycle with what closes it: itself a node of a graph, that no longer depends on itself."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from couplax._errors import ModelError
from couplax.graph import (
    Component,
    Cycle,
    Graph,
    Input,
    Kind,
    Naming,
    Node,
    Output,
    Run,
    all_reading_in,
    check_cut,
    free_inputs,
    written_units,
)
from couplax.solve._cycle import Problem, solve_cycle


@dataclass(frozen=True, kw_only=True)
class Closure:
    """A cycle of nodes, the names at which it is cut, and the solver that finds their values.

    Attributes:
        cut: the coupling variables that are the solver's unknowns; every loop of the cycle passes through
            one.
        solver: an optimistix root finder or fixed-point solver.
    """

    cycle: Cycle
    cut: tuple[str, ...]
    solver: Any

    @property
    def name(self) -> str:
        """The cycle's name in results and messages: its nodes, in order."""
        return self.cycle.name

    @property
    def kind(self) -> Kind:
        """A closed cycle is explicit: the solver computes what it writes."""
        return Kind.EXPLICIT

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the cycle reads from outside."""
        return self._read

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What the nodes write, the unknowns included."""
        return self._written

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of the cycle."""
        return self.cycle.components

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The names at which this cycle is cut, and those of the cycles closed inside."""
        return (*self.cut, *(name for node in self.cycle.nodes for name in node.unknowns))

    @property
    def solves(self) -> tuple[str, ...]:
        """The cycle's name, and those of the solves inside it."""
        return (self.name, *(name for node in self.cycle.nodes for name in node.solves))

    @property
    def place(self) -> str:
        """Where the first component was written."""
        return self.components[0].place

    @property
    def described(self) -> str:
        """The cycle in a message: its name and place."""
        return f"`{self.name}` ({self.place})"

    def run(self, values: Mapping[str, Any], guesses: Mapping[str, Any]) -> Run:
        """Returns what the cycle writes, at its solution, and how its solve and those inside went."""
        known = {read.name: values[read.name] for read in self.inputs if read.name in values}
        return solve_cycle(self.problem, known, guesses)

    def named(self, naming: Naming) -> "Closure":
        """Returns the closure under new names."""
        nodes = tuple(node.named(naming) for node in self.cycle.nodes)
        return dataclasses.replace(
            self, cycle=Cycle(nodes), cut=tuple(naming.variable(name) for name in self.cut)
        )

    def reading_in(self, units: Mapping[str, str]) -> "Closure":
        """Returns the closure such that it reads variables given in `units`, and converts them."""
        nodes = all_reading_in(self.cycle.nodes, {**units, **written_units(self.outputs)})
        return self if nodes is self.cycle.nodes else dataclasses.replace(self, cycle=Cycle(nodes))

    def with_components(self, change: Mapping[str, tuple[Node, ...]]) -> tuple[Node, ...]:
        """Returns the closure with components replaced; its nodes where they make no such cycle any more."""
        nodes = tuple(new for node in self.cycle.nodes for new in node.with_components(change))
        if nodes == self.cycle.nodes:
            return (self,)
        if not nodes:
            return ()
        cycles = Graph(nodes).cycles
        if len(cycles) != 1 or len(cycles[0].nodes) != len(nodes):
            return nodes
        try:
            check_cut(cycles[0], self.cut)
        except ModelError:
            return nodes
        return (dataclasses.replace(self, cycle=cycles[0]),)

    @cached_property
    def problem(self) -> Problem:
        """What the solver is to solve."""
        return Problem(self.cycle, self.cut, self.solver)

    @cached_property
    def _read(self) -> tuple[Input, ...]:
        return free_inputs(self.cycle.nodes)

    @cached_property
    def _written(self) -> tuple[Output, ...]:
        return tuple(output for node in self.cycle.nodes for output in node.outputs)

    def __hash__(self) -> int:
        """Returns a hash of the cycle, the cut and the kind of solver, computed once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.cycle, self.cut, type(self.solver)))
