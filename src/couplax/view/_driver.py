"""What drives a whole model: an optimiser, with what it changes and what it watches."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from couplax._errors import ModelError
from couplax.graph import Graph, unknown_names

from ._outline import outline
from ._scheme import Control, Loop, Role, Step, blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """An optimiser as it is drawn: it evaluates the model, with other values each time.

    Attributes:
        name: such as that of the method, `SLSQP`.
        design: the design variables.
        constraints: the names of the values held within limits.
        targets: the coupling variables and unknowns that the optimiser finds in place of a solver, as it does
            where each discipline is evaluated for itself (IDF, SAND).
    """

    name: str
    design: tuple[str, ...]
    objective: str
    constraints: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def driven(graph: Graph, driver: Driver) -> Loop:
    """Returns the steps of `graph` as the loop of an optimiser.

    Raises:
        ModelError: a design variable is no input, or another of the driver's names is not written.
    """
    _check(graph, driver)
    steps = outline(graph)
    responses = tuple(dict.fromkeys((driver.objective, *driver.constraints)))
    said = f"{driver.name} minimises {driver.objective} by changing {', '.join(driver.design)}"
    limits = f"within limits of {', '.join(driver.constraints)}" if driver.constraints else ""
    control = Control(
        role=Role.OPTIMISER,
        name=driver.name,
        finds=(*driver.design, *driver.targets),
        wants=tuple(dict.fromkeys((*driver.targets, *responses))),
        writes=(*driver.design, *_implicit(steps, driver.targets)),
        settings=f"minimises {driver.objective}",
        tooltip=f"{said}\n{limits}".strip(),
    )
    return Loop(name=driver.name, control=control, body=steps)


def _implicit(steps: Sequence[Step], targets: Collection[str]) -> tuple[str, ...]:
    """Returns those of `targets` that are the unknowns of residuals."""
    return tuple(name for block in blocks(steps) for name in block.residuals if name in targets)


def _check(graph: Graph, driver: Driver) -> None:
    """Raises where the model lacks a name of the driver."""
    faults = [
        *unknown_names(driver.design, graph.inputs, "input"),
        *unknown_names((driver.objective, *driver.constraints), (*graph.outputs, *graph.inputs), "variable"),
        *unknown_names(driver.targets, graph.outputs, "output"),
    ]
    if faults:
        raise ModelError(faults)
