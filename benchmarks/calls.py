"""How often a numpy discipline is called by couplax, and by OpenMDAO and GEMSEO where they are installed.

    python benchmarks/calls.py

The Sellar problem, discipline 2 in numpy and differentiated by forward differences: the analysis at x_1 = 1
and z = (1, 2), from y_2 = 1 to 1e-10; the same with df/dz_1 and df/dx_1; and the optimum from z = (5, 2) by
SLSQP, every point analysed. Counts do not differ between machines.
"""

import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

ANALYSIS = {"z_1": 1.0, "z_2": 2.0, "x_1": 1.0}
START = {"z_1": 5.0, "z_2": 2.0, "x_1": 1.0}
DESIGN = {"z_1": (-10.0, 10.0), "z_2": (0.0, 10.0), "x_1": (0.0, 10.0)}
TOLERANCE = 1e-10
F, OPTIMUM = 6.059357293905945, 3.18339395164


class Counter:
    """Discipline 2, which counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, y_1: Any, z_1: Any, z_2: Any) -> Any:
        """Returns y_2."""
        self.calls += 1
        return np.sqrt(np.abs(y_1)) + z_1 + z_2


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Calls of discipline 2; None where a tool offers no such thing."""

    name: str
    solve: int | None
    gradient: int | None
    optimum: int | None


def _checked(calls: int, came: Any, wanted: float) -> int:
    """Returns `calls`, once what they gave is known to be right."""
    if abs(float(np.ravel(came)[0]) - wanted) > 1e-6:
        raise ValueError(f"came to {came}, wanted {wanted}")
    return calls


def with_couplax(solver: Callable[..., Any]) -> Row:
    """Returns the calls that couplax makes with `solver`."""
    tight = solver(rtol=TOLERANCE, atol=TOLERANCE)
    one = cpx.component(lambda x_1, z_1, z_2, y_2: z_1**2 + z_2 + x_1 - 0.2 * y_2, "y_1")
    f = cpx.component(lambda x_1, z_2, y_1, y_2: x_1**2 + z_2 + y_1 + jnp.exp(-y_2), "f")

    def fresh() -> tuple[Counter, cpx.Model]:
        two = Counter()
        return two, cpx.Model(one, cpx.component(cpx.foreign(two, jnp.float64), "y_2", name="two"), f)

    guess = {"y_2": 1.0}
    two, model = fresh()
    result = model.close(tight, cut="y_2").run(ANALYSIS, guess=guess)
    solve = _checked(two.calls, result["f"], F)
    two, model = fresh()
    closed = model.close(tight, cut="y_2").function(("z_1", "x_1"), "f", fixed={"z_2": 2.0}, guess=guess)
    value, slopes = jax.value_and_grad(closed, argnums=(0, 1))(1.0, 1.0)
    jax.block_until_ready(slopes)
    gradient = _checked(two.calls, value, F)
    two, model = fresh()
    optimum = cpx.minimise(
        model,
        "f",
        design=DESIGN,
        constraints={"y_1": (3.16, None), "y_2": (None, 24.0)},
        start={**START, **guess},
        architecture=cpx.MDF(solver=tight),
    )
    name = f"couplax, {type(tight).__name__}"
    return Row(name=name, solve=solve, gradient=gradient, optimum=_checked(two.calls, optimum["f"], OPTIMUM))


def _openmdao_problem(two: Counter, solver: Any) -> Any:
    """Returns the problem in OpenMDAO, its design variables at the start of the optimisation."""
    import openmdao.api as om

    class One(om.ExplicitComponent):
        def setup(self) -> None:
            for name in ("x_1", "z_1", "z_2", "y_2"):
                self.add_input(name, 1.0)
            self.add_output("y_1", 1.0)
            self.declare_partials("*", "*", method="cs")

        def compute(self, inputs: Any, outputs: Any) -> None:
            x_1, z_1, z_2, y_2 = (inputs[name] for name in ("x_1", "z_1", "z_2", "y_2"))
            outputs["y_1"] = z_1**2 + z_2 + x_1 - 0.2 * y_2

    class Two(om.ExplicitComponent):
        def setup(self) -> None:
            for name in ("y_1", "z_1", "z_2"):
                self.add_input(name, 1.0)
            self.add_output("y_2", 1.0)
            self.declare_partials("*", "*", method="fd")

        def compute(self, inputs: Any, outputs: Any) -> None:
            outputs["y_2"] = two(inputs["y_1"], inputs["z_1"], inputs["z_2"])

    problem = om.Problem(reports=None)
    given = problem.model.add_subsystem("given", om.IndepVarComp(), promotes=["*"])
    for name, value in START.items():
        given.add_output(name, value)
        problem.model.add_design_var(name, lower=DESIGN[name][0], upper=DESIGN[name][1])
    cycle = problem.model.add_subsystem("cycle", om.Group(), promotes=["*"])
    cycle.add_subsystem("one", One(), promotes=["*"])
    cycle.add_subsystem("two", Two(), promotes=["*"])
    cycle.nonlinear_solver, cycle.linear_solver = solver, om.DirectSolver()
    solver.options.update({"iprint": -1, "rtol": TOLERANCE, "atol": TOLERANCE, "maxiter": 50})
    problem.model.add_subsystem("last", om.ExecComp("f=x_1**2+z_2+y_1+exp(-y_2)"), promotes=["*"])
    problem.model.add_objective("f")
    problem.model.add_constraint("y_1", lower=3.16)
    problem.model.add_constraint("y_2", upper=24.0)
    problem.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-9, disp=False)
    problem.setup()
    return problem


def with_openmdao() -> Iterator[Row]:
    """Yields the calls that OpenMDAO makes, by solver."""
    os.environ.setdefault("OPENMDAO_WORKDIR", tempfile.mkdtemp())  # each problem leaves a folder there
    import openmdao.api as om

    solvers = {
        "Newton": lambda: om.NewtonSolver(solve_subsystems=False),
        "block Gauss-Seidel": om.NonlinearBlockGS,
        "block Gauss-Seidel, Aitken": lambda: om.NonlinearBlockGS(use_aitken=True),
    }
    for name, make in solvers.items():
        two = Counter()
        problem = _openmdao_problem(two, make())
        for variable, value in ANALYSIS.items():
            problem.set_val(variable, value)
        problem.run_model()
        solve = _checked(two.calls, problem.get_val("f"), F)
        problem.compute_totals(of=["f"], wrt=["z_1", "x_1"])
        gradient = two.calls
        two = Counter()
        problem = _openmdao_problem(two, make())
        problem.run_driver()
        optimum = _checked(two.calls, problem.get_val("f"), OPTIMUM)
        yield Row(name=f"OpenMDAO, {name}", solve=solve, gradient=gradient, optimum=optimum)


def _gemseo_disciplines(two: Counter) -> list[Any]:
    """Returns the disciplines in GEMSEO, which reads the names of outputs from a function's source."""
    from gemseo.disciplines.auto_py import AutoPyDiscipline

    def first(x_1: Any = 1.0, z_1: Any = 1.0, z_2: Any = 2.0, y_2: Any = 1.0) -> Any:
        y_1 = z_1**2 + z_2 + x_1 - 0.2 * y_2
        return y_1

    def second(y_1: Any = 1.0, z_1: Any = 1.0, z_2: Any = 2.0) -> Any:
        y_2 = two(y_1, z_1, z_2)
        return y_2

    def last(x_1: Any = 1.0, z_2: Any = 2.0, y_1: Any = 1.0, y_2: Any = 1.0) -> Any:
        f = x_1**2 + z_2 + y_1 + np.exp(-y_2)
        return f

    for fn in (first, second, last):
        fn.__annotations__.clear()  # GEMSEO would take them for the types of its grammars
    disciplines = [AutoPyDiscipline(fn) for fn in (first, second, last)]
    for discipline in disciplines:
        discipline.set_jacobian_approximation()
        discipline.linearization_mode = "finite_differences"
    return disciplines


def with_gemseo() -> Iterator[Row]:
    """Yields the calls that GEMSEO makes, by the kind of its analysis."""
    from gemseo import create_design_space, create_mda, create_scenario

    logging.disable(logging.WARNING)
    start = {name: np.array([value]) for name, value in {**ANALYSIS, "y_1": 1.0, "y_2": 1.0}.items()}
    kinds = {
        "MDAGaussSeidel, Alternate2Delta": ("MDAGaussSeidel", {"acceleration_method": "Alternate2Delta"}),
        "MDAGaussSeidel": ("MDAGaussSeidel", {"acceleration_method": "NoTransformation"}),
        "MDANewtonRaphson": ("MDANewtonRaphson", {}),
    }
    for name, (kind, more) in kinds.items():
        settings = {"tolerance": TOLERANCE, "max_mda_iter": 50, **more}
        two = Counter()
        values = create_mda(kind, _gemseo_disciplines(two)[:2], **settings).execute(start)
        solve = _checked(two.calls, values["y_2"], 4.746618531264915)
        if kind == "MDANewtonRaphson":  # takes the disciplines of a cycle alone
            yield Row(name=f"GEMSEO, {name}", solve=solve, gradient=None, optimum=None)
            continue
        two = Counter()
        space = create_design_space()
        for variable, (lower, upper) in DESIGN.items():
            space.add_variable(variable, lower_bound=lower, upper_bound=upper, value=START[variable])
        scenario = create_scenario(
            _gemseo_disciplines(two),
            "f",
            space,
            formulation_name="MDF",
            main_mda_name=kind,
            main_mda_settings=settings,
        )
        scenario.add_constraint("y_1", constraint_type="ineq", positive=True, value=3.16)
        scenario.add_constraint("y_2", constraint_type="ineq", value=24.0)
        scenario.execute(algo_name="SLSQP", max_iter=100, ftol_rel=1e-10, xtol_rel=1e-10, ineq_tolerance=1e-8)
        optimum = _checked(two.calls, scenario.optimization_result.f_opt, OPTIMUM)
        yield Row(name=f"GEMSEO, {name}", solve=solve, gradient=None, optimum=optimum)


def rows() -> Iterator[Row]:
    """Yields a row for each tool that is there, and each of its solvers."""
    for solver in (cpx.Newton, cpx.Broyden, cpx.Anderson, cpx.GaussSeidel):
        yield with_couplax(solver)
    yield from with_openmdao() if find_spec("openmdao") else ()
    yield from with_gemseo() if find_spec("gemseo") else ()


def main() -> None:
    """Prints the table."""
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    print(f"{'calls of discipline 2':<40} {'solve':>8} {'gradient':>8} {'optimum':>8}")
    for row in rows():
        counts = ("-" if count is None else str(count) for count in (row.solve, row.gradient, row.optimum))
        print(f"{row.name:<40} " + " ".join(f"{count:>8}" for count in counts))


if __name__ == "__main__":
    main()
