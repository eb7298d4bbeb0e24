"""Models to draw, and drawings read back: what stands where in the SVG."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from couplax import Model
from couplax.graph import Component, Graph, Input, Kind, Output
from couplax.solve import Newton
from couplax.view import Drawing

SVG = "{http://www.w3.org/2000/svg}"
NEWTON = Newton(rtol=1e-10, atol=1e-10)


def made(name: str, reads: str, *writes: str, kind: Kind = Kind.EXPLICIT, **said: Any) -> Component:
    """Returns a component that is never run."""
    return Component(
        name=name,
        fn=made,
        inputs=tuple(Input(name=read) for read in reads.split()),
        outputs=tuple(Output(name=write, **said) for write in writes),
        parameters=tuple(reads.split()),
        returned=writes,
        kind=kind,
    )


def closed(model: Model, solver: Any = NEWTON, cut: str | None = None) -> Graph:
    """Returns the graph of a model with its cycles closed."""
    return model.close(solver, cut=cut).graph


def sellar() -> Model:
    return Model(
        made("d1", "x_1 z_1 z_2 y_2", "y_1"),
        made("d2", "y_1 z_1 z_2", "y_2"),
        made("objective", "x_1 z_2 y_1 y_2", "f"),
        made("constraints", "y_1 y_2", "g_1", "g_2"),
    )


def two_cycles() -> Model:
    return Model(
        made("a", "p b", "a"),
        made("b", "a", "b"),
        made("c", "b d", "c"),
        made("d", "c q", "d"),
        made("end", "a d", "e"),
    )


def nested_cycles() -> Model:
    """Returns a cycle of `a`, `b` and `c`, inside which `b` and `c` are closed."""
    inner = Model(made("b", "p c a", "b"), made("c", "b", "c")).close(NEWTON)
    return Model(made("a", "q c", "a"), inner, made("end", "a c", "f")).close(NEWTON)


def circuit() -> Model:
    """Returns two residuals with their unknowns, and what reads these."""
    return Model(
        made("node_1", "V_1 V_2 I", "V_1", kind=Kind.RESIDUAL),
        made("node_2", "V_1 V_2 R", "V_2", kind=Kind.RESIDUAL),
        made("power", "V_1 V_2", "P"),
    )


def long_names() -> Model:
    names = [f"discipline_with_a_rather_long_name_{i}" for i in range(10)]
    return Model(
        *(
            made(
                name,
                " ".join(
                    [f"parameter_{i}_{k}" for k in range(3 * i)] + [f"{other}.result" for other in names]
                ),
                f"{name}.result",
                *[f"{name}.byproduct_{k}" for k in range(8)],
            )
            for i, name in enumerate(names)
        )
    )


def chain(count: int) -> Model:
    return Model(*(made(f"c{i}", f"y_{i}", f"y_{i + 1}") for i in range(count)))


def ring(count: int) -> Model:
    return Model(*(made(f"c{i}", f"y_{(i - 1) % count}", f"y_{i}") for i in range(count)))


def groups(count: int, each: int) -> Model:
    """Returns groups `g0`, `g1`, ... of `each` components, the groups all in one cycle."""
    return Model(
        *(
            made(
                f"g{group}.part_{part}",
                f"g{group}.v_{part - 1}" if part else f"g{(group - 1) % count}.v_{each - 1}",
                f"g{group}.v_{part}",
            )
            for group in range(count)
            for part in range(each)
        )
    )


def crowd(count: int = 40) -> Model:
    """Returns components in two cycles, without groups or chains, each of which reads two others."""
    return Model(
        *(
            made(
                f"discipline_{i}",
                " ".join([f"y_{i // 2}", f"y_{i // 3}", *({5: ["y_10"], 12: ["y_24"]}.get(i, []))]),
                f"y_{i}",
                *(f"loads_{i}_{k}" for k in range(i % 4)),
            )
            for i in range(1, count + 1)
        )
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A box of the drawing, read back from the SVG.

    Attributes:
        room: the width between its sides; `text`: width and height that its lines have at least.
    """

    row: int
    column: int
    kind: str
    lines: tuple[str, ...]
    tooltip: str
    left: float
    right: float
    top: float
    bottom: float
    room: float
    text: tuple[float, float]


def cells(drawing: Drawing) -> list[Cell]:
    """Returns the boxes of a drawing."""
    return [
        _cell(group) for group in ET.fromstring(drawing.svg).iter(f"{SVG}g") if "data-row" in group.attrib
    ]


def _cell(group: ET.Element) -> Cell:
    corners = list(_corners(group))
    xs, ys = zip(*corners, strict=True)
    lines = [(text, float(text.attrib["font-size"])) for text in group.iter(f"{SVG}text")]
    return Cell(
        int(group.attrib["data-row"]),
        int(group.attrib["data-column"]),
        group.attrib["data-kind"],
        tuple("".join(text.itertext()) for text, _ in lines),
        group.findtext(f"{SVG}title", ""),
        min(xs),
        max(xs),
        min(ys),
        max(ys),
        corners[1][0] - corners[0][0],
        (max(_width(text, size) for text, size in lines), sum(size for _, size in lines)),
    )


def _corners(group: ET.Element) -> Iterator[tuple[float, float]]:
    """Yields the corners of a box, from the upper left one clockwise."""
    polygon = group.find(f"{SVG}polygon")
    if polygon is not None:
        for point in polygon.attrib["points"].split():
            x, y = point.split(",")
            yield float(x), float(y)
        return
    rectangle = group.find(f"{SVG}rect")
    assert rectangle is not None
    x, y, width, height = (float(rectangle.attrib[name]) for name in ("x", "y", "width", "height"))
    yield from ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def _width(text: ET.Element, size: float) -> float:
    """Returns the width of a line: 0.56 of the font's size is that of a digit and of most small letters."""
    return sum(0.56 * float(span.get("font-size", size)) * len(span.text or "") for span in text)


def text_at(drawing: Drawing) -> dict[tuple[int, int], str]:
    """Returns the first line in each cell."""
    return {(cell.row, cell.column): cell.lines[0] for cell in cells(drawing)}


def kinds_at(drawing: Drawing) -> dict[tuple[int, int], str]:
    """Returns the kind of each cell."""
    return {(cell.row, cell.column): cell.kind for cell in cells(drawing)}


def diagonal(drawing: Drawing) -> list[str]:
    """Returns the first line of each station, in order."""
    return [text for (row, column), text in sorted(text_at(drawing).items()) if row == column]


def drawn_as(drawing: Drawing, *kinds: str) -> dict[tuple[int, int], str]:
    """Returns the first line in each cell of one of `kinds`."""
    found = kinds_at(drawing)
    return {cell: said for cell, said in text_at(drawing).items() if found[cell] in kinds}
