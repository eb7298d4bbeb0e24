"""Writes docs/primitives.md, the page of the primitives that go out and of the cases that show each.

`make pages` runs it. What a case holds is found by staging it, all of them in some two minutes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.extend.core as jec
import numpy as np

from couplax.export import ONNX_RULES
from couplax.export._compositions import COMPOSITIONS
from couplax.export._plain import plain
from couplax.export._plain._parts import BY_PARTS
from couplax.export._plain._table import PLAIN_RULES
from couplax.export._portable import LIBRARY_CALLS
from couplax.foreign._primitives import FOREIGN_PRIMITIVES
from couplax.stage import FINALISE_RULES, stage
from rule_cases import Case
from rule_cases.table import CASES

PAGE = Path(__file__).parents[1] / "docs" / "primitives.md"

Shown = Mapping[str, Sequence[str]]
"""The names of the cases that show a primitive, by its name."""

ELSEWHERE = {
    name: f"tests/export/test_{file}.py"
    for file, names in {
        "control": "cond scan while",
        "random": "random_clone random_fold_in random_gamma random_seed random_split random_unwrap",
        "symbolic": "dim_as_value",
    }.items()
    for name in names.split()
}
"""The tests of primitives that have a file of their own."""

LATER = {
    "empty": "empty",
    "log2": "log2",
    "one_minus_square": "gradient of tanh",
    "polynomial": "polynomial",
}
"""Primitives that JAX 0.10 does not have, with their cases, which that version writes otherwise."""

_VARYING = {*LATER.values(), "unpacked"}
"""Cases that versions of JAX write in different primitives."""

_MOST = 3
_FEW = 4
"""Beside the simplest case of a primitive, those are named that hold few others."""


def primitives(jaxpr: Any) -> set[str]:
    """Returns the names of the primitives of a jaxpr and of those inside it."""
    found = {eqn.primitive.name for eqn in jaxpr.eqns}
    inner = [sub for eqn in jaxpr.eqns for sub in jec.jaxprs_in_params(eqn.params)]
    return found.union(*(primitives(getattr(sub, "jaxpr", sub)) for sub in inner))


def primitives_of(case: Case) -> set[str]:
    """Returns the primitives that `case` holds, before and after numbers are made plain."""
    staged = stage(case.fn, *case.args(case.dtypes[0])).jaxpr
    return primitives(staged.jaxpr) | primitives(plain(staged).jaxpr)


def ruled() -> list[str]:
    """Returns the primitives that go out, in order; those of foreign codes are couplax's own."""
    foreign = {primitive.name for primitive in FOREIGN_PRIMITIVES}
    return sorted({*ONNX_RULES, *COMPOSITIONS, *PLAIN_RULES} - foreign)


def shown() -> Shown:
    """Returns the cases that show each primitive best: those that hold the fewest others."""
    held = {name: primitives_of(case) for name, case in CASES.items() if name not in _VARYING}
    simplest = sorted(held, key=lambda name: len(held[name]))
    found = {
        each: [name for name in simplest if each in held[name]] for each in ruled() if each not in ELSEWHERE
    }
    best = {
        each: [name for place, name in enumerate(names) if not place or len(held[name]) <= _FEW][:_MOST]
        for each, names in found.items()
    }
    return best | {each: [name] for each, name in LATER.items()}


def shown_on(text: str) -> Shown:
    """Returns the cases that a page's text names for each primitive."""
    rows = re.findall(r"^\| `([^`]+)`[^|]* \|.*\| ([^|]*) \|$", text, flags=re.MULTILINE)
    return {each: [name for name in cases.split("; ") if name in CASES] for each, cases in rows}


def page(cases: Shown) -> str:
    """Returns the text of the page."""
    rows = "\n".join(_row(each, cases.get(each, ())) for each in ruled())
    return _TEXT.format(
        count=len(ruled()),
        rows=rows,
        wrappers=_listed(FINALISE_RULES.keys() - ELSEWHERE.keys()),
        missing=_listed(LIBRARY_CALLS - COMPOSITIONS.keys()),
    )


def _row(each: str, cases: Sequence[str]) -> str:
    mark = " (JAX 0.12)" if each in LATER else ""
    where = f"`{ELSEWHERE[each]}`" if each in ELSEWHERE else "; ".join(cases)
    cells = [f"`{each}`{mark}", _way(each), _parts(each), _dtypes(cases), where]
    return f"| {' | '.join(cells)} |"


def _way(each: str) -> str:
    """Returns how the primitive goes out."""
    if each in COMPOSITIONS:
        return "composition, portable" if each in LIBRARY_CALLS else "composition"
    return "rule" if each in ONNX_RULES else "parts"


def _parts(each: str) -> str:
    """Returns whether it goes out on keys or complex numbers too, as far as a table says so."""
    return "yes" if each in PLAIN_RULES.keys() | BY_PARTS else ""


def _dtypes(cases: Sequence[str]) -> str:
    """Returns the types that the cases are run on, as `f32/64 i32 bool`."""
    dtypes = {np.dtype(dtype) for name in cases for dtype in CASES[name].dtypes}
    kinds = {kind: sorted(8 * dtype.itemsize for dtype in dtypes if dtype.kind == kind) for kind in "fciu"}
    said = [f"{kind}{'/'.join(map(str, sizes))}" for kind, sizes in kinds.items() if sizes]
    return " ".join([*said, *["bool"] * (np.dtype(bool) in dtypes)])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


_TEXT = """\
# Primitives that go out

A JAX program is made of primitives, and these {count} go out to ONNX once what only wraps other code is taken
away. This page is written by `make pages` from the tables of rules and of cases; a test says that it is up to
date.

- **Goes out as**: *rule*, its nodes are written; *composition*, JAX code stands for it and is written in its
  place; *portable*, that code goes into StableHLO with `portable=True` and into TensorFlow too, where JAX
  alone would call a library; *parts*, it exists on random keys or complex numbers only, which become pairs
  of integers or real numbers.
- **Keys, complex**: whether it goes out on random keys or complex numbers too; the factorisations do so on
  complex matrices.
- **Types**: those of the cases named: `f` floats, `c` complex, `i` and `u` integers, with their bits.
  What goes out in `f32` does in bfloat16 too: `tests/export/test_bfloat16.py`.
- **Shown by**: cases in `tests/rule_cases` that hold little else, at most three. `tests/export/test_rules.py`
  exports each, runs it in ONNX Runtime and compares it with JAX, at NaN, infinities and the ends of the range
  too.

| Primitive | Goes out as | Keys, complex | Types | Shown by |
|---|---|---|---|---|
{rows}

What wraps other code is taken away first: every primitive whose implementation is JAX code, such as those of
Equinox and Lineax, and {wrappers}.

Not covered: {missing}. [Writing a rule](rules.md) says how to add one.
"""


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(shown()), encoding="utf-8")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
