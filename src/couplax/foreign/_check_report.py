"""What a check of derivatives found: one line for each pair of blocks, and what it says of the code."""

import html
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from couplax._errors import DerivativeError

Verdict = Literal["ok", "unsure", "WRONG"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One derivative of an output with respect to an input: the entry that differs most for what may.

    Attributes:
        input: the input's name; `output`: the output's.
        derivative: where it comes from: `tangent`, `adjoint`, `differences`, or the `jvp` or `vjp` of a
            JAX function. `value` is a value of the reference beside that of the code; `identity` is <J^T
            w, v> beside <w, J v>, which must be equal.
        at: which entry.
        value: what it is; `reference`: what it should be.
        error: how much they differ; `allowed`: how much they may.
        step: the size of the step, relative to the input, at which the reference is most exact; 0 where
            none is taken.
        verdict: `unsure` where differences cannot tell: noise is too large, or steps leave the domain.
    """

    input: str
    output: str
    derivative: str
    at: str
    value: float
    reference: float
    error: float
    allowed: float
    step: float
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How exactly an output is computed.

    Attributes:
        output: its name.
        magnitude: the largest number in it; `level`: the noise of the noisiest one.
        relative: that noise, relative to the number and to what the inputs contribute to it.
    """

    output: str
    magnitude: float
    level: float
    relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something to know of a code.

    Attributes:
        subject: what it is about, such as `precision`.
        is_fault: whether it makes derivatives or values wrong.
        message: what came, and what to do.
    """

    subject: str
    is_fault: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivativeReport:
    """How the derivatives of a function compare with differences; prints as a table.

    Attributes:
        name: the function's.
        rows: one for each input, output and derivative; `noise`: one for each output.
        findings: what else was found.
        calls: how often a foreign code was called for it; 0 for a function that is none.
    """

    name: str
    rows: tuple[Row, ...]
    noise: tuple[Noise, ...]
    findings: tuple[Finding, ...]
    calls: int

    @property
    def ok(self) -> bool:
        """Whether no derivative is wrong and no fault was found."""
        return not self._wrong and not any(finding.is_fault for finding in self.findings)

    @property
    def _wrong(self) -> list[Row]:
        return [row for row in self.rows if row.verdict == "WRONG"]

    def assert_ok(self) -> None:
        """Returns nothing; raises where a derivative is wrong or a fault was found.

        Raises:
            DerivativeError: with the table.
        """
        if not self.ok:
            raise DerivativeError(str(self))

    @property
    def headline(self) -> str:
        """What came out, in one line."""
        faults = sum(finding.is_fault for finding in self.findings)
        wrong = (
            f"{len(self._wrong)} of {len(self.rows)} wrong" if self._wrong else f"all {len(self.rows)} right"
        )
        unsure = sum(row.verdict == "unsure" for row in self.rows)
        wrong += f", {unsure} undecided" if unsure else ""
        others = f", {faults} other fault{'s' if faults > 1 else ''}" if faults else ""
        calls = f" ({self.calls} calls)" if self.calls else ""
        return f"Derivatives of `{self.name}`: {wrong}{others}{calls}"

    def __str__(self) -> str:
        tables = [
            _aligned(_ROW_HEADS, map(_cells, self.rows)),
            _aligned(_NOISE_HEADS, map(_digits, self.noise)),
        ]
        return "\n".join([self.headline, *(t for t in tables if t), *map(_said, self.findings)])

    def __rich__(self) -> Any:
        """Returns the table for a terminal, by the package `rich`, which alone asks for it."""
        rich: Any = importlib.import_module("rich.table")
        console: Any = importlib.import_module("rich.console")
        text: Any = importlib.import_module("rich.text")
        table = rich.Table(*_ROW_HEADS, title=text.Text(self.headline))
        for row in self.rows:
            table.add_row(*map(text.Text, _cells(row)), style=_STYLES[row.verdict])
        noise = rich.Table(*_NOISE_HEADS)
        for line in self.noise:
            noise.add_row(*_digits(line))
        return console.Group(table, noise, *(text.Text(_said(finding)) for finding in self.findings))

    def _repr_html_(self) -> str:
        """Returns the table for a notebook."""
        parts = [
            f"<p>{html.escape(self.headline)}</p>",
            _html(_ROW_HEADS, [_cells(row) for row in self.rows]),
            _html(_NOISE_HEADS, [_digits(line) for line in self.noise]),
            *(f"<p>{html.escape(_said(finding))}</p>" for finding in self.findings),
        ]
        return "\n".join(parts)


_ROW_HEADS = (
    "input",
    "output",
    "derivative",
    "at",
    "value",
    "reference",
    "error",
    "allowed",
    "step",
    "verdict",
)
_NOISE_HEADS = ("output", "magnitude", "noise", "relative")
_STYLES: dict[Verdict, str] = {"ok": "green", "unsure": "yellow", "WRONG": "bold red"}


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (f"{row.value:.8g}", f"{row.reference:.8g}", f"{row.error:.1e}", f"{row.allowed:.1e}")
    step = f"{row.step:.0e}" if row.step else ""
    return (row.input, row.output, row.derivative, row.at, *numbers, step, row.verdict)


def _digits(line: Noise) -> tuple[str, ...]:
    return (line.output, f"{line.magnitude:.3g}", f"{line.level:.1e}", f"{line.relative:.1e}")


def _said(finding: Finding) -> str:
    return f"{'FAULT' if finding.is_fault else 'Note'} ({finding.subject}): {finding.message}"


def _aligned(heads: Sequence[str], lines: Any) -> str:
    """Returns the lines as columns of one width each, or nothing where there are none."""
    table = [tuple(heads), *lines]
    if len(table) == 1:
        return ""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )


def _html(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
    )
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"
