"""A history of residuals as a small plot, on a logarithmic axis: in characters, and in SVG."""

import sys
from typing import Any

import numpy as np

_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST = 32
_WIDTH, _HEIGHT = 120.0, 26.0

History = np.ndarray[Any, Any]


def blocks(history: History) -> str:
    """Returns a character for each residual, the higher the larger; nothing where the terminal has none.

    Of a long history some are left out. What is not finite is a `!`.
    """
    heights = _heights(history)
    if len(heights) < 2 or not _shows(_BLOCKS):
        return ""
    return "".join(
        "!" if np.isnan(height) else _BLOCKS[round(height * (len(_BLOCKS) - 1))] for height in heights
    )


def _heights(history: History) -> History:
    """Returns how high each residual stands between the least and the greatest, from 0 to 1."""
    if len(history) > _MOST:
        history = history[np.linspace(0, len(history) - 1, _MOST).round().astype(int)]
    positive = history[np.isfinite(history) & (history > 0)].astype(float)
    if not positive.size:
        return np.where(np.isfinite(history), 0.0, np.nan)
    high = np.log10(positive.max())
    # The axis spans two decades at least, so that a residual that hardly moves is flat.
    low = min(np.log10(positive.min()), high - 2)
    safe = np.where(history > 0, history, positive.min()).astype(float)
    heights = (np.log10(safe) - low) / (high - low)
    # A residual of exactly zero is the lowest.
    return np.where(np.isfinite(history), np.where(history > 0, heights, 0.0), np.nan)


def _shows(text: str) -> bool:
    """Returns whether the terminal's encoding has the characters."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def sparkline(history: History) -> str:
    """Returns an SVG picture of the history, a point for each step; nothing for fewer than two."""
    heights = _heights(history)
    drawn = [(k, height) for k, height in enumerate(heights) if np.isfinite(height)]
    if len(drawn) < 2:
        return ""
    step = (_WIDTH - 8) / (len(heights) - 1)
    points = [(4 + k * step, _HEIGHT - 4 - height * (_HEIGHT - 8)) for k, height in drawn]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.8"/>' for x, y in points)
    return (
        f'<svg width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" '
        f'role="img" aria-label="residuals" style="vertical-align: middle">'
        f"<title>{_told(history)}</title>"
        f'<polyline points="{line}" fill="none" stroke="#2f62a3" stroke-width="1.3"/>'
        f'<g fill="#2f62a3">{dots}</g></svg>'
    )


def _told(history: History) -> str:
    """Returns the history in words, for a tooltip and for those who do not see the picture."""
    shown = ", ".join(f"{residual:.2g}" for residual in history[:12])
    more = f", ... {history[-1]:.2g}" if len(history) > 12 else ""
    return f"largest residual at the start and after each step, logarithmic axis: {shown}{more}"
