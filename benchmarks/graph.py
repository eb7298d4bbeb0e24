"""What big models cost, beside one plain JAX function, cottax and OpenMDAO where they are installed.

    python benchmarks/graph.py [--quick] [RESULTS.json]

A ring and a chain of 50 and of 500 components, each of 1 and of 100 numbers; `--quick` leaves out the 500.
Times differ from machine to machine and with its load; the ratios, of one run, hardly do.

XLA fuses a long plain function into kernels that compute the same things again and again, the more the
longer it is: compiling it, and running it, may take hours. So it is measured with barriers too ("fenced").
"""

import json
import math
import multiprocessing as mp
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import links
import numpy as np
import optimistix as optx
from links import Built, Case

import couplax as cpx

ROUNDS = 5
PATIENCE = 120.0
"""How many seconds a tool has for each figure; one that takes longer gives no more of that case."""

TOOLS: Mapping[str, Callable[[Case], Built]] = {
    "plain JAX": links.plain,
    "plain, fenced": links.plain_fenced,
    "couplax": links.with_couplax,
    "cottax": links.with_cottax,
    "OpenMDAO": links.with_openmdao,
}
PACKAGES = {"cottax": ("cottax.assemblies.jax",), "OpenMDAO": ("openmdao.api",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a case costs with one tool, in seconds; NaN where there is nothing to measure.

    Attributes:
        first: the first run of the model as declared, compilation included.
        compile: the first call of the jitted function; `run`: the best of those that follow.
        gradient_compile: as `compile`, of the result and its gradient; `gradient`: as `run`.
        error: the largest difference of the result and its gradient from those of the first tool, relative to
            the largest of them.
    """

    case: str
    tool: str
    declare: float
    first: float
    compile: float
    run: float
    gradient_compile: float
    gradient: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A figure to be kept below `most`."""

    name: str
    figure: float
    most: float
    unit: str

    def __str__(self) -> str:
        """Returns the target, the figure and whether it is met."""
        said = "no answer" if math.isnan(self.figure) else "met" if self.figure <= self.most else "missed"
        return f"  {self.name:<66}{self.figure:>9.3g} {self.unit:<6}at most {self.most:<6g}{said}"


# ---- one tool and one case, in a process of its own: a compilation that does not end can only be killed


@dataclass(kw_only=True)
class Worker:
    """A process that has one case in one tool, and gives its figures one by one, as they are asked for.

    Attributes:
        figures: what was measured so far.
        gave_up: whether a figure took too long, so that no more come.
    """

    tool: str
    process: BaseProcess
    pipe: Connection
    figures: dict[str, float] = field(default_factory=dict[str, float])
    gave_up: bool = False

    def measure(self, name: str) -> None:
        """Asks for a figure; of several of one name the best counts."""
        if self.gave_up:
            return
        self.pipe.send(name)
        if self.pipe.poll(PATIENCE):
            # Of a number and NaN numpy's minimum is the number.
            self.figures[name] = float(np.fmin(self.figures.get(name, math.nan), self.pipe.recv()))
        else:
            self.end()

    def values(self) -> Any:
        """Returns the result and the gradient, as one vector."""
        if self.gave_up:
            return None
        self.pipe.send("values")
        return self.pipe.recv()

    def end(self) -> None:
        """Ends the process."""
        self.gave_up = True
        self.process.kill()
        self.process.join()


def started(tool: str, case: Case) -> Worker:
    """Returns a process with a case in a tool."""
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(tool, case, theirs), daemon=True)
    process.start()
    return Worker(tool=tool, process=process, pipe=ours)


def serve(tool: str, case: Case, pipe: Connection) -> None:
    """Gives the figures that are asked for."""
    jax.config.update("jax_enable_x64", True)
    # Neither the import of the tool nor JAX's own start is part of declaring a model.
    jax.block_until_ready(jnp.sin(jnp.zeros(case.shape)) + 1.0)
    for name in PACKAGES.get(tool, ()):
        import_module(name)
    begun = time.perf_counter()
    built = TOOLS[tool](case)
    declare = time.perf_counter() - begun
    figures: dict[str, Callable[[], Any]] = {
        "declare": lambda: declare,
        "first": lambda: seconds(built.first),
        "compile": lambda: cold(built.run, compiles=built.compiles),
        "run": lambda: least_of(built.run),
        "gradient_compile": lambda: cold(built.gradient, compiles=built.compiles),
        "gradient": lambda: least_of(built.gradient),
        "values": lambda: flat(built.gradient()),
    }
    while True:
        pipe.send(figures[pipe.recv()]())


def seconds(fn: Callable[[], Any]) -> float:
    """Returns the time of one call."""
    begun = time.perf_counter()
    jax.block_until_ready(fn())
    return time.perf_counter() - begun


def cold(fn: Callable[[], Any], *, compiles: bool) -> float:
    """Returns the time of the first call, nothing being traced before; NaN if nothing is compiled."""
    jax.clear_caches()
    time_taken = seconds(fn)
    return time_taken if compiles else math.nan


def least_of(fn: Callable[[], Any], least: float = 0.2) -> float:
    """Returns the least time that one call took, trying for a while."""
    best, end = math.inf, time.perf_counter() + least
    while time.perf_counter() < end:
        best = min(best, seconds(fn))
    return best


def flat(found: tuple[Any, links.Parameters]) -> Any:
    """Returns the result and the gradient as one vector."""
    value, gradient = found
    return np.concatenate([np.ravel(value), *(np.ravel(gradient[name]) for name in sorted(gradient))])


# ---- all tools and one case


def measured(case: Case, tools: list[str]) -> list[Line]:
    """Returns the lines of a case; the tools take turns, so that a busy machine is busy for all."""
    workers = [started(tool, case) for tool in tools]
    for worker in workers:
        for name in ("declare", "first", "compile", "gradient_compile"):
            worker.measure(name)
    for _ in range(ROUNDS):
        for worker in workers:
            worker.measure("run")
            worker.measure("gradient")
    values = {worker.tool: worker.values() for worker in workers}
    lines = [line(case, worker, difference(values, worker.tool)) for worker in workers]
    for worker in workers:
        worker.end()
    return lines


def difference(values: Mapping[str, Any], tool: str) -> float:
    """Returns the largest difference of a tool's values from couplax's, relative to the largest of these."""
    ours, theirs = values["couplax"], values[tool]
    if ours is None or theirs is None:
        return math.nan
    return float(np.max(np.abs(theirs - ours)) / np.max(np.abs(ours)))


def line(case: Case, worker: Worker, error: float) -> Line:
    """Returns what a worker measured."""
    names = ("declare", "first", "compile", "run", "gradient_compile", "gradient")
    figures = {name: worker.figures.get(name, math.nan) for name in names}
    return Line(case=case.name, tool=worker.tool, error=error, **figures)


def table(lines: list[Line]) -> str:
    """Returns the lines of a case as a table."""
    head = ("", "declare", "first run", "compile", "run", "grad. compile", "gradient", "differs by")
    rows = ["".join(f"{text:>14}" for text in head)]
    for it in lines:
        times = (it.declare, it.first, it.compile, it.run, it.gradient_compile, it.gradient)
        cells = [it.tool, *(said(each) for each in times), f"{it.error:.0e}"]
        rows.append("".join(f"{cell:>14}" for cell in cells).replace("nan", "  -"))
    return "\n".join([lines[0].case, *rows, ""])


def said(time_taken: float) -> str:
    """Returns a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if time_taken >= size:
            return f"{time_taken / size:.3g} {unit}"
    return "-" if math.isnan(time_taken) else f"{time_taken * 1e6:.3g} us"


# ---- the figures that are promised


def targets(lines: list[Line]) -> Iterator[Target]:
    """Yields the figures that are promised, as measured."""
    yield Target(name="a model of 1,000 components is built in", figure=building(1000), most=1.0, unit="s")
    yield Target(
        name="a second run of Sellar takes of the plain function", figure=sellar(), most=3, unit="times"
    )
    by = {(it.case, it.tool): it for it in lines}
    for case in dict.fromkeys(it.case for it in lines):
        plain = float(np.fmin(by[case, "plain JAX"].run, by[case, "plain, fenced"].run))
        ratio = by[case, "couplax"].run / plain
        yield Target(name=f"{case}: jitted run, of plain JAX", figure=ratio, most=1.2, unit="times")
    for it in lines:
        if it.tool == "couplax" and it.case.startswith("a ring of 500"):
            name = f"{it.case}: jitted gradient compiles in"
            yield Target(name=name, figure=it.gradient_compile, most=5.0, unit="s")


def building(count: int) -> float:
    """Returns how long a chain of components takes to become a model, declared shapes and all."""
    case = Case(is_ring=False, count=count, size=1)
    functions = [links.link(case, i) for i in range(count)]

    def build() -> None:
        parts = [
            cpx.component(fn, f"y_{i}", name=f"link_{i}", rename=links.read_by(case, i))
            for i, fn in enumerate(functions)
        ]
        cpx.Model(*parts)

    return min(seconds(build) for _ in range(ROUNDS))


def sellar() -> float:
    """Returns what a second `model.run` of Sellar takes, in times of the plain jitted function."""

    def y_1(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
        return z_1**2 + z_2 + x_1 - 0.2 * y_2

    def y_2(y_1: Any, z_1: Any, z_2: Any) -> Any:
        return jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2

    def f(x_1: Any, z_2: Any, y_1: Any, y_2: Any) -> Any:
        return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)

    solver = cpx.Newton(rtol=1e-10, atol=1e-10)
    parts = [cpx.component(fn, fn.__name__) for fn in (y_1, y_2, f)]
    model = cpx.Model(*parts).close(solver, cut="y_2")

    @jax.jit
    def plain(x_1: Any, z_1: Any, z_2: Any) -> Any:
        def change(unknown: Any, _: None) -> Any:
            return y_2(y_1(x_1, z_1, z_2, unknown), z_1, z_2) - unknown

        options = {"changes": True}
        unknown = optx.root_find(change, solver, jnp.array(1.0), options=options).value
        first = y_1(x_1, z_1, z_2, unknown)
        return first, unknown, f(x_1, z_2, first, unknown)

    ours, theirs = math.inf, math.inf
    for _ in range(ROUNDS):
        ours = min(ours, least_of(lambda: model.run(x_1=1.0, z_1=1.0, z_2=2.0, guess={"y_2": 1.0})))
        theirs = min(theirs, least_of(lambda: plain(1.0, 1.0, 2.0)))
    return ours / theirs


def is_there(tool: str) -> bool:
    """Returns whether what the tool needs is installed."""
    return all(find_spec(name.partition(".")[0]) for name in PACKAGES.get(tool, ()))


def main(*args: str) -> None:
    """Measures, prints, and writes the results to a file of JSON if one is named."""
    jax.config.update("jax_enable_x64", True)
    named = [arg for arg in args if not arg.startswith("-")]
    counts = (50,) if "--quick" in args else (50, 500)
    tools = [tool for tool in TOOLS if is_there(tool)]
    print(
        f"jax {jax.__version__}, Python {sys.version.split()[0]}; times are of this machine, ratios count\n"
    )
    lines: list[Line] = []
    for count in counts:
        for size in (1, 100):
            for is_ring in (False, True):
                found = measured(Case(is_ring=is_ring, count=count, size=size), tools)
                print(table(found), flush=True)
                lines += found
    promised = list(targets(lines))
    print("\n".join(["What is promised", *map(str, promised)]))
    for path in named:
        rows = {"lines": [asdict(it) for it in lines], "targets": [asdict(it) for it in promised]}
        Path(path).write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
