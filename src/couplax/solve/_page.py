"""Results in a notebook: a table of values, then a table of solves.

Styles stand in the elements: a style sheet would act on the page around.
"""

import html
from collections.abc import Iterator, Sequence

from couplax.solve._numbers import text_of
from couplax.solve._plot import sparkline
from couplax.solve._solve import Solve
from couplax.solve._table import Shown, calls_outside, flaws, outcome, shortened, worst

_CELL = "padding: 2px 14px 2px 0; text-align: left; vertical-align: middle; white-space: nowrap"
_NUMBER = f"{_CELL}; white-space: pre; font-family: monospace"
_HEAD = f"{_CELL}; font-weight: 600; border-bottom: 1px solid #8a929d"
_GOOD, _BAD = "#3f7f4a", "#b3261e"


def page(results: Shown) -> str:
    """Returns the tables and remarks as one piece of HTML."""
    remarks = "".join(f'<div style="color: {_BAD}">{html.escape(flaw)}</div>' for flaw in flaws(results))
    outside = "".join(f"<div>{html.escape(line)}</div>" for line in calls_outside(results))
    return (
        '<div style="font-size: 13px; line-height: 1.5; overflow-x: auto">'
        f"{_values(results)}{_solves(results)}{remarks}{outside}</div>"
    )


def _values(results: Shown) -> str:
    shown = shortened(list(results.items()))
    labels = {name: results.about.label(name) for name, _ in shown}
    heads = ["name", "value"]
    heads += ["units"] if any(label.units for label in labels.values()) else []
    heads += ["description"] if any(label.description for label in labels.values()) else []
    rows: list[str] = []
    for name, value in shown:
        said = {"units": labels[name].units, "description": labels[name].description}
        cells = [_cell(name, _NUMBER), _cell(text_of(value), _NUMBER)]
        rows.append("".join([*cells, *(_cell(said[head], _CELL) for head in heads[2:])]))
    return _table(heads, rows)


def _solves(results: Shown) -> str:
    if not results.solves:
        return ""
    rows = ["".join(_solve(name, solve)) for name, solve in results.solves.items()]
    return _table(["solve", "status", "steps", "residual", "", "solver", "cut at", "calls"], rows)


def _solve(name: str, solve: Solve) -> Iterator[str]:
    """Yields the cells of a solve's row."""
    yield _cell(name, _CELL)
    if solve.is_traced or solve.lanes:
        yield f'<td style="{_CELL}" colspan="7">{html.escape(outcome(solve, plotted=False))}</td>'
        return
    colour = _GOOD if solve.converged else _BAD
    yield _cell(solve.status, f"{_CELL}; white-space: normal; color: {colour}")
    yield _cell(str(int(solve.iterations)), _NUMBER)
    yield _cell(f"{worst(solve):.2g}" if solve.cut else "", _NUMBER)
    yield f'<td style="{_CELL}">{sparkline(solve.residuals)}</td>'
    yield _cell(solve.solver, _CELL)
    yield _cell(", ".join(solve.cut), _NUMBER)
    yield _cell(", ".join(f"{code}: {count}" for code, count in solve.calls.items()), _CELL)


def _cell(text: str, style: str) -> str:
    return f'<td style="{style}">{html.escape(text)}</td>'


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th style="{_HEAD}">{html.escape(text)}</th>' for text in heads)
    body = "".join(f'<tr style="background: none">{row}</tr>' for row in rows)
    return (
        '<table style="font-size: inherit; border-collapse: collapse; margin: 4px 0 8px 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
