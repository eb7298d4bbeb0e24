"""From a graph, with what closes its cycles and integrates its rates, to the scheme of it that is drawn."""

from collections.abc import Iterable, Iterator
from typing import Any

from couplax.graph import Cycle, Graph, Kind, Node, Output, order
from couplax.solve import Closure, Integration

from ._scheme import Block, Control, Loop, Role, Step


def outline(graph: Graph) -> tuple[Step, ...]:
    """Returns the steps of `graph` in the order in which they run, with what drives their loops."""
    return _steps(graph.steps)


def _steps(steps: Iterable[Node | Cycle]) -> tuple[Step, ...]:
    """Returns steps of a graph as they are drawn."""
    return tuple(_step(step) for step in steps)


def _step(step: Node | Cycle) -> Step:
    """Returns one step of a graph as it is drawn."""
    if isinstance(step, Cycle):
        return Loop(name=step.name, control=None, body=_steps(step.nodes))
    if isinstance(step, Closure):
        return Loop(name=step.name, control=_solver(step), body=_steps(order(step.cycle, step.cut)))
    if isinstance(step, Integration):
        return Loop(name=step.name, control=_integrator(step), body=_steps(step.nodes))
    return _block(step)


def _solver(closure: Closure) -> Control:
    """Returns the solver of a closed cycle as it is drawn."""
    solver, settings = type(closure.solver).__name__, _tolerances(closure.solver)
    said = f"{solver} solves the cycle {closure.name} for {', '.join(closure.cut)}"
    return Control(
        role=Role.SOLVER,
        name=solver,
        finds=closure.cut,
        wants=closure.cut,
        writes=tuple(name for name in closure.cut if name in closure.cycle.implicit),
        settings=settings,
        tooltip=f"{said}\n{settings}" if settings else said,
    )


def _integrator(integration: Integration) -> Control:
    """Returns what integrates rates as it is drawn."""
    integrate, time = integration.integrate, integration.integrate.time
    start, end = (each if isinstance(each, str) else f"{each:g}" for each in integrate.span)
    settings = f"{time} from {start} to {end}"
    ends = (each for each in integrate.span if isinstance(each, str))
    event = (integrate.event,) if isinstance(integrate.event, str) else ()
    return Control(
        role=Role.INTEGRATION,
        name=integrate.name,
        finds=(*integration.states, time),
        wants=(*integration.states, *event),
        reads=tuple(dict.fromkeys((*integration.initial.values(), *ends))),
        writes=tuple(output.name for output in integration.outputs),
        hides=True,
        settings=settings,
        tooltip=f"{integrate.name} integrates {', '.join(integration.states)}, {settings}",
    )


def _tolerances(solver: Any) -> str:
    """Returns a solver's tolerances, where it has them."""
    found = {name: getattr(solver, name, None) for name in ("rtol", "atol")}
    return ", ".join(f"{name} {float(value):g}" for name, value in found.items() if value is not None)


def _block(node: Node) -> Block:
    """Returns a node without parts as it is drawn."""
    written = tuple(output.name for output in node.outputs)
    return Block(
        name=node.name,
        components=tuple(component.name for component in node.components),
        reads=_read(node),
        writes=written if node.kind is Kind.EXPLICIT else (),
        residuals=written if node.kind is Kind.RESIDUAL else (),
        rates=written if node.kind is Kind.RATE else (),
        tooltip="\n".join(_said(node)),
    )


def _read(node: Node) -> tuple[str, ...]:
    """Returns the names that a node reads, each once."""
    return tuple(dict.fromkeys(read.name for read in node.inputs))


_GIVES = {Kind.EXPLICIT: "writes", Kind.RESIDUAL: "gives the residual of", Kind.RATE: "gives the rate of"}


def _said(node: Node) -> Iterator[str]:
    """Yields where a node was written, what it reads and what it gives."""
    yield f"{node.name} ({node.place})"
    yield f"reads {', '.join(_read(node)) or 'nothing'}"
    yield from (f"{_GIVES[node.kind]} {_described(output)}" for output in node.outputs)


def _described(output: Output) -> str:
    """Returns an output's name with its units and description."""
    units = f" [{output.units}]" if output.units else ""
    return f"{output.name}{units}" + (f": {output.description}" if output.description else "")
