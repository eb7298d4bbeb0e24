"""A model as a plain JAX function, with the names of its inputs and outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from couplax._errors import original_errors, quoted
from couplax.solve._failure import check
from couplax.solve._given import as_values
from couplax.solve._program import Program, evaluate
from couplax.solve._structs import all_faults


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False)
class Function:
    """A JAX function of one argument for each of `inputs`, or of a dict, that gives the values of `outputs`.

    Attributes:
        inputs: the names of the arguments.
        outputs: the name of the value returned, or a tuple of names of the values returned as a tuple.
        program: what is run.
        fixed: the values of the program's other inputs.
        guesses: where each unknown starts.
        variables: what is said of inputs and outputs, by name: `units` and `description`, where there are.
    """

    inputs: tuple[str, ...]
    outputs: str | tuple[str, ...]
    program: Program
    fixed: Mapping[str, Any]
    guesses: Mapping[str, Any]
    variables: Mapping[str, Mapping[str, str]]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Returns the outputs at `args`, one for each input, or at values by name: a dict, or keywords.

        Raises:
            TypeError: there is not one argument for each input.
            ModelError: a component cannot be run on arguments of these shapes.
            SolveError: a solve did not converge.
        """
        given = {**self.fixed, **as_values(self._given(args, named))}
        read = {name: given[name] for name in self.program.inputs}
        with original_errors(), all_faults(self.program.steps, read, self.guesses):
            values, solves = evaluate(self.program, read, dict(self.guesses))
        values = check(values, solves, self.program.solved, read)
        if isinstance(self.outputs, str):
            return values[self.outputs]
        return tuple(values[name] for name in self.outputs)

    def _given(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the arguments by name."""
        if len(args) == 1 and isinstance(args[0], Mapping) and {*args[0], *named} == {*self.inputs}:
            return {**args[0], **named}
        given = {**dict(zip(self.inputs, args, strict=False)), **named}
        if len(args) + len(named) != len(self.inputs) or {*given} != {*self.inputs}:
            raise TypeError(
                f"This function of a model takes {len(self.inputs)} arguments, "
                f"({', '.join(self.inputs)}), and was given {len(args) + len(named)}"
                f"{f', {quoted(named)} among them' if named else ''}."
            )
        return given

    def __repr__(self) -> str:
        """Returns the names, as a signature."""
        outputs = self.outputs if isinstance(self.outputs, str) else f"({', '.join(self.outputs)})"
        return f"<function of a model: ({', '.join(self.inputs)}) -> {outputs}>"
