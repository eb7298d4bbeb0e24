"""Where in the user's own code an equation comes from."""

from functools import cache
from pathlib import PurePath
from traceback import extract_tb
from typing import Any

import jax.extend.core as jec

_LIBRARIES = frozenset(
    {"jax", "jaxlib", "equinox", "diffrax", "optimistix", "lineax", "jaxtyping", "beartype"}
)
_HERE = str(PurePath(__file__).parent)


def where(eqn: jec.JaxprEqn) -> str:
    """Returns `file.py:line (function)` of the user's code behind `eqn`, or `an unknown place`."""
    return user_line(eqn) or "an unknown place"


def user_line(eqn: jec.JaxprEqn) -> str:
    """Returns `file.py:line (function)` of the user's code behind `eqn`; nothing where there is none."""
    frame = _user_frame(eqn)
    if frame is None:
        return ""
    return f"{PurePath(frame.file_name).name}:{frame.line_num} ({frame.function_name.rsplit('.', 1)[-1]})"


def where_raised(error: Exception) -> str:
    """Returns `file.py:line (function)` of the user's code that raised `error`, or `an unknown place`."""
    frames = [frame for frame in extract_tb(error.__traceback__) if _is_user(frame.filename)]
    if not frames:
        return "an unknown place"
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno} ({frames[-1].name})"


def has_user_line(eqn: jec.JaxprEqn) -> bool:
    """Returns whether `eqn` was traced from a line of the user's own."""
    return _user_frame(eqn) is not None


def _user_frame(eqn: jec.JaxprEqn) -> Any:
    traceback = eqn.source_info.traceback
    frames: Any = traceback.frames if traceback is not None else ()
    return next((frame for frame in frames if _is_user(frame.file_name)), None)


@cache
def _is_user(file_name: str) -> bool:
    if file_name.startswith(("<", _HERE)):
        return False
    parts = PurePath(file_name).parts
    return "site-packages" not in parts or _LIBRARIES.isdisjoint(parts)
