"""A program at points where its solves are already done: to be differentiated, with no iteration inside."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax.numpy as jnp
import optimistix as optx
from jaxtyping import Array, Bool, PyTree, Scalar

from couplax.graph import Cycle, Node
from couplax.solve import Closure, Program


class AtSolution(optx.AbstractRootFinder[Any, Any, Any, None]):
    """Takes the guess for the solution, which it has to be.

    The derivatives of the solution follow from the guess alone, by the implicit function theorem: where the
    values are known, a program with this solver is compiled and run without the solver's iteration.
    """

    rtol: float = 0.0
    atol: float = 0.0
    norm: Callable[[PyTree[Array]], Scalar] = optx.max_norm

    def init(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        f_struct: Any,
        aux_struct: Any,
        tags: frozenset[object],
    ) -> None:
        """Returns no state."""

    def step(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        state: None,
        tags: frozenset[object],
    ) -> tuple[Any, None, Any]:
        """Returns the same point."""
        return y, None, None

    def terminate(
        self,
        fn: Callable[..., Any],
        y: Any,
        args: Any,
        options: dict[str, Any],
        state: None,
        tags: frozenset[object],
    ) -> tuple[Bool[Array, ""], optx.RESULTS]:
        """Returns that it ends here."""
        return jnp.array(True), optx.RESULTS.successful

    def postprocess(
        self,
        fn: Callable[..., Any],
        y: Any,
        aux: Any,
        args: Any,
        options: dict[str, Any],
        state: None,
        tags: frozenset[object],
        result: optx.RESULTS,
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Returns the point as it is."""
        return y, aux, {}


_AT_SOLUTION = AtSolution()


def iterated(nodes: Iterable[Node]) -> Iterator[Closure]:
    """Yields the closed cycles whose solutions can be given, those inside others too.

    A cycle inside an integral in time has a solution at each time, and is solved whatever is known.
    """
    for node in nodes:
        if isinstance(node, Closure):
            yield node
            yield from iterated(node.cycle.nodes)


def at_solution(program: Program) -> Program:
    """Returns the program for guesses that are solutions."""
    return Program(tuple(map(_held, program.steps)), program.outputs)


def _held(node: Node) -> Node:
    """Returns a closed cycle, and those inside it, without iteration; another node as it is."""
    if not isinstance(node, Closure):
        return node
    cycle = Cycle(tuple(map(_held, node.cycle.nodes)))
    return dataclasses.replace(node, cycle=cycle, solver=_AT_SOLUTION)
