"""An optimum as a table: on a terminal and in a notebook."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from couplax.solve._numbers import text_of

_CELL = "padding: 2px 14px 2px 0; text-align: left; white-space: pre"
_HEAD = f"{_CELL}; font-weight: 600; border-bottom: 1px solid #8a929d"
_GOOD, _BAD = "#3f7f4a", "#b3261e"
_SIDES = {1: "upper", -1: "lower", 0: "-"}
_MOST_SIDES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is shown of a variable; empty where there is nothing to show.

    Attributes:
        what: the part that the variable has in the problem.
        limit: at which of its limits it is; `multiplier`: what moving that would be worth.
    """

    name: str
    what: str
    value: str
    units: str
    limit: str
    multiplier: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The row's cells, under the heads of the table."""
        return (self.name, self.what, self.value, self.units, self.limit, self.multiplier)


_HEADS = ("name", "what", "value", "units", "at its limit", "multiplier")


def row(name: str, what: str, value: Any, units: str, active: Any, multiplier: Any) -> Row:
    """Returns the row of a variable.

    Args:
        active: 1, -1 or 0 for each number; None where there are no limits or none is active.
    """
    return Row(
        name=name,
        what=what,
        value=text_of(value, 10),
        units=units,
        limit="" if active is None else _sides(active),
        multiplier="" if active is None else text_of(multiplier, 8),
    )


def _sides(active: Any) -> str:
    """Returns the side of each number at a limit; of many, how many are."""
    flat = [int(each) for leaf in jax.tree.leaves(active) for each in np.ravel(leaf)]
    if len(flat) <= _MOST_SIDES:
        return ", ".join(_SIDES[each] for each in flat)
    return f"{sum(each != 0 for each in flat)} of {len(flat)}"


def text(headline: str, rows: Iterable[Row], footlines: Sequence[str]) -> str:
    """Returns the table for a terminal."""
    columns = _columns(rows)
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in zip(*columns, strict=True)
    ]
    return "\n".join([headline, *lines, *footlines])


def page(headline: str, rows: Iterable[Row], footlines: Sequence[str], *, good: bool) -> str:
    """Returns the table for a notebook; its styles stand in the elements, to act on nothing else."""
    heads, *lines = zip(*_columns(rows), strict=True)
    head = "".join(f'<th style="{_HEAD}">{html.escape(cell)}</th>' for cell in heads)
    body = "".join(
        f'<tr style="background: none">{"".join(_cell(cell) for cell in cells)}</tr>' for cells in lines
    )
    feet = "".join(f"<div>{html.escape(line)}</div>" for line in footlines)
    return (
        '<div style="font-size: 13px; line-height: 1.5; overflow-x: auto">'
        f'<div style="color: {_GOOD if good else _BAD}">{html.escape(headline)}</div>'
        '<table style="font-size: inherit; border-collapse: collapse; margin: 4px 0 8px 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{feet}</div>"
    )


def _cell(cell: str) -> str:
    return f'<td style="{_CELL}">{html.escape(cell)}</td>'


def _columns(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Returns the columns with their heads, those left out that are empty."""
    columns = zip(*(each.cells for each in rows), strict=True)
    return [(head, *column) for head, column in zip(_HEADS, columns, strict=True) if any(column)]
