"""The names of a file's inputs and outputs."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
from jax.tree_util import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

from couplax._errors import ExportError, quoted
from couplax.stage import Staged

Names = str | Sequence[str] | None

STATUS = "status"
"""The name of the output that says which run-time check fired."""

MEANINGS = "couplax.status"
"""Where a file's metadata says what each status means."""

VARIABLES = "couplax.variables"
"""Where a file's metadata says, as JSON, the units and the description of each input and output."""

FOREIGN = "couplax.foreign"
"""Where a file's metadata says, as JSON, what each custom operator computes."""


class Program(Protocol):
    """What names are asked for: the structure of what it gives, and what each status means, if any."""

    @property
    def out_tree(self) -> Any:
        """The structure of what is given."""
        ...

    @property
    def meanings(self) -> tuple[str, ...]:
        """What each status means; nothing where there is none."""
        ...


def input_names(fn: Callable[..., Any], args: Sequence[Any], given: Names) -> list[str]:
    """Returns one name per flat input: as given, as `fn.inputs` says, or by the parameters of `fn`.

    Raises:
        ExportError: there are not as many names as inputs.
    """
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(tuple(args))[0]]
    chosen = _carried_inputs(fn, len(paths)) if given is None else given
    if chosen is None:
        return argument_names(fn, args)
    return _counted("inputs", chosen, [_spelled("", path) for path in paths])


def argument_names(fn: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """Returns the name of each flat argument by the parameters of `fn`, such as `x` or `params.weight`."""
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(tuple(args))[0]]
    heads = _parameters(fn, len(args))
    return [_spelled(heads[path[0].idx], path[1:]) for path in paths]


def output_names(fn: Callable[..., Any], program: Program, given: Names) -> list[str]:
    """Returns one name per flat output: as given, as `fn.outputs` says, or `out`, `out_0`, ...

    Where the program gives a status beside the function's result, that is the last, under its own name.

    Raises:
        ExportError: there are not as many names as outputs.
    """
    if program.meanings:
        return [*_result_names(fn, program.out_tree.children()[0], given), STATUS]
    return _result_names(fn, program.out_tree, given)


def _result_names(fn: Callable[..., Any], tree: Any, given: Names) -> list[str]:
    blank = jax.tree.unflatten(tree, range(tree.num_leaves))
    default = [_spelled("out", path) for path, _ in jax.tree_util.tree_flatten_with_path(blank)[0]]
    chosen = getattr(_unjitted(fn), "outputs", None) if given is None else given
    return default if chosen is None else _counted("outputs", chosen, default)


def check_names(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Returns nothing; raises where a name is used twice, which ONNX does not allow.

    Raises:
        ExportError: with the names used twice.
    """
    names = [*inputs, *outputs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not all(names):
        came = f"{quoted(twice)} stand twice" if twice else "one is empty"
        raise ExportError(
            f"The names of the file's inputs ({quoted(inputs)}) and outputs ({quoted(outputs)}) must all "
            f"differ; {came}. Give others with `inputs=` and `outputs=`."
        )


def _carried_inputs(fn: Callable[..., Any], count: int) -> Sequence[str] | None:
    """Returns the names that `fn` carries, or, where they fit, the function that it is a derivative of."""
    chosen = getattr(_unjitted(fn), "inputs", None)
    if chosen is not None:
        return chosen
    inner = getattr(inspect.unwrap(fn), "inputs", None)
    return inner if inner is not None and len(inner) == count else None


def _unjitted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what `jax.jit` or `stage` was called on, whose outputs a jitted or staged function has."""
    return inspect.unwrap(fn) if isinstance(fn, jax.stages.Wrapped | Staged) else fn


def _counted(which: str, chosen: str | Sequence[str], places: Sequence[str]) -> list[str]:
    names = [chosen] if isinstance(chosen, str) else list(chosen)
    if len(names) != len(places):
        raise ExportError(
            f"{which}= names {len(names)} ({quoted(names)}), and the function has {len(places)} {which}. "
            "Name each array of a structured value."
        )
    return names


def _parameters(fn: Callable[..., Any], count: int) -> list[str]:
    """Returns the name of each of `count` positional arguments of `fn`; those of `*args` are numbered."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return [f"in_{index}" for index in range(count)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "in")
    return [*names[:count], *(f"{rest}_{index}" for index in range(count - len(names)))]


def _spelled(head: str, path: Sequence[Any]) -> str:
    return head + "".join(map(_step, path))


def _step(key: Any) -> str:
    match key:
        case SequenceKey(idx=index) | FlattenedIndexKey(key=index):
            return f"_{index}"
        case GetAttrKey(name=name):
            return f".{name}"
        case DictKey(key=name):
            return f".{name}"
        case _:
            return f".{key}"
