"""How a graph is closed: its cycles by solvers, its rates of change by an integral."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import optimistix as optx

from couplax._errors import ModelError, quoted
from couplax.graph import Cycle, Graph, Kind, Node, check_cut, choose_cut, unknown_names
from couplax.solve._closure import Closure
from couplax.solve._integrate import Integrate
from couplax.solve._integration import integration
from couplax.solve._sweeps import GaussSeidel, Jacobi

RootFinder = (
    optx.AbstractRootFinder[Any, Any, Any, Any]
    | optx.AbstractLeastSquaresSolver[Any, Any, Any, Any]
    | optx.AbstractMinimiser[Any, Any, Any]
)
Solver = RootFinder | optx.AbstractFixedPointSolver[Any, Any, Any]

_ROOT_FINDERS = (optx.AbstractRootFinder, optx.AbstractLeastSquaresSolver, optx.AbstractMinimiser)


def closed(
    graph: Graph,
    solver: Solver | Integrate,
    cut: Sequence[str],
    preferred: Collection[str],
    sizes: Mapping[str, int],
) -> list[Node]:
    """Returns the nodes of `graph` with cycles closed, each where its first node stood, or rates integrated.

    Args:
        cut: where to cut, or whose rates to integrate; of none, what is best, or all.
        preferred: variables at which a cut is preferred; `sizes`: how many numbers they have, where known.

    Raises:
        ModelError: `solver` is none or does not serve, or `cut` does not.
    """
    if isinstance(solver, Integrate):
        integral, rest = integration(graph, solver, cut)
        return [*rest, integral]
    _check_solver(solver, graph.cycles)
    if not graph.cycles:
        rates = quoted(rate.name for rate in graph.rates)
        hint = f" The rates {rates} are closed by couplax.Integrate(...)." if graph.rates else ""
        raise ModelError([f"close() found no open cycle to close: the model has none.{hint}"])
    if cut:
        cuts = _given_cuts(graph.cycles, cut)
    elif isinstance(solver, GaussSeidel | Jacobi) and solver.cuts_all:
        cuts = [(cycle, cycle.couplings) for cycle in graph.cycles]
    else:
        cuts = [(cycle, choose_cut(cycle, preferred, sizes)) for cycle in graph.cycles]
    return _replaced(graph.nodes, [Closure(cycle=cycle, cut=names, solver=solver) for cycle, names in cuts])


def _given_cuts(cycles: Sequence[Cycle], cut: Sequence[str]) -> list[tuple[Cycle, tuple[str, ...]]]:
    """Returns the cycles that have one of the names in `cut`, with their part of it."""
    couplings = [name for cycle in cycles for name in cycle.couplings]
    faults = unknown_names(cut, couplings, "coupling variable of an open cycle")
    if faults:
        raise ModelError(faults)
    parts = [(cycle, tuple(name for name in cut if name in cycle.couplings)) for cycle in cycles]
    chosen = [(cycle, part) for cycle, part in parts if part]
    for cycle, part in chosen:
        check_cut(cycle, part)
    return chosen


def _replaced(nodes: Sequence[Node], closures: Sequence[Closure]) -> list[Node]:
    """Returns `nodes` with those of each closure replaced by it, where its first one stood."""
    heads = {id(closure.cycle.nodes[0]): closure for closure in closures}
    gone = {id(node) for closure in closures for node in closure.cycle.nodes}
    return [heads.get(id(node), node) for node in nodes if id(node) in heads or id(node) not in gone]


def _check_solver(solver: Any, cycles: Sequence[Cycle]) -> None:
    """Raises where `solver` is none, or cannot solve for the unknowns of a residual."""
    faults: list[str] = []
    if isinstance(solver, optx.AbstractFixedPointSolver):
        faults = [
            f"cycle `{cycle.name}` asks for {quoted(cycle.implicit)} such that a residual is zero, and"
            f" {type(solver).__name__} iterates to a fixed point. Close it with a root finder, such as"
            " couplax.Newton()."
            for cycle in cycles
            if cycle.implicit
        ]
    elif not isinstance(solver, _ROOT_FINDERS):
        hint = f" Write {solver.__name__}(...)." if isinstance(solver, type) else ""
        faults = [
            f"close() was given {solver!r:.60}, which is no solver.{hint} Wanted: couplax.Newton(), an"
            " optimistix root finder or fixed-point solver, or couplax.Integrate(...)."
        ]
    if faults:
        raise ModelError(faults)


def check_closed(steps: Iterable[Node | Cycle], preferred: Collection[str]) -> None:
    """Raises where a cycle among `steps` is not closed, or a rate not integrated.

    Args:
        preferred: variables at which a cut is preferred, for the cut that the message proposes.
    """
    steps = tuple(steps)
    faults = [
        f"cycle `{cycle.name}` is not closed: its components wait for each other through "
        f"{quoted(cycle.couplings)}. Close it: "
        f"model.close(couplax.Newton(), cut={_shown(choose_cut(cycle, preferred))})."
        for cycle in steps
        if isinstance(cycle, Cycle)
    ]
    faults += [
        f"the rate {rate.described} of {quoted(output.name for output in rate.outputs)} is not"
        " integrated. Close it: model.close(couplax.Integrate(span=(0.0, 1.0)))."
        for rate in steps
        if not isinstance(rate, Cycle) and rate.kind is Kind.RATE
    ]
    if faults:
        raise ModelError(faults)


def _shown(cut: tuple[str, ...]) -> str:
    return repr(cut[0] if len(cut) == 1 else cut)
