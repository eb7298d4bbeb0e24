"""What is said of names that are given and not known, or wanted and not given."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from couplax._errors import close_matches, quoted

from ._graph import Graph


def unknown_names(given: Iterable[str], known: Collection[str], what: str) -> list[str]:
    """Returns a sentence for each of `given` that is not `known`, with its close matches.

    Args:
        what: what the names should be, such as `input`.
    """
    return [
        f"`{name}` is no {what} of the model.{_close(name, known)} It has {shortened(known)}."
        for name in dict.fromkeys(given)
        if name not in known
    ]


def value_of(values: Mapping[str, Any], name: str) -> Any:
    """Returns the value of `name`.

    Raises:
        KeyError: with close matches.
    """
    if name not in values:
        raise KeyError(*unknown_names([name], values, "variable"))
    return values[name]


def missing_inputs(graph: Graph, given: Collection[str]) -> list[str]:
    """Returns a sentence for each input of `graph` that has no default and is not `given`."""
    # What is given and not known first, then what is written under another name.
    strangers = [*(name for name in given if name not in graph.inputs), *graph.outputs]
    return [
        f"input `{name}`, read by {_readers(graph, name)}, is given by nothing.{_close(name, strangers)}"
        f" Pass {_keyword(name)} or give the parameter a default."
        for name in graph.inputs
        if name not in graph.defaults and name not in given
    ]


def _keyword(name: str) -> str:
    """Returns how an argument of this name is passed."""
    return f"{name}=..." if name.isidentifier() else f"**{{{name!r}: ...}}"


def shortened(names: Collection[str]) -> str:
    """Returns `names` in backticks; of a long list the first ten, and how many more there are."""
    names = list(names)
    if len(names) <= 12:
        return quoted(names)
    return f"{quoted(names[:10])} and {len(names) - 10} more"


def _close(name: str, known: Iterable[str]) -> str:
    """Returns the close matches of `name` as a sentence with a space before it, or nothing."""
    close = close_matches(name, known)
    return f" Close: {quoted(close)}." if close else ""


def _readers(graph: Graph, name: str) -> str:
    """Returns the first readers of `name` with their places."""
    readers = graph.readers[name]
    more = f" and {len(readers) - 3} more" if len(readers) > 3 else ""
    return ", ".join(reader.described for reader in readers[:3]) + more
