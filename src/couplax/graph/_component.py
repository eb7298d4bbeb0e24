"""A component: a function whose parameters and returned values have names."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from couplax._errors import ModelError, place_of, quoted
from couplax._tree import describe

from ._node import Kind, Naming, Node
from ._promise import broken_promises
from ._units import as_read
from ._variables import Input, Output


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False)
class Component:
    """A function from named variables to named variables, called like the function it was made of.

    Equal to a component made of equal parts.

    Attributes:
        name: the component's own name, unique in a model.
        inputs: what it reads, one for each parameter of `fn`.
        outputs: what it writes, one for each value that `fn` returns.
        parameters: the names of `fn`'s parameters, aligned with `inputs`.
        returned: the names by which `fn` keys its values if it returns a dict, aligned with `outputs`.
        kind: whether `fn` returns the outputs themselves, residuals that they bring to zero, or their rates.
    """

    name: str
    fn: Callable[..., Any]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    parameters: tuple[str, ...]
    returned: tuple[str, ...]
    kind: Kind = Kind.EXPLICIT

    @property
    def place(self) -> str:
        """`file.py:line` where the function was written."""
        return place_of(self.fn)

    @property
    def described(self) -> str:
        """The component in a message: its name and place."""
        return f"`{self.name}` ({self.place})"

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, so that `inspect.signature` and `help` see through the component."""
        return self.fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the function returns."""
        return self.fn(*args, **kwargs)

    @property
    def components(self) -> tuple["Component", ...]:
        """The component itself."""
        return (self,)

    @property
    def unknowns(self) -> tuple[str, ...]:
        """No variable: a component has no solver inside."""
        return ()

    @property
    def solves(self) -> tuple[str, ...]:
        """No name: a component has no solver inside."""
        return ()

    def run(
        self, values: Mapping[str, Any], guesses: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns what `evaluate` returns, and no solve."""
        return self.evaluate(values), {}

    def evaluate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the outputs, or their residuals or rates, by variable name, from `values` by variable name.

        Args:
            values: may hold more than is read, and may lack inputs that have a default.

        Raises:
            ModelError: a required input is not in `values`, an input or output is not what was declared of
                it, or the function returned other than its outputs.
        """
        self._require_inputs(values)
        read = {
            item.name: as_read(item, values[item.name]) if item.name in values else item.default
            for item in self.inputs
        }
        self._check(self.inputs, read, "was given", "the input takes")
        pairs = zip(self.parameters, self.inputs, strict=True)
        named = self._named(self.fn(**{parameter: read[item.name] for parameter, item in pairs}))
        self._check(self.outputs, named, "returned", "the output promises")
        return named

    def named(self, naming: Naming) -> "Component":
        """Returns the component under new names, those of its parameters the same."""
        return dataclasses.replace(
            self,
            name=naming.node(self.name),
            inputs=tuple(dataclasses.replace(it, name=naming.variable(it.name)) for it in self.inputs),
            outputs=tuple(dataclasses.replace(it, name=naming.variable(it.name)) for it in self.outputs),
        )

    def reading_in(self, units: Mapping[str, str]) -> "Component":
        """Returns the component such that it reads variables given in `units`, and converts them."""
        given = [units.get(read.name) if read.units else None for read in self.inputs]
        wanted = [None if unit == read.units else unit for unit, read in zip(given, self.inputs, strict=True)]
        if wanted == [read.comes_in for read in self.inputs]:
            return self
        pairs = zip(self.inputs, wanted, strict=True)
        return dataclasses.replace(
            self, inputs=tuple(dataclasses.replace(read, comes_in=unit) for read, unit in pairs)
        )

    def with_components(self, change: Mapping[str, tuple[Node, ...]]) -> tuple[Node, ...]:
        """Returns what replaces the component, or the component itself."""
        return change.get(self.name, (self,))

    def _require_inputs(self, values: Mapping[str, Any]) -> None:
        """Raises where a required input is not in `values`."""
        missing = [read.name for read in self.inputs if read.required and read.name not in values]
        if missing:
            raise ModelError(
                [f"component {self.described} was not given {quoted(missing)}, only {quoted(values)}."]
            )

    def _check(
        self, variables: Sequence[Input | Output], values: Mapping[str, Any], came: str, promise: str
    ) -> None:
        """Raises where a value is not what is declared of its variable."""
        broken = broken_promises(variables, values)
        faults = [
            f"component {self.described} {came} {value}, and {promise} {wanted}." for value, wanted in broken
        ]
        if faults:
            raise ModelError(faults)

    def _named(self, result: Any) -> dict[str, Any]:
        """Returns `result`, what the function returned, as outputs by variable name."""
        if result is None:
            raise self._mismatch("None (is a `return` missing?)")
        values = [result] if self._is_value(result) else self._several(result)
        return {output.name: value for output, value in zip(self.outputs, values, strict=True)}

    def _is_value(self, result: Any) -> bool:
        """Returns whether `result` is the value of the one output, not a dict with it."""
        return len(self.outputs) == 1 and not (isinstance(result, Mapping) and [*result] == [*self.returned])

    def _several(self, result: Any) -> list[Any]:
        """Returns the values in `result`, a tuple, list or dict, in the order of the outputs."""
        if isinstance(result, Mapping):
            if set(result) != set(self.returned):
                raise self._mismatch(f"a dict with {quoted(map(str, result))}")
            return [result[name] for name in self.returned]
        if not isinstance(result, tuple | list):
            raise self._mismatch(f"one value, {_say(result)}")
        if len(result) != len(self.outputs):
            raise self._mismatch(f"{len(result)} value{'s' if len(result) != 1 else ''}")
        return list(result)

    def _mismatch(self, came: str) -> ModelError:
        """Returns the exception for a function that returned `came`."""
        count = len(self.returned)
        wanted = "one value" if count == 1 else f"a tuple of {count} values, or a dict,"
        return ModelError(
            [f"component {self.described} returned {came}. Wanted: {wanted} for {quoted(self.returned)}."]
        )

    def __repr__(self) -> str:
        reads = ", ".join(read.name for read in self.inputs)
        writes = ", ".join(output.name for output in self.outputs)
        return f"<component {self.name} ({self.place}): {reads} -> {writes}>"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Component)
            and self.name == other.name
            and self.inputs == other.inputs
            and self.outputs == other.outputs
            and self.parameters == other.parameters
            and self.returned == other.returned
            and self.kind is other.kind
            and (self.fn is other.fn or bool(self.fn == other.fn))
        )

    def __hash__(self) -> int:
        return hash((Component, self.name, self.inputs, self.outputs))


def _say(value: Any) -> str:
    """Returns `value`'s struct if it is an array, else its type."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return describe(value)
    return f"a {type(value).__name__}"
