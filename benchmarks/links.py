"""A ring and a chain of links: with couplax, as one plain JAX function, with cottax and with OpenMDAO.

Link i gives y_i = 0.7 y_(i-1) + 0.25 sin(y_(i-1) + p_i) + w_i cos(y_(i-1) backwards), with a parameter p_i
and a weight w_i of its own, so that no two links are one function. The result is the sum of squares of the
last y.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jaxtyping import Array

import couplax as cpx

TOLERANCE = 1e-10
START = 0.5
Parameters = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`count` links of `size` numbers, 1 or even; the first reads the last in a ring, zeros in a chain."""

    is_ring: bool
    count: int
    size: int

    @property
    def name(self) -> str:
        """What the case is called."""
        numbers = "1 number" if self.size == 1 else f"{self.size} numbers"
        return f"a {'ring' if self.is_ring else 'chain'} of {self.count}, each of {numbers}"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of each y and p."""
        return () if self.size == 1 else (self.size,)

    @property
    def last(self) -> int:
        """The number of the last link."""
        return self.count - 1

    def filled(self, value: float) -> Array:
        """Returns `value` in the shape of a y."""
        return jnp.full(self.shape, value)

    def parameters(self) -> Parameters:
        """Returns a value for each parameter."""
        return {f"p_{i}": self.filled(0.1 + 0.2 * i / self.count) for i in range(self.count)}

    def weight(self, i: int) -> float:
        """Returns the weight of link `i`."""
        return 0.01 + 0.03 * i / self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A case as declared with one tool.

    Attributes:
        first: runs the model as the tool's user first does.
        run: gives the result; `gradient`: the result and its derivative with respect to each parameter.
        compiles: whether the first call of `run` and of `gradient` compiles it.
    """

    first: Callable[[], Any]
    run: Callable[[], Any]
    gradient: Callable[[], tuple[Any, Parameters]]
    compiles: bool


def link(case: Case, i: int) -> Callable[[Any, Any], Array]:
    """Returns the function of link `i`."""
    weight = case.weight(i)

    def fn(before: Any, parameter: Any) -> Array:
        return 0.7 * before + 0.25 * jnp.sin(before + parameter) + weight * jnp.cos(jnp.flip(before))

    return fn


def result(last: Any) -> Array:
    """Returns the sum of squares of the last y."""
    return jnp.sum(last**2)


def compiled(fn: Callable[[Parameters], Any], parameters: Parameters, first: Callable[[], Any]) -> Built:
    """Returns a JAX function of the parameters, ready to be compiled."""
    run, gradient = jax.jit(fn), jax.jit(jax.value_and_grad(fn))
    return Built(
        first=first, run=lambda: run(parameters), gradient=lambda: gradient(parameters), compiles=True
    )


def plain_fenced(case: Case) -> Built:
    """Returns `plain` with a barrier behind each link, which XLA fuses nothing across."""
    return plain(case, jax.lax.optimization_barrier)


def plain(case: Case, between: Callable[[Any], Any] = lambda y: y) -> Built:
    """Returns the case as one JAX function, the ring solved by couplax's Newton through optimistix."""
    links = [link(case, i) for i in range(case.count)]

    def once(y: Any, parameters: Parameters) -> Any:
        for i, fn in enumerate(links):
            y = between(fn(y, parameters[f"p_{i}"]))
        return y

    def change(y: Any, parameters: Parameters) -> Any:
        return once(y, parameters) - y

    def fn(parameters: Parameters) -> Array:
        if not case.is_ring:
            return result(once(case.filled(0.0), parameters))
        solver = cpx.Newton(rtol=TOLERANCE, atol=TOLERANCE)
        options = {"changes": True}
        found = optx.root_find(change, solver, case.filled(START), parameters, options=options)
        return result(found.value)

    parameters = case.parameters()
    return compiled(fn, parameters, lambda: fn(parameters))


def with_couplax(case: Case) -> Built:
    """Returns the case as a model."""
    links = [
        cpx.component(link(case, i), f"y_{i}", name=f"link_{i}", rename=read_by(case, i))
        for i in range(case.count)
    ]
    model = cpx.Model(*links, cpx.component(result, "total", name="result", rename=last_of(case)))
    guess: Parameters = {}
    fixed = {} if case.is_ring else {"start": case.filled(0.0)}
    if case.is_ring:
        model = model.close(cpx.Newton(rtol=TOLERANCE, atol=TOLERANCE), cut=f"y_{case.last}")
        guess = {f"y_{case.last}": case.filled(START)}
    parameters = case.parameters()
    fn = model.function(inputs=tuple(parameters), outputs="total", fixed=fixed, guess=guess)
    return compiled(fn, parameters, lambda: model.run({**fixed, **parameters}, guess=guess)["total"])


def read_by(case: Case, i: int) -> dict[str, str]:
    """Returns the names of what link `i` reads."""
    first = f"y_{case.last}" if case.is_ring else "start"
    return {"before": first if i == 0 else f"y_{i - 1}", "parameter": f"p_{i}"}


def last_of(case: Case) -> dict[str, str]:
    """Returns the name of what the result reads."""
    return {"last": f"y_{case.last}"}


def with_cottax(case: Case) -> Built:
    """Returns the case as a graph of cottax, each cycle closed by its rule and solved by its Newton."""
    cx: Any = import_module("cottax.assemblies.jax")
    names = cx.flat
    nodes = {
        f"link_{i}": names.function(link(case, i), f"y_{i}", reads=(*read_by(case, i).values(),))
        for i in range(case.count)
    }
    total = names.function(result, "total", reads=(f"y_{case.last}",))
    graph = names.declare({**nodes, "result": total})
    starts = {}
    fixed = {} if case.is_ring else {"start": case.filled(0.0)}
    if case.is_ring:
        graph = graph + names.mda() + names.drive(cx.Newton(rtol=TOLERANCE, atol=TOLERANCE))
        starts = {cx.Start: {names.copy(f"y_{case.last}"): case.filled(START)}}

    def fn(parameters: Parameters) -> Any:
        return names.run(graph, {cx.Inputs: {**fixed, **parameters}, **starts})["total"]

    parameters = case.parameters()
    return compiled(fn, parameters, lambda: fn(parameters))


def with_openmdao(case: Case) -> Built:
    """Returns the case as a problem of OpenMDAO: analytic derivatives, its Newton and its direct solver."""
    om: Any = import_module("openmdao.api")
    warnings.filterwarnings("ignore", category=om.OpenMDAOWarning)
    problem: Any = om.Problem(reports=False)
    links = problem.model.add_subsystem("links", om.Group())
    for i in range(case.count):
        links.add_subsystem(f"link_{i}", _link_of_openmdao(om, case, i), promotes=[f"y_{i}", f"p_{i}"])
        if i or case.is_ring:
            problem.model.connect(f"links.y_{(i - 1) % case.count}", f"links.link_{i}.before")
    problem.model.add_subsystem("result", _result_of_openmdao(om, case), promotes=["total"])
    problem.model.connect(f"links.y_{case.last}", "result.last")
    if case.is_ring:
        links.nonlinear_solver = om.NewtonSolver(
            solve_subsystems=False, rtol=TOLERANCE, atol=TOLERANCE, iprint=-1
        )
        links.linear_solver = om.DirectSolver(assemble_jac=True)
    problem.setup(mode="rev")
    for name, value in case.parameters().items():
        problem.set_val(f"links.{name}", np.asarray(value))
    return _driven(problem, case)


def _driven(problem: Any, case: Case) -> Built:
    """Returns a problem of OpenMDAO as what is measured."""
    names = [f"links.p_{i}" for i in range(case.count)]

    def run() -> Any:
        if case.is_ring:
            # It would start from the solution found before, where no step is left to take.
            for i in range(case.count):
                problem.set_val(f"links.y_{i}", START)
        problem.run_model()
        return problem.get_val("total").item()

    def gradient() -> tuple[Any, Parameters]:
        value = run()
        found = problem.compute_totals(["total"], names)
        return value, {
            name.removeprefix("links."): found["total", name].reshape(case.shape) for name in names
        }

    return Built(first=run, run=run, gradient=gradient, compiles=False)


def _link_of_openmdao(om: Any, case: Case, i: int) -> Any:
    """Returns link `i` as an explicit component with the nonzeros of its derivatives."""
    size, weight = case.size, case.weight(i)
    rows = np.arange(size)
    y, p = f"y_{i}", f"p_{i}"

    def setup(self: Any) -> None:
        self.add_input("before", shape=size, val=0.0)
        self.add_input(p, shape=size)
        self.add_output(y, shape=size, val=START)
        self.declare_partials(y, p, rows=rows, cols=rows)
        if size == 1:
            self.declare_partials(y, "before")
        else:
            self.declare_partials(y, "before", rows=np.r_[rows, rows], cols=np.r_[rows, rows[::-1]])

    def compute(self: Any, inputs: Any, outputs: Any) -> None:
        before = inputs["before"]
        outputs[y] = 0.7 * before + 0.25 * np.sin(before + inputs[p]) + weight * np.cos(before[::-1])

    def compute_partials(self: Any, inputs: Any, partials: Any) -> None:
        before = inputs["before"]
        slope = 0.25 * np.cos(before + inputs[p])
        across = -weight * np.sin(before[::-1])
        partials[y, p] = slope
        partials[y, "before"] = 0.7 + slope + across if size == 1 else np.r_[0.7 + slope, across]

    members = {"setup": setup, "compute": compute, "compute_partials": compute_partials}
    return type("Link", (om.ExplicitComponent,), members)()


def _result_of_openmdao(om: Any, case: Case) -> Any:
    """Returns the result as an explicit component."""

    def setup(self: Any) -> None:
        self.add_input("last", shape=case.size)
        self.add_output("total")
        self.declare_partials("total", "last")

    def compute(self: Any, inputs: Any, outputs: Any) -> None:
        outputs["total"] = np.sum(inputs["last"] ** 2)

    def compute_partials(self: Any, inputs: Any, partials: Any) -> None:
        partials["total", "last"] = 2 * inputs["last"]

    members = {"setup": setup, "compute": compute, "compute_partials": compute_partials}
    return type("Result", (om.ExplicitComponent,), members)()
