"""What calling foreign code costs, route by route, against `jax.pure_callback` and the same operation in JAX.

    python benchmarks/foreign.py [RESULTS.json]

Each time is the best of many. Times differ from machine to machine; the ratios, of one run, hardly do.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.ffi
import jax.numpy as jnp
import numpy as np

import couplax as cpx
from couplax.foreign._extension import PYTHON_TARGET, extension
from couplax.foreign._route import route

CALLS = 1000
ROUNDS = 10
F64 = jnp.float64
SOURCE = """
#include <math.h>
double square(double x) { return x * x; }
void squares(int n, const double *x, double *y) { for (int k = 0; k < n; k++) y[k] = x[k] * x[k]; }
double disc2(double y1, double z1, double z2) { return sqrt(fabs(y1)) + z1 + z2; }
double disc2_d(double y1, double y1d, double z1, double z1d, double z2, double z2d, double *value) {
  *value = disc2(y1, z1, z2);
  return (y1 < 0 ? -0.5 : 0.5) / sqrt(fabs(y1)) * y1d + z1d + z2d;
}
void disc2_b(double y1, double *y1b, double z1, double *z1b, double z2, double *z2b, double b) {
  *y1b += (y1 < 0 ? -0.5 : 0.5) / sqrt(fabs(y1)) * b;
  *z1b += b;
  *z2b += b;
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measurement: `times` is how many of the first line of its group it takes."""

    group: str
    name: str
    microseconds: float
    times: float
    calls: str = ""


def seconds(fns: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Returns the best time of one call of each; they take turns, so that a busy machine is busy for all."""
    best = dict.fromkeys(fns, float("inf"))
    for _ in range(ROUNDS):
        for name, fn in fns.items():
            best[name] = min(best[name], least_of(fn))
    return best


def least_of(fn: Callable[[], Any], least: float = 0.05) -> float:
    """Returns the least time that one call of `fn` took, trying for a while."""
    jax.block_until_ready(fn())
    best, end = float("inf"), time.perf_counter() + least
    while time.perf_counter() < end:
        start = time.perf_counter()
        jax.block_until_ready(fn())
        best = min(best, time.perf_counter() - start)
    return best


def grouped(group: str, measured: dict[str, float], calls: dict[str, str] | None = None) -> list[Line]:
    """Returns the lines of a group; times are relative to the first."""
    first = next(iter(measured.values()))
    return [
        Line(group=group, name=name, microseconds=1e6 * t, times=t / first, calls=(calls or {}).get(name, ""))
        for name, t in measured.items()
    ]


# ---- calls


def bare(struct: jax.ShapeDtypeStruct) -> Callable[[Any], Any]:
    """Returns the compiled route with nothing of couplax's host in it."""
    module, float64 = extension(), np.dtype(float)
    target = module.Callback(lambda x: (x,), (float64,), (float64,), str, RuntimeError)

    def call(x: Any) -> Any:
        # The function keeps the target, and so does whoever keeps the function.
        names = {"index": np.uint64(target.index), "mark": np.uint64(module.mark)}
        return jax.ffi.ffi_call(PYTHON_TARGET, struct)(x, **names)

    return call


def calls(library: Path | None, n: int | None) -> list[Line]:
    """Returns what one call costs in a loop and alone, of `n` numbers, None standing for a scalar."""
    struct = jax.ShapeDtypeStruct(() if n is None else (n,), F64)
    x = jnp.ones(struct.shape)
    # What is remembered is not called: no memo, for the price of a call.
    code = cpx.foreign(lambda x: x, out=struct, memo=0, name=f"no-op of {n}")
    remembered = cpx.foreign(lambda x: x, out=struct, name=f"remembered no-op of {n}")
    ways: dict[str, tuple[Callable[[Any], Any], Any]] = {
        # It hands the function JAX's arrays, of which code in numpy makes numpy's.
        "jax.pure_callback": (lambda x: jax.pure_callback(np.asarray, struct, x), "native"),
        "foreign, JAX's callback": (code, "callback"),
    }
    if extension() is not None:
        ways["compiled route alone"] = (bare(struct), "native")
        ways["foreign, compiled route"] = (code, "compiled")
        ways["foreign, compiled route, remembered"] = (remembered, "compiled")
    if library is not None:
        ways["foreign_c"] = (square_in_c(library, n), "native")
    ways["the square in JAX"] = (lambda x: x * x, "native")
    looped = seconds({name: in_loop(call, fastest, x) for name, (call, fastest) in ways.items()})
    alone = seconds({name: jitted(call, fastest, x) for name, (call, fastest) in ways.items()})
    looped = {name: each / CALLS for name, each in looped.items()}
    of = "a scalar" if n is None else f"{n} doubles"
    return [*grouped(f"one of {CALLS} calls in a loop, {of}", looped), *grouped(f"one call, {of}", alone)]


def jitted(call: Callable[[Any], Any], fastest: Any, x: Any) -> Callable[[], Any]:
    """Returns a program of one call, ready to run."""
    with route(fastest):
        program = jax.jit(lambda x: call(x)).lower(x).compile()
    return lambda: program(x)


def in_loop(call: Callable[[Any], Any], fastest: Any, x: Any) -> Callable[[], Any]:
    """Returns a program of many calls, ready to run."""
    return jitted(lambda x: jax.lax.fori_loop(0, CALLS, lambda _, carry: call(carry), x), fastest, x)


def square_in_c(library: Path, n: int | None) -> cpx.Foreign:
    """Returns the square of a number, or of an array, in C."""
    if n is None:
        return cpx.foreign_c(library, "square", [F64], F64, memo=0)
    struct = jax.ShapeDtypeStruct(("n",), F64)
    return cpx.foreign_c(library, "squares", [struct], struct, arguments=("n", "in0", "out0"), memo=0)


# ---- the Sellar problem


def sellar(discipline: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the objective as a function of z_1 and x_1, with the second discipline given."""

    @cpx.component("y_1")
    def first(x_1: Any, z_1: Any, z_2: Any, y_2: Any) -> Any:
        return z_1**2 + z_2 + x_1 - 0.2 * y_2

    @cpx.component("f")
    def objective(x_1: Any, z_2: Any, y_1: Any, y_2: Any) -> Any:
        return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)

    model = cpx.Model(first, cpx.component(discipline, "y_2"), objective)
    model = model.close(cpx.Newton(rtol=1e-10, atol=1e-10), cut="y_2")
    return model.function(inputs=("z_1", "x_1"), outputs="f", fixed={"z_2": 2.0}, guess={"y_2": 1.0})


def in_jax(y_1: Any, z_1: Any, z_2: Any) -> Any:
    """Returns the second discipline in JAX."""
    return jnp.sqrt(jnp.abs(y_1)) + z_1 + z_2


def in_numpy(y_1: Any, z_1: Any, z_2: Any) -> Any:
    """Returns the second discipline in numpy."""
    return np.sqrt(np.abs(y_1)) + z_1 + z_2


def disciplines(library: Path | None) -> dict[str, Callable[..., Any]]:
    """Returns the second discipline in every form."""
    inputs = {"y_1": F64, "z_1": F64, "z_2": F64}
    forms: dict[str, Callable[..., Any]] = {"JAX": in_jax, "numpy": cpx.foreign(in_numpy, out=F64)}
    if library is not None:
        own: dict[str, Any] = {"tangent": "disc2_d", "adjoint": "disc2_b"}
        forms["C, differences"] = cpx.foreign_c(library, "disc2", inputs, F64)
        forms["C, its derivatives"] = cpx.foreign_c(library, "disc2", inputs, F64, **own)
    return forms


def solves(library: Path | None) -> list[Line]:
    """Returns what a solve costs, and a solve with its gradient."""
    lines: list[Line] = []
    for group in ("Sellar, the solve", "Sellar, the solve and its gradient"):
        programs = {name: solve_in(group, discipline) for name, discipline in disciplines(library).items()}
        times = seconds({name: program for name, (program, _) in programs.items()})
        counts = {name: counted(program, discipline) for name, (program, discipline) in programs.items()}
        lines += grouped(group, times, counts)
    return lines


def solve_in(group: str, discipline: Callable[..., Any]) -> tuple[Callable[[], Any], Callable[..., Any]]:
    """Returns the program of a group, ready to run, with its discipline."""
    f = sellar(discipline)
    program = jax.jit(jax.value_and_grad(f, (0, 1)) if "gradient" in group else f)
    return lambda: program(1.0, 1.0), discipline


def counted(program: Callable[[], Any], discipline: Callable[..., Any]) -> str:
    """Returns what one run of the program calls, nothing being remembered before."""
    if not isinstance(discipline, cpx.Foreign):
        return ""
    discipline.tally.reset()
    jax.block_until_ready(program())
    return str(discipline.tally)


# ---- all of it


def built(folder: Path) -> Path | None:
    """Returns the routines as a shared library, or None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    (folder / "routines.c").write_text(SOURCE)
    library = folder / "routines.so"
    command = [compiler, "-shared", "-fPIC", "-O2", str(folder / "routines.c"), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    return library


def table(lines: list[Line]) -> str:
    """Returns the lines as a table; what is slower than the first of its group is `x times`, else `1/x`."""
    rows: list[str] = []
    for number, line in enumerate(lines):
        if number == 0 or line.group != lines[number - 1].group:
            rows += ["", line.group]
        ratio = f"x {line.times:.2f}" if line.times >= 1 else f"1/{1 / line.times:.0f}"
        rows.append(f"  {line.name:<40}{line.microseconds:>10.3f} us{ratio:>10}  {line.calls}".rstrip())
    return "\n".join(rows[1:])


def main(results: str | None = None) -> None:
    """Measures, prints, and writes the results to a file of JSON if one is named."""
    jax.config.update("jax_enable_x64", True)
    compiled = "with" if extension() is not None else "without"
    print(f"jax {jax.__version__}, Python {sys.version.split()[0]}, {compiled} the compiled route\n")
    with tempfile.TemporaryDirectory() as folder:
        library = built(Path(folder))
        lines = [*calls(library, None), *calls(library, 1000), *solves(library)]
    print(table(lines))
    if results is not None:
        Path(results).write_text(json.dumps([asdict(line) for line in lines], indent=2), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
