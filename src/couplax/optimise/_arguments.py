"""What the arguments of `minimise` are, before anything is made of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from couplax._errors import ModelError
from couplax._model import Model

from ._architecture import AbstractArchitecture
from ._method import AbstractMethod

_METHODS = "couplax.SLSQP(), couplax.TrustConstr(), couplax.IPOPT(), couplax.LBFGS() or couplax.BFGS()"
_ARCHITECTURES = "couplax.MDF(), couplax.IDF() or couplax.SAND()"
_DESIGN = 'inputs with their bounds, as {"x": (0, 1)}, or their names'
_EXAMPLES = {
    "constraints": '{"g": (None, 0)}',
    "start": '{"x": 1.0}',
    "fixed": '{"p": 1.0}',
    "scale": '{"f": 100.0}',
}


def check_arguments(
    model: Any, objective: Any, design: Any, architecture: Any, method: Any, mappings: Mapping[str, Any]
) -> None:
    """Raises where an argument is not of the kind that is wanted.

    Args:
        mappings: the arguments that should be mappings, by their names.

    Raises:
        ModelError: with every such argument.
    """
    faults = [
        *_instance_faults("model", model, Model, "a couplax.Model"),
        *_instance_faults("objective", objective, str, "the name of an output"),
        *_design_faults(design),
        *_instance_faults("architecture", architecture, AbstractArchitecture, _ARCHITECTURES),
        *_instance_faults("method", method, AbstractMethod, _METHODS),
    ]
    for name, given in mappings.items():
        if given is not None:
            faults += _instance_faults(name, given, Mapping, f"a mapping by name, as {_EXAMPLES[name]}")
    if faults:
        raise ModelError(faults)


def _design_faults(design: Any) -> Iterator[str]:
    """Yields a fault where `design` does not name variables."""
    if not isinstance(design, Iterable):
        yield f"`design` is {design!r:.60} ({type(design).__name__}). Wanted: {_DESIGN}."
        return
    strangers = [each for each in design if not isinstance(each, str)]
    if strangers:
        yield f"`design` names {strangers[0]!r:.60} ({type(strangers[0]).__name__}). Wanted: {_DESIGN}."


def _instance_faults(name: str, given: Any, kind: type, wanted: str) -> Iterator[str]:
    """Yields a fault where `given` is no instance of `kind`."""
    if isinstance(given, kind):
        return
    if isinstance(given, type) and issubclass(given, kind):
        yield f"`{name}` is the class {given.__name__}. Write couplax.{given.__name__}()."
    else:
        yield f"`{name}` is {given!r:.60} ({type(given).__name__}). Wanted: {wanted}."
