"""What a file says of itself: what wrote it, what it computes, and what its inputs and outputs stand for."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import onnx_ir as ir

from couplax.export._names import MEANINGS, VARIABLES

Notes = Mapping[str, str]
"""What is known of a variable: its `units`, its `description`."""


def metadata(fn: Callable[..., Any], names: Iterable[str], statuses: Mapping[int, str]) -> dict[str, str]:
    """Returns what the metadata of a file of `fn` says, by key.

    Args:
        names: the file's inputs and outputs.
        statuses: what each status means; nothing where there is none.
    """
    said = {name: dict(notes) for name, notes in _notes_of(fn, names).items()}
    kept = {"couplax": package_version("couplax"), "jax": package_version("jax")}
    if said:
        kept[VARIABLES] = json.dumps(said, ensure_ascii=False)
    if statuses:
        kept[MEANINGS] = json.dumps(statuses)
    return kept


def annotate(graph: ir.Graph, fn: Callable[..., Any]) -> None:
    """Gives `graph` the name and docs of `fn`, and its inputs and outputs theirs, with the units."""
    inner = inspect.unwrap(fn)
    name = getattr(inner, "__name__", "")
    graph.name = name if name.isidentifier() else "couplax"
    graph.doc_string = inspect.getdoc(inner) if inspect.isroutine(inner) else None
    values = {str(value.name): value for value in (*graph.inputs, *graph.outputs)}
    for name, notes in _notes_of(fn, values).items():
        values[name].doc_string = _sentence(notes)


def package_version(package: str) -> str:
    """Returns the version of an installed package; `unknown` where it runs without being installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _notes_of(fn: Callable[..., Any], names: Iterable[str]) -> dict[str, Notes]:
    """Returns what `fn`, or the function that it is a derivative of, says of those variables it knows."""
    known: Mapping[str, Notes] = getattr(inspect.unwrap(fn), "variables", None) or {}
    return {name: known[name] for name in names if known.get(name)}


def _sentence(notes: Notes) -> str:
    """Returns `speed of the wing [m/s]`, as far as it is known."""
    units = f"[{notes['units']}]" if notes.get("units") else ""
    return " ".join(filter(None, [notes.get("description", ""), units]))
