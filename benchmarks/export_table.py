"""What it costs to write each program of the tests' table as a file, against the targets.

    python benchmarks/export_table.py [WORD ...]

Each is written in a process of its own, in float64, once; times are processor time. With words, only the
programs whose names hold one of them.
"""

import multiprocessing as mp
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import onnx

import couplax as cpx
from couplax.stage import count_equations

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from programs import PROGRAMS, in_dtype

MOST_SECONDS, MOST_MEGABYTES = 10.0, 2000
THOUSAND, MOST_SECONDS_THOUSAND = "thousand fixed steps", 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a program costs.

    Attributes:
        export: the time to write its file [s]; `memory`: the most that the process held [MB].
        traced, staged: equations; `nodes`, `loops`: of the file, those inside others included.
    """

    name: str
    export: float
    memory: int
    traced: int
    staged: int
    nodes: int
    loops: int

    @property
    def is_met(self) -> bool:
        """Whether the targets are met."""
        most = MOST_SECONDS_THOUSAND if self.name == THOUSAND else MOST_SECONDS
        return self.export <= most and self.memory <= MOST_MEGABYTES

    def __str__(self) -> str:
        words = f"{self.name:38}{self.export:8.1f} s{self.memory:7} MB{self.traced:8}{self.staged:8}"
        return f"{words}{self.nodes:8}{self.loops:7}  {'met' if self.is_met else 'missed'}"


def measured(name: str) -> Line:
    """Returns what the program of that name costs, in this process."""
    jax.config.update("jax_enable_x64", True)
    (program,) = [each for each in PROGRAMS if each.name == name]
    args = in_dtype(program.args, np.float64)
    start = time.process_time()
    proto = cpx.to_onnx(program.fn, *args, verify=False)
    spent = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    nodes = list(all_nodes(proto.graph))
    staged = cpx.stage(program.fn, *args)
    return Line(
        name=name,
        export=spent,
        memory=memory,
        traced=staged.stages[0].equations,
        staged=count_equations(staged.jaxpr.jaxpr),
        nodes=len(nodes),
        loops=sum(node.op_type in {"Loop", "Scan"} for node in nodes),
    )


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yields the nodes of a graph and of those inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from all_nodes(attribute.g)


def main(*words: str) -> None:
    """Measures the programs whose names hold one of `words`, or all, and prints a line for each."""
    names = [each.name for each in PROGRAMS if not words or any(word in each.name for word in words)]
    print(f"{'program':38}{'export':>10}{'memory':>10}{'traced':>8}{'staged':>8}{'nodes':>8}{'loops':>7}")
    lines: list[Line] = []
    with mp.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for line in pool.imap(measured, names):
            lines.append(line)
            print(line, flush=True)
    missed = [line.name for line in lines if not line.is_met]
    met = len(lines) - len(missed)
    print(f"{met} of {len(lines)} meet their targets; missed: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
