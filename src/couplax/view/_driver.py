"""What drives a whole model: an optimiser, with what it changes and what it watches."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from couplax._errors import ModelError, close_matches, quoted

from ._scheme import Control, Loop, Role, Step, blocks, loops


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


def driven(steps: tuple[Step, ...], driver: Driver) -> Loop:
    """Returns `steps` as the loop of an optimiser.

    Raises:
        ModelError: a design variable is not read, or another of the driver's names is not written.
    """
    _check(steps, driver)
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


def _check(steps: Sequence[Step], driver: Driver) -> None:
    """Raises where the model lacks a name of the driver."""
    controls = [loop.control for loop in loops(steps) if loop.control]
    parts = (*blocks(steps), *controls)
    read = dict.fromkeys(name for part in parts for name in part.reads)
    given = dict.fromkeys(
        [*(name for block in blocks(steps) for name in block.gives), *(n for c in controls for n in c.writes)]
    )
    faults = [
        *_unknown(driver.design, read, "which nothing reads"),
        *_unknown((driver.objective, *driver.constraints), given | read, "which nothing writes"),
        *_unknown(driver.targets, given, "which nothing writes"),
    ]
    if faults:
        raise ModelError(faults)


def _unknown(names: Sequence[str], known: Collection[str], fault: str) -> list[str]:
    """Returns a fault for each of `names` that is not `known`."""
    found = [(name, close_matches(name, known)) for name in dict.fromkeys(names) if name not in known]
    return [
        f"the optimiser has `{name}`, {fault}.{f' Close: {quoted(close)}.' if close else ''}"
        for name, close in found
    ]
