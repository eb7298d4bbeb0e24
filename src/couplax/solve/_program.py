"""A model as a program: which nodes run, in what order, from input values to output values."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax

from couplax.graph import Cycle, Graph, Node, Run, free_inputs
from couplax.solve._closure import Closure
from couplax.solve._integration import Integration

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Program:
    """Nodes in the order in which they run; equal programs compile once.

    Attributes:
        steps: what runs, in order.
        outputs: the names whose values are wanted.
    """

    steps: tuple[Node, ...]
    outputs: tuple[str, ...]

    def __hash__(self) -> int:
        """Returns a hash of the steps and outputs, computed once: every run asks for it."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.steps, self.outputs))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names that the steps read and none of them writes."""
        return tuple(read.name for read in free_inputs(self.steps))

    @cached_property
    def solved(self) -> tuple[Node, ...]:
        """The closed cycles and integrals that `solves` names."""
        inside = [node for closure in closures_in(self.steps) for node in (closure, *closure.cycle.nodes)]
        nodes = {node.name: node for node in (*inside, *self.steps)}
        return tuple(nodes[name] for name in self.solves)

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The outputs, and what cycles and integrals read of other nodes, to be told where they fail."""
        written = {output.name for step in self.steps for output in step.outputs}
        read = (item.name for node in self.solved for item in node.inputs)
        return tuple(dict.fromkeys([*self.outputs, *(name for name in read if name in written)]))

    @cached_property
    def solves(self) -> tuple[str, ...]:
        """The names of the solves, in the order in which they run, each before those inside it."""
        return tuple(name for step in self.steps for name in step.solves)

    @cached_property
    def unknowns(self) -> tuple[str, ...]:
        """The names that solvers find, and that need a guess."""
        return tuple(name for step in self.steps for name in step.unknowns)


def needed_steps(graph: Graph, outputs: Collection[str]) -> tuple[Node | Cycle, ...]:
    """Returns the nodes and open cycles that `outputs` need, in the order in which they run."""
    wanted = set(outputs)
    needed: list[Node | Cycle] = []
    for step in reversed(graph.steps):
        nodes = step.nodes if isinstance(step, Cycle) else (step,)
        if wanted.intersection(output.name for node in nodes for output in node.outputs):
            needed.append(step)
            wanted.update(read.name for node in nodes for read in node.inputs)
    return tuple(reversed(needed))


def program(graph: Graph, outputs: Collection[str]) -> Program:
    """Returns the program that computes `outputs`, and nothing else, from a graph without open cycles."""
    steps = (step for step in needed_steps(graph, outputs) if not isinstance(step, Cycle))
    return Program(tuple(steps), tuple(outputs))


@partial(jax.jit, static_argnums=0)
def evaluate(program: Program, inputs: Values, guesses: Values) -> Run:
    """Returns the values of `program.kept` by name, and how each solve went, by its name.

    Args:
        inputs: a value for each of `program.inputs`; it is a JAX pytree, so that a change of values compiles
            nothing anew.
        guesses: a value for each unknown of the closed cycles.
    """
    values: dict[str, Any] = dict(inputs)
    solves: dict[str, Any] = {}
    for step in program.steps:
        written, inside = step.run(values, guesses)
        values.update(written)
        solves.update(inside)
    return {name: values[name] for name in program.kept}, solves


def closures_in(nodes: Iterable[Node]) -> tuple[Closure, ...]:
    """Returns the closed cycles among `nodes` and inside them, each before those inside it."""
    found: list[Closure] = []
    for node in nodes:
        match node:
            case Closure():
                found += [node, *closures_in(node.cycle.nodes)]
            case Integration():
                found += closures_in(node.nodes)
            case _:
                pass
    return tuple(found)
