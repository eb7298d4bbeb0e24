"""The structure of a code's arguments as plain data, which can stand in a file."""

from collections.abc import Sequence
from typing import Any

import jax

from couplax._errors import ForeignError
from couplax.foreign._declaration import Outputs


def skeleton(code: str, arguments: Outputs) -> Any:
    """Returns the structure of the arguments, in dicts and lists, with the place of each array in it.

    Raises:
        ForeignError: the code takes other structures than tuples, lists and dicts.
    """
    return _plain(code, jax.tree.unflatten(arguments.tree, range(len(arguments.structs))))


def filled(node: Any, leaves: Sequence[Any]) -> Any:
    """Returns the structure that `node` is the skeleton of, with `leaves` in their places."""
    if node is None:
        return None
    if isinstance(node, int):
        return leaves[node]
    ((kind, parts),) = node.items()
    if kind == "dict":
        return {key: filled(each, leaves) for key, each in parts}
    return {"tuple": tuple, "list": list}[kind](filled(each, leaves) for each in parts)


def _plain(code: str, node: Any) -> Any:
    if node is None or type(node) is int:
        return node
    if type(node) in (tuple, list):
        return {type(node).__name__: [_plain(code, each) for each in node]}
    if type(node) is dict and all(isinstance(key, str | int) for key in node):
        return {"dict": [[key, _plain(code, each)] for key, each in node.items()]}
    raise ForeignError(
        f"Foreign code `{code}` takes arrays in a {type(node).__name__}, which an operator of a file cannot. "
        "Let it take them one by one, or in tuples, lists and dicts with names."
    )
