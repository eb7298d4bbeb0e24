"""A model as a plain JAX function, with the names of its inputs and outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from couplax._errors import original_errors
from couplax.solve._failure import check
from couplax.solve._program import Program, evaluate


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False)
class Function:
    """A JAX function of one argument for each of `inputs` that returns the value or values of `outputs`.

    Attributes:
        inputs: the names of the arguments.
        outputs: the name of the value returned, or a tuple of names of the values returned as a tuple.
        program: what is run.
        fixed: the values of the program's other inputs.
        guesses: where each unknown starts.
    """

    inputs: tuple[str, ...]
    outputs: str | tuple[str, ...]
    program: Program
    fixed: Mapping[str, Any]
    guesses: Mapping[str, Any]

    def __call__(self, *args: Any) -> Any:
        """Returns the outputs at `args`.

        Raises:
            TypeError: there is not one argument for each input.
            SolveError: a solve did not converge.
        """
        if len(args) != len(self.inputs):
            raise TypeError(
                f"This function of a model takes {len(self.inputs)} arguments, "
                f"({', '.join(self.inputs)}), and was given {len(args)}."
            )
        given = {**self.fixed, **dict(zip(self.inputs, args, strict=True))}
        read = {name: given[name] for name in self.program.inputs}
        with original_errors():
            values, solves = evaluate(self.program, read, dict(self.guesses))
        values = check(values, solves, self.program.solved, read)
        if isinstance(self.outputs, str):
            return values[self.outputs]
        return tuple(values[name] for name in self.outputs)

    def __repr__(self) -> str:
        """Returns the names, as a signature."""
        outputs = self.outputs if isinstance(self.outputs, str) else f"({', '.join(self.outputs)})"
        return f"<function of a model: ({', '.join(self.inputs)}) -> {outputs}>"
