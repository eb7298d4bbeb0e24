"""How a function is declared as a component."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from couplax._errors import ModelError, close_matches, place_of, quoted

from ._component import Component
from ._node import Kind
from ._variables import Input, Output

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

# What to do, at the end of a message.
_HOW = 'Write `@component("y")` above the function, or `component(fn, "y")`.'
_WRAP = "Wrap it in a function with named parameters: `lambda x: fn(x)`."


@overload
def component(
    fn: Callable[..., Any],
    /,
    *variables: str | Output | Input,
    rename: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Component: ...


@overload
def component(
    *variables: str | Output | Input, rename: Mapping[str, str] | None = None, name: str | None = None
) -> Callable[[Callable[..., Any]], Component]: ...


def component(
    *given: Any, rename: Mapping[str, str] | None = None, name: str | None = None
) -> Component | Callable[[Callable[..., Any]], Component]:
    """Returns a function as a component: `component(fn, "y_1")`, or the decorator `@component("y_1")`.

    The function's parameters are read by name, and a parameter's default is the input's default. It returns
    one value for each output: the value itself for one, a tuple for several, or a dict by name.

    Args:
        given: the outputs, each a name or `couplax.output(...)`; among them `couplax.input(...)` for what is
            to be said of a parameter; before them the function, unless this decorates one.
        rename: from parameters and outputs of the function to the variables that they are in the model.
        name: the component's own name; the function's name if not given.

    Raises:
        ModelError: an output is not a name, the function's parameters have no names, or it writes nothing.
    """
    return _declared(given, Kind.EXPLICIT, rename or {}, name)


@overload
def residual(
    fn: Callable[..., Any],
    /,
    *variables: str | Output | Input,
    rename: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Component: ...


@overload
def residual(
    *variables: str | Output | Input, rename: Mapping[str, str] | None = None, name: str | None = None
) -> Callable[[Callable[..., Any]], Component]: ...


def residual(
    *given: Any, rename: Mapping[str, str] | None = None, name: str | None = None
) -> Component | Callable[[Callable[..., Any]], Component]:
    """Returns a function as an implicit component: `@residual("u")`, or `residual(fn, "u")`.

    The function returns one residual for each unknown named, of the unknown's shape, and a solver finds the
    unknowns such that all residuals are zero: `model.close(solver)` closes the component, with the cycle that
    it is part of, cut at its unknowns.

    Args:
        given: the unknowns, each a name or `couplax.output(...)`; the rest as for `couplax.component`.
        rename: as for `couplax.component`.
        name: as for `couplax.component`.

    Raises:
        ModelError: as for `couplax.component`.
    """
    return _declared(given, Kind.RESIDUAL, rename or {}, name)


@overload
def rate(
    fn: Callable[..., Any],
    /,
    *variables: str | Output | Input,
    rename: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Component: ...


@overload
def rate(
    *variables: str | Output | Input, rename: Mapping[str, str] | None = None, name: str | None = None
) -> Callable[[Callable[..., Any]], Component]: ...


def rate(
    *given: Any, rename: Mapping[str, str] | None = None, name: str | None = None
) -> Component | Callable[[Callable[..., Any]], Component]:
    """Returns a function as the rate of change of states: `@rate("x")`, or `rate(fn, "x")` for dx/dt.

    The function returns one rate for each state named, of the state's shape. A parameter named `t` is time.
    `model.close(couplax.Integrate(...))` integrates the states.

    Args:
        given: the states, each a name or `couplax.output(...)`; the rest as for `couplax.component`.
        rename: as for `couplax.component`.
        name: as for `couplax.component`.

    Raises:
        ModelError: as for `couplax.component`.
    """
    return _declared(given, Kind.RATE, rename or {}, name)


def _declared(given: Sequence[Any], kind: Kind, rename: Mapping[str, str], name: str | None) -> Any:
    """Returns the component, or the decorator that makes it where `given` does not start with a function."""
    if not given or isinstance(given[0], str | Output | Input):
        return functools.partial(_declare, variables=given, kind=kind, rename=rename, name=name)
    return _declare(given[0], given[1:], kind, rename, name)


def _declare(
    fn: Any, variables: Sequence[Any], kind: Kind, rename: Mapping[str, str], name: str | None
) -> Component:
    """Returns the component, or raises every fault of the declaration."""
    if isinstance(fn, Component):
        fn = fn.fn
    if not callable(fn):
        raise ModelError([f"a component is made of a function and names; came {_say(fn)}. {_HOW}"])
    said = {variable.name: variable for variable in variables if isinstance(variable, Input)}
    outputs = _outputs(fn, [variable for variable in variables if not isinstance(variable, Input)])
    parameters = _parameters(fn, said)
    returned = tuple(output.name for output in outputs)
    names = tuple(parameter.name for parameter in parameters)
    _check_known(fn, "renames", rename, [*names, *returned], "parameter or output")
    _check_known(fn, "declares the input", said, names, "parameter")
    return Component(
        name=name or _own_name(fn) or returned[0],
        fn=fn,
        inputs=tuple(_input(parameter, said, rename) for parameter in parameters),
        outputs=tuple(_renamed(output, rename) for output in outputs),
        parameters=names,
        returned=returned,
        kind=kind,
    )


def _outputs(fn: Callable[..., Any], written: Sequence[Any]) -> tuple[Output, ...]:
    """Returns `written`, names and outputs, all as outputs."""
    if not written:
        raise ModelError([f"component {_of(fn)} says nothing of what it writes. {_HOW}"])
    wrong = [given for given in written if not _is_name(given.name if isinstance(given, Output) else given)]
    if wrong:
        raise ModelError(
            [
                f"component {_of(fn)} has {_say(given)} among its outputs."
                ' Wanted: one name each, such as "y", or `couplax.output("y")`.'
                for given in wrong
            ]
        )
    return tuple(given if isinstance(given, Output) else Output(name=given) for given in written)


def _is_name(given: object) -> bool:
    """Returns whether `given` can name a variable: one word, for `"y_1, y_2"` was meant to be two names."""
    return isinstance(given, str) and given.split() == [given] and "," not in given


def _parameters(fn: Callable[..., Any], said: Iterable[str]) -> tuple[inspect.Parameter, ...]:
    """Returns the parameters of `fn`, all of which have names: those that `**` takes are `said`."""
    try:
        parameters = tuple(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        raise ModelError([f"component {_of(fn)} has no signature to read names from. {_WRAP}"]) from None
    if any(parameter.kind is inspect.Parameter.POSITIONAL_ONLY for parameter in parameters):
        fault = f"component {_of(fn)} takes arguments by position only, and a component's are read by name."
        raise ModelError([f"{fault} {_WRAP}"])
    named = tuple(parameter for parameter in parameters if parameter.kind in _NAMED)
    more = [name for name in said if name not in {parameter.name for parameter in named}]
    rest = [parameter for parameter in parameters if parameter.kind not in _NAMED]
    if more and all(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in rest) and rest:
        return (*named, *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in more))
    if rest:
        shown = quoted(str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in rest)
        raise ModelError(
            [
                f"component {_of(fn)} takes {shown}, which has no names. {_WRAP} Or say what `**` is to take:"
                ' `component(fn, couplax.input("x"), ..., "y")`.'
            ]
        )
    return named


def _check_known(
    fn: Callable[..., Any], does: str, given: Iterable[str], known: Sequence[str], what: str
) -> None:
    """Raises where `given` holds a name that the function neither takes nor returns."""
    faults: list[str] = []
    for old in given:
        if old not in known:
            close = close_matches(old, known)
            hint = f" Close: {quoted(close)}." if close else ""
            faults.append(
                f"component {_of(fn)} {does} `{old}`, which is no {what} of it.{hint}"
                f" It has {quoted(dict.fromkeys(known))}."
            )
    if faults:
        raise ModelError(faults)


def _input(parameter: inspect.Parameter, said: Mapping[str, Input], rename: Mapping[str, str]) -> Input:
    """Returns the input that `parameter` stands for: the signature's default goes before the declared."""
    declared = said.get(parameter.name, Input(name=parameter.name))
    default = declared.default if parameter.default is inspect.Parameter.empty else parameter.default
    return dataclasses.replace(declared, name=rename.get(parameter.name, parameter.name), default=default)


def _renamed(written: Output, rename: Mapping[str, str]) -> Output:
    """Returns `written` under the model's name for it."""
    return dataclasses.replace(written, name=rename.get(written.name, written.name))


def _own_name(fn: Callable[..., Any]) -> str | None:
    """Returns the name that `fn` was written under, if it has one: a lambda has none."""
    if isinstance(fn, functools.partial):
        return _own_name(fn.func)
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) and name != "<lambda>" else None


def _of(fn: Callable[..., Any]) -> str:
    """Returns `fn` in a message: its name and place."""
    name, place = _own_name(fn), place_of(fn)
    return f"`{name}` ({place})" if name and name != place else f"`{place}`"


def _say(value: Any) -> str:
    """Returns `value` in a message, with its type, shortened where it is long."""
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"
