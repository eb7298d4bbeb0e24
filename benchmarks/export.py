"""What exported files cost, beside `jax.jit`, graphs written by hand and jax2onnx where it is installed.

    python benchmarks/export.py [--quick] [RESULTS.json]

All run on one thread; times are the least of several, in processor time, and taken in turns: they differ from
machine to machine, the ratios of one run hardly do. `--quick` leaves out the programs that take long.
"""

import json
import math
import multiprocessing as mp
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
from export_programs import PROGRAMS, Program

import couplax as cpx

ROUNDS = 5
PATIENCE = 120.0
"""How many seconds jax2onnx has for a file."""

AGAIN = "if_finite"
"""How a choice between what came of finite numbers and the loop for others is named."""

CHAINS = (100, 1_000, 10_000)
"""How many equations the programs have whose export shows how its time grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a program costs, in seconds; NaN where there is nothing to measure.

    Attributes:
        export: the time to write the file; `nodes`: of its largest loop.
        error: the largest difference of the file's result from JAX's, relative to the largest number.
        jit, couplax, by_hand, jax2onnx: a run.
    """

    program: str
    export: float
    nodes: int
    error: float
    jit: float
    couplax: float
    by_hand: float
    jax2onnx: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A figure to be kept below `most`.

    Attributes:
        otherwise: why there is no figure, where it is NaN.
    """

    name: str
    figure: float
    most: float
    unit: str
    otherwise: str = "no answer"

    def __str__(self) -> str:
        """Returns the target, the figure and whether it is met, or by how much it is missed."""
        return f"  {self.name:<66}{self.figure:>8.3g} {self.unit:<6}at most {self.most:<8.3g}{self._said()}"

    def _said(self) -> str:
        if math.isnan(self.figure):
            return self.otherwise
        return "met" if self.figure <= self.most else f"missed by {self.figure / self.most - 1:.0%}"


# ---- one program


def measured(program: Program) -> Line:
    """Returns the line of a program; the contenders take turns, so that a busy machine is busy for all."""
    with jax.enable_x64(program.start.dtype == np.float64):
        begun = time.process_time()
        proto = cpx.to_onnx(program.fn, program.start, verify=False)
        export = time.process_time() - begun
        protos = {"couplax": proto, "by_hand": by_hand(program), "jax2onnx": by_jax2onnx(program)}
        contenders = {name: session(each, program.start) for name, each in protos.items() if each is not None}
        compiled = jax.jit(program.fn)
        contenders["jit"] = lambda: np.asarray(compiled(program.start))
        wanted = contenders["jit"]()
        errors = {name: difference(run(), wanted) for name, run in contenders.items()}
        for name in ("couplax", "by_hand"):
            if errors.get(name, 0.0) > program.accuracy:
                raise SystemExit(f"{program.name}: {name} is off by {errors[name]:.1e}")
        times = {name: math.nan for name in ("jit", *protos)}
        for _ in range(ROUNDS):
            for name, run in contenders.items():
                # Of a number and NaN numpy's minimum is the number.
                times[name] = float(np.fmin(times[name], least_of(run)))
    nodes = max(map(body_nodes, proto.graph.node))
    return Line(program=program.name, export=export, nodes=nodes, error=errors["couplax"], **times)


def by_hand(program: Program) -> onnx.ModelProto | None:
    """Returns the graph written by hand, where there is one."""
    return None if program.by_hand is None else program.by_hand()


def by_jax2onnx(program: Program) -> onnx.ModelProto | None:
    """Returns jax2onnx's file of a program that is compared with it; None where there is none in time.

    It is made in a process of its own, for jax2onnx changes JAX while it traces.
    """
    if program.other is None or find_spec("jax2onnx") is None:
        return None
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=write_by_jax2onnx, args=(program.name, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        return onnx.load_from_string(ours.recv_bytes()) if ours.poll(PATIENCE) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def write_by_jax2onnx(name: str, pipe: Any) -> None:
    """Sends jax2onnx's file; ends with its error where it cannot write one."""
    program = next(each for each in PROGRAMS if each.name == name)
    double = program.start.dtype == np.float64
    jax.config.update("jax_enable_x64", double)
    struct = jax.ShapeDtypeStruct(program.start.shape, program.start.dtype)
    model = import_module("jax2onnx").to_onnx(program.fn, [struct], enable_double_precision=double)
    pipe.send_bytes(model.SerializeToString())


def session(proto: onnx.ModelProto, start: Any) -> Callable[[], Any]:
    """Returns a run of a file in ONNX Runtime, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    runtime = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    given = {runtime.get_inputs()[0].name: start}
    return lambda: runtime.run(None, given)[0]


def difference(came: Any, wanted: Any) -> float:
    """Returns the largest difference, relative to the largest number."""
    return float(np.max(np.abs(came - wanted)) / np.max(np.abs(wanted)))


def body_nodes(node: onnx.NodeProto) -> int:
    """Returns how many nodes the largest loop in `node` has, those of its branches and loops among them.

    A choice that has another loop for numbers that are not finite, run then alone, has nothing to say.
    """
    inner = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    if node.op_type in ("Loop", "Scan"):
        return sum(map(all_nodes, inner))
    is_rerun = node.op_type == "If" and node.name.startswith(AGAIN)
    graphs = [] if is_rerun else inner
    return max((body_nodes(each) for graph in graphs for each in graph.node), default=0)


def all_nodes(graph: onnx.GraphProto) -> int:
    """Returns how many nodes a graph has, with those of the graphs inside it."""
    inner = [a.g for node in graph.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return len(graph.node) + sum(map(all_nodes, inner))


def least_of(fn: Callable[[], Any], least: float = 0.2) -> float:
    """Returns the least processor time that one call took, trying for a while."""
    best, end = math.inf, time.perf_counter() + least
    while time.perf_counter() < end:
        begun = time.process_time()
        fn()
        best = min(best, time.process_time() - begun)
    return best


# ---- writing files


def chain(count: int) -> float:
    """Returns how long a chain of `count` equations takes to export."""

    def fn(x: Any) -> Any:
        for index in range(count // 2):
            x = jnp.sin(x) * (1 + index)
        return x

    begun = time.process_time()
    cpx.to_onnx(fn, np.ones(3, np.float32), verify=False)
    return time.process_time() - begun


# ---- the figures that are promised


def targets(lines: list[Line]) -> Iterator[Target]:
    """Yields the figures that are promised, as measured."""
    by = {it.program: it for it in lines}
    for program in PROGRAMS:
        if program.name in by:
            yield from targets_of(program, by[program.name])
    times = {count: chain(count) for count in CHAINS}
    for count, longer in pairwise(CHAINS):
        name = f"export of {longer:,} equations, of {longer // count} times that of {count:,}"
        yield Target(name=name, figure=times[longer] / times[count] * count / longer, most=1.5, unit="times")


def targets_of(program: Program, it: Line) -> Iterator[Target]:
    """Yields what is promised of a program."""
    yield Target(name=f"{it.program}: exported in", figure=it.export, most=program.export, unit="s")
    if program.body_nodes is not None:
        name = f"{it.program}: nodes of a step"
        yield Target(name=name, figure=it.nodes, most=program.body_nodes, unit="nodes")
    name, ratio = f"{it.program}: a run, of the graph by hand", it.couplax / it.by_hand
    yield Target(name=name, figure=ratio, most=1.1, unit="times", otherwise="no graph by hand")
    if program.other is not None:
        name = f"{it.program}: a run, of jax2onnx's file"
        ratio, lacking = it.couplax / it.jax2onnx, "no file of jax2onnx's"
        yield Target(name=name, figure=ratio, most=1 / program.other, unit="times", otherwise=lacking)


# ---- all


def row(it: Line) -> str:
    """Returns a line of the table."""
    runs = (it.jit, it.couplax, it.by_hand, it.jax2onnx)
    cells = (f"{it.export:.2f} s", str(it.nodes), f"{it.error:.0e}", *map(milliseconds, runs))
    return f"{it.program:<34}" + "".join(f"{cell:>11}" for cell in cells)


def milliseconds(time_taken: float) -> str:
    """Returns a time in ms; a dash for none."""
    return "-" if math.isnan(time_taken) else f"{time_taken * 1e3:.3g} ms"


HEAD = f"{'':<34}" + "".join(
    f"{text:>11}" for text in ("export", "nodes", "differs by", "jit", "couplax", "by hand", "jax2onnx")
)


def main(*args: str) -> None:
    """Measures, prints, and writes the results to a file of JSON if one is named."""
    named = [arg for arg in args if not arg.startswith("-")]
    print(f"jax {jax.__version__}, onnxruntime {onnxruntime.__version__}, one thread; ratios count\n\n{HEAD}")
    lines: list[Line] = []
    for program in PROGRAMS:
        if program.quick or "--quick" not in args:
            lines.append(measured(program))
            print(row(lines[-1]), flush=True)
    promised = list(targets(lines))
    print("\n".join(["", "What is promised", *map(str, promised)]))
    for path in named:
        rows = {"lines": [asdict(it) for it in lines], "targets": [asdict(it) for it in promised]}
        Path(path).write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    # Read when XLA starts, with the first array.
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    main(*sys.argv[1:])
