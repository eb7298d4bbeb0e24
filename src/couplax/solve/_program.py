"""A model as a program: which steps run, in what order, from input values to output values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax

from couplax.graph import Component, Cycle, Graph
from couplax.solve._closure import Closure
from couplax.solve._cycle import solve_cycle
from couplax.solve._solve import Solve

Values = Mapping[str, Any]
Step = Component | Closure


@dataclass(frozen=True)
class Program:
    """Components and closed cycles in the order in which they run; equal programs compile once.

    Attributes:
        steps: what runs, in order.
        outputs: the names whose values are wanted.
    """

    steps: tuple[Step, ...]
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
        written = {name for step in self.steps for name in _writes(step)}
        read = dict.fromkeys(name for step in self.steps for name in _reads(step))
        return tuple(name for name in read if name not in written)

    @cached_property
    def closures(self) -> tuple[Closure, ...]:
        """The closed cycles among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Closure))


def needed_steps(graph: Graph, outputs: Collection[str]) -> tuple[Component | Cycle, ...]:
    """Returns the components and cycles that `outputs` need, in the order in which they run."""
    wanted = set(outputs)
    needed: list[Component | Cycle] = []
    for step in reversed(graph.steps):
        if wanted.intersection(_writes(step)):
            needed.append(step)
            wanted.update(_reads(step))
    return tuple(reversed(needed))


def program(graph: Graph, closures: Collection[Closure], outputs: Collection[str]) -> Program:
    """Returns the program that computes `outputs`, and nothing else, from the closed graph."""
    by_cycle = {closure.cycle: closure for closure in closures}
    steps = (by_cycle[step] if isinstance(step, Cycle) else step for step in needed_steps(graph, outputs))
    return Program(tuple(steps), tuple(outputs))


def _components(step: Step | Cycle) -> tuple[Component, ...]:
    match step:
        case Closure():
            return step.cycle.components
        case Cycle():
            return step.components
        case _:
            return (step,)


def _writes(step: Step | Cycle) -> list[str]:
    return [output.name for component in _components(step) for output in component.outputs]


def _reads(step: Step | Cycle) -> list[str]:
    """Returns the names that a step reads from outside itself."""
    inside = set(_writes(step)) if isinstance(step, Closure | Cycle) else set[str]()
    read = [item.name for component in _components(step) for item in component.inputs]
    return [name for name in dict.fromkeys(read) if name not in inside]


@partial(jax.jit, static_argnums=0)
def evaluate(program: Program, inputs: Values, guesses: Values) -> tuple[dict[str, Any], dict[str, Solve]]:
    """Returns the wanted values by name, and how each cycle's solve went, by the cycle's name.

    Args:
        inputs: a value for each of `program.inputs`; it is a JAX pytree, so that a change of values compiles
            nothing anew.
        guesses: a value for each unknown of the closed cycles.
    """
    values: dict[str, Any] = dict(inputs)
    solves: dict[str, Solve] = {}
    for step in program.steps:
        if isinstance(step, Closure):
            known = {name: values[name] for name in _reads(step)}
            written, solves[step.name] = solve_cycle(step, known, guesses)
            values.update(written)
        else:
            values.update(step.evaluate(values))
    return {name: values[name] for name in program.outputs}, solves
