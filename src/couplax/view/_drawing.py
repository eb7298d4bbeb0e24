"""A drawing: one SVG document."""

import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing that notebooks show.

    Attributes:
        svg: the drawing as one standalone SVG document.
    """

    svg: str

    def _repr_svg_(self) -> str:
        """Returns what a notebook shows."""
        return self.svg

    def __repr__(self) -> str:
        """Returns the drawing's title and size, not its text."""
        root = ET.fromstring(self.svg)
        title = root.findtext("{*}title", "drawing")
        return f"<{title}: SVG, {len(self.svg) / 1000:.0f} kB; `.save(path)` writes it>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SVG to `path`."""
        Path(path).write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{self.svg}\n', encoding="utf-8")
