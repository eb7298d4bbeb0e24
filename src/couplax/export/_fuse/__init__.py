"""Rewrites of a graph that is written already, so that a loop runs fewer nodes; each in a module of its own.

ONNX Runtime takes half a microsecond to start a node, whatever it does. A rewrite changes no number by more
than the rounding of a sum, nor where a NaN or an infinity comes out.
"""

from collections.abc import Callable, Sequence

import onnx_ir as ir

from couplax.export._builder import Builder
from couplax.export._fuse._buffers import spare_buffers
from couplax.export._fuse._finite import rewrite_finite
from couplax.export._fuse._fold import fold_constants
from couplax.export._fuse._graphs import Editor
from couplax.export._fuse._parts import split_rows
from couplax.export._fuse._products import fuse_products
from couplax.export._fuse._rows import use_rows

REWRITES: Sequence[Callable[[Editor, ir.Graph], None]] = (
    fold_constants,
    spare_buffers,
    use_rows,
    rewrite_finite,
    fuse_products,
    split_rows,
)
"""In this order: a buffer is known by its constant places, and products of rows once vectors are rows."""


def fuse(builder: Builder, graph: ir.Graph) -> None:
    """Rewrites `graph`, which `builder` wrote, by all rewrites."""
    for rewrite in REWRITES:
        rewrite(Editor(builder), graph)
