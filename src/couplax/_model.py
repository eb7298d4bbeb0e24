"""The model: components connected by their names, with solvers for their cycles."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import jax

from couplax._calls import counted_since, counts
from couplax._errors import ModelError, original_errors, quoted
from couplax.graph import TIME, Component, Cycle, Graph, Naming, Node, unknown_names
from couplax.solve import (
    About,
    Closure,
    Function,
    Integrate,
    Integration,
    Program,
    Results,
    Solver,
    all_faults,
    as_values,
    check,
    check_bounds,
    check_closed,
    check_guesses,
    check_inputs,
    check_once,
    closed,
    closures_in,
    declared,
    evaluate,
    guesses_for,
    inferred,
    needed_steps,
    program,
    said_of,
)
from couplax.view import Drawing as Drawing
from couplax.view import Driver as Driver
from couplax.view import matrix, xdsm


class Model:
    """Components connected by the names that they read and write; immutable, equal if its parts are.

    A model with cycles runs once each is closed by a solver: `model.close(solver)`. A model is a part of
    another model as it is, or under a name: `model.nested("wing")`.
    """

    def __init__(self, *parts: "Component | Model") -> None:
        """Connects `parts`: components, and models with their components and their closed cycles.

        Raises:
            ModelError: with every fault of the model.
        """
        self._connect(node for part in parts for node in _nodes(part))

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "Model":
        """Returns the model of `nodes`."""
        model = cls.__new__(cls)
        model._connect(nodes)
        return model

    def _connect(self, nodes: Iterable[Node]) -> None:
        self._graph = Graph(nodes)
        self._structs, faults = inferred(self._graph.steps, declared(self._graph.nodes))
        if faults:
            raise ModelError(faults)

    @property
    def graph(self) -> Graph:
        """The components and closed cycles, and what connects them."""
        return self._graph

    @property
    def closures(self) -> tuple[Closure, ...]:
        """The cycles that have a solver, with where they are cut, each before those closed inside it."""
        return closures_in(self._graph.nodes)

    @property
    def components(self) -> tuple[Component, ...]:
        """The components, as declared."""
        return self._graph.components

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names that are read and that no component writes."""
        return self._graph.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names that components write."""
        return self._graph.outputs

    @property
    def couplings(self) -> tuple[str, ...]:
        """The names that one component writes and one reads."""
        return self._graph.couplings

    @property
    def structs(self) -> Mapping[str, Any]:
        """The shapes and dtypes that are known before anything runs: those declared, and what follows."""
        return MappingProxyType(self._structs)

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The groups of components that depend on each other, closed or open, in the order in which they run.

        A cycle that is closed inside another follows it.
        """
        found: list[Cycle] = []
        for step in self._graph.steps:
            outer = [step] if isinstance(step, Cycle) else []
            nodes = step.nodes if isinstance(step, Cycle) else (step,)
            found += [*outer, *(closure.cycle for closure in closures_in(nodes))]
        return tuple(found)

    def __add__(self, other: "Component | Model") -> "Model":
        """Returns the model of the parts of both."""
        return Model(self, other)

    def replace(self, component: str, part: "Component | Model") -> "Model":
        """Returns the model with `part` in the place of the component of that name.

        A closed cycle that the component is part of stays closed as it was where the new one makes the same
        cycle; else its components are left open.

        Raises:
            ModelError: there is no such component, or the new model has faults.
        """
        return self._changed({component: _nodes(part)})

    def without(self, *components: str) -> "Model":
        """Returns the model less the components of these names; what they wrote and others read is an input.

        Raises:
            ModelError: there is no such component, or nothing is left.
        """
        return self._changed(dict.fromkeys(components, ()))

    def _changed(self, change: Mapping[str, tuple[Node, ...]]) -> "Model":
        """Returns the model with components, by name, replaced by others or by none."""
        faults = unknown_names(change, [component.name for component in self.components], "component")
        if faults:
            raise ModelError(faults)
        return Model.of(new for node in self._graph.nodes for new in node.with_components(change))

    def rename(self, names: Mapping[str, str]) -> "Model":
        """Returns the model with variables renamed, wherever they are read and written.

        Raises:
            ModelError: there is no such variable, or two components write one name.
        """
        return self._named(Naming(renamed=dict(names)), names)

    def nested(
        self, name: str, *, promote: Collection[str] = (), rename: Mapping[str, str] | None = None
    ) -> "Model":
        """Returns the model as a part of another: `span` becomes `wing.span` under the name `wing`.

        Args:
            name: stands before the names of the components and variables, with a dot.
            promote: variables that keep their names.
            rename: variables with the names that they have in the other model.

        Raises:
            ModelError: a variable to promote or rename is unknown.
        """
        promoted = (promote,) if isinstance(promote, str) else tuple(promote)
        # Time stays one and the same for all rates that are integrated together.
        time = [TIME] if self._graph.rates and TIME not in self.outputs else []
        naming = Naming(prefix=name, promoted=frozenset([*promoted, *time]), renamed=dict(rename or {}))
        return self._named(naming, [*promoted, *naming.renamed])

    def _named(self, naming: Naming, given: Iterable[str]) -> "Model":
        """Returns the model under new names, `given` of which have to be there."""
        faults = unknown_names(given, [*self.inputs, *self.outputs], "variable")
        if faults:
            raise ModelError(faults)
        return Model.of(node.named(naming) for node in self._graph.nodes)

    def close(self, solver: Solver | Integrate, *, cut: str | Sequence[str] | None = None) -> "Model":
        """Returns the model with cycles closed: `solver` finds the variables at which they are cut.

        A closed cycle stays as it is: where the model becomes part of another, in which the cycle is part of
        a larger one, it is solved inside that one's solve.

        Args:
            solver: `couplax.Newton`, or any optimistix root finder or fixed-point solver; or
                `couplax.Integrate`, which closes rates of change.
            cut: coupling variables such that every loop of their cycles passes through one; those cycles are
                closed. By default every open cycle is closed, cut at as few variables as possible, ones that
                declare a guess preferred. For `couplax.Integrate` the states to integrate, by default all.

        Raises:
            ModelError: a name is no coupling variable of an open cycle, or loops remain.
        """
        names = (cut,) if isinstance(cut, str) else tuple(cut or ())
        return Model.of(closed(self._graph, solver, names, self._declared_guesses, self._sizes))

    def run(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        guess: Mapping[str, Any] | None = None,
        throw: bool = True,
        **inputs: Any,
    ) -> Results:
        """Returns every value of the model, inputs and outputs, by name.

        The model is compiled once for each structure and shape; runs with other numbers compile nothing.

        Args:
            values: a value for each of the model's inputs that has no default, by name: an array, a number,
                a list of numbers, or a tree of them.
            guess: where unknowns start, by name; it goes before what outputs declare.
            throw: whether a solve that does not converge raises; else its status stands in `result.solves`.
            inputs: as `values`, by keyword.

        Raises:
            ModelError: an input is unknown or missing, or a cycle is not closed.
            GuessError: a guess is unknown, missing or of the wrong shape.
            SolveError: a solve did not converge.
        """
        check_once(values or {}, inputs)
        given = {**self._graph.defaults, **as_values({**values, **inputs} if values else inputs)}
        guesses = self._guesses(given, guess or {})
        before = counts()
        with original_errors(), all_faults(self._whole.steps, given, guesses):
            written, solves = evaluate(self._whole, given, guesses)
            # What one program computes is there all at once.
            jax.block_until_ready(next(iter(written.values())))
        named = {name: given[name] for name in self.inputs} | {name: written[name] for name in self.outputs}
        solves = {name: solves[name] for name in self._whole.solves}
        if throw and not all(solve.is_known_to_converge for solve in solves.values()):
            # What passes through a transformation comes back sorted by name.
            checked = check(named, solves, self._whole.solved)
            named = {name: checked[name] for name in named}
        return Results(named, solves, self._about, counted_since(before))

    def _guesses(self, given: Mapping[str, Any], guess: Mapping[str, Any]) -> dict[str, Any]:
        """Returns where each unknown starts; the names given are checked once for each set of them.

        Raises:
            ModelError: an input is unknown or missing, or a cycle is not closed.
            GuessError: a guess is unknown or missing.
        """
        names = (frozenset(given), frozenset(guess))
        if names not in self._runnable_with:
            check_closed(self._graph.steps, self._declared_guesses)
            check_inputs(self._graph, given, self.inputs)
            check_guesses(self._whole, self._graph, self._declared_guesses, guess)
            self._runnable_with.add(names)
        found = as_values(guess)
        if self._graph.bounded:
            check_bounds(self._graph, found)
        return {name: found.get(name, self._declared_guesses.get(name)) for name in self._whole.unknowns}

    def function(
        self,
        inputs: str | Sequence[str],
        outputs: str | Sequence[str],
        *,
        fixed: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | None = None,
    ) -> Function:
        """Returns the model as a plain JAX function from `inputs`, in order, to `outputs`.

        Only what the outputs need is run. The function carries its names as `.inputs` and `.outputs`.

        Args:
            inputs: the names of the arguments.
            outputs: one name, whose value is returned, or several, whose values are returned as a tuple.
            fixed: values of other inputs, by name.
            guess: where unknowns start, by name; it goes before what outputs declare.

        Raises:
            ModelError: a name is unknown, an input is missing, or a cycle is not closed.
            GuessError: a guess is unknown or missing.
        """
        read = (inputs,) if isinstance(inputs, str) else tuple(inputs)
        wanted = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        fixed = as_values(fixed or {})
        faults = unknown_names(wanted, self.outputs, "output")
        if faults:
            raise ModelError(faults)
        needed = needed_steps(self._graph, wanted)
        check_closed(needed, self._declared_guesses)
        prepared = program(self._graph, wanted)
        check_inputs(self._graph, [*read, *fixed], prepared.inputs)
        return Function(
            inputs=read,
            outputs=outputs if isinstance(outputs, str) else wanted,
            program=prepared,
            fixed={**self._graph.defaults, **fixed},
            guesses=guesses_for(prepared, self._graph, self._declared_guesses, guess or {}),
            variables=said_of(self._graph, (*read, *wanted)),
        )

    def xdsm(
        self,
        driver: Driver | None = None,
        *,
        collapse: Collection[str] | None = None,
        expand: Collection[str] = (),
        most: int = 20,
    ) -> Drawing:
        """Returns the model drawn as an extended design structure matrix, in SVG, which notebooks show.

        Args:
            driver: an optimiser that runs the model; `Optimum.xdsm()` draws its own.
            collapse: prefixes of names, or names of cycles, each drawn as one block; by default, of more than
                `most` components, those that share a prefix.
            expand: prefixes that stay open all the same.
            most: how many blocks are drawn before components are drawn as one.

        Raises:
            ModelError: a name to collapse or to expand is unknown.
        """
        return xdsm(self._graph, driver=driver, collapse=collapse, expand=expand, most=most)

    def matrix(
        self, *, collapse: Collection[str] | None = None, expand: Collection[str] = (), most: int = 500
    ) -> Drawing:
        """Returns the model drawn as a design structure matrix, in SVG: who reads what who writes.

        Args:
            collapse: as for `xdsm`; `expand`, `most`: likewise.

        Raises:
            ModelError: a name to collapse or to expand is unknown.
        """
        return matrix(self._graph, collapse=collapse, expand=expand, most=most)

    @cached_property
    def _runnable_with(self) -> set[tuple[frozenset[str], frozenset[str]]]:
        """The names of inputs and guesses that were found to be enough: a model is checked once for each."""
        return set()

    @cached_property
    def _declared_guesses(self) -> dict[str, Any]:
        written = (output for component in self.components for output in component.outputs)
        return {output.name: output.guess for output in written if output.guess is not None}

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """How many numbers a variable has, where it is known."""
        return {
            name: sum(leaf.size for leaf in jax.tree.leaves(tree)) for name, tree in self._structs.items()
        }

    @cached_property
    def _whole(self) -> Program:
        return program(self._graph, self.outputs)

    @cached_property
    def _about(self) -> About:
        return About.of(self._whole.steps)

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns how a copy is made: of the components and what closes them."""
        return Model.of, (self._graph.nodes,)

    def __eq__(self, other: object) -> bool:
        """Returns whether `other` is a model of equal components, closed alike."""
        return isinstance(other, Model) and self._graph == other._graph

    def __hash__(self) -> int:
        """Returns a hash of the components and closures."""
        return hash((Model, self._graph))

    def __repr__(self) -> str:
        """Returns the model's components, inputs, outputs, cycles and rates."""
        names = [component.name for component in self.components]
        lines = [
            f"Model of {len(names)} component{'s' if len(names) > 1 else ''}: {_listed(names)}",
            f"  inputs: {_listed(self.inputs)}",
            f"  outputs: {_listed(self.outputs)}",
        ]
        return "\n".join([*lines, *self._cycle_lines(), *self._rate_lines()])

    def _cycle_lines(self) -> Iterator[str]:
        """Yields a line for each cycle."""
        closed = {closure.cycle: closure for closure in self.closures}
        for cycle in self.cycles:
            closure = closed.get(cycle)
            how = f"cut at {quoted(closure.cut)}, {type(closure.solver).__name__}" if closure else "open"
            yield f"  cycle {cycle.name}: {how}"

    def _rate_lines(self) -> Iterator[str]:
        """Yields a line for each integral, and for each rate that is not integrated."""
        for node in self._graph.nodes:
            if isinstance(node, Integration):
                start, end = node.integrate.span
                yield f"  rates {node.name}: integrated from {start} to {end}, {node.integrate.name}"
        for rate in self._graph.rates:
            yield f"  rate {rate.name}: open"


def _listed(names: Iterable[str]) -> str:
    """Returns names in a line; of many the first, and how many more."""
    names = list(names)
    more = f", and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


_LISTED = 20


def _nodes(part: "Component | Model") -> tuple[Node, ...]:
    """Returns the nodes that `part` brings into a model."""
    return part.graph.nodes if isinstance(part, Model) else (part,)
