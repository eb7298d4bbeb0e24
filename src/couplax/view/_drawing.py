"""A drawing: one SVG document."""

import os
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SVG to `path`."""
        Path(path).write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{self.svg}\n', encoding="utf-8")
