"""The table of programs that go out: Diffrax, Optimistix, Lineax and couplax's own models."""

from programs import (
    _couplax,
    _derivatives,
    _events,
    _explicit,
    _implicit,
    _lineax,
    _neural,
    _optimistix,
    _saves,
    _stochastic,
)
from programs._program import Program as Program
from programs._program import in_dtype as in_dtype

FAMILIES = {
    "explicit": _explicit.PROGRAMS,
    "implicit": _implicit.PROGRAMS,
    "stochastic": _stochastic.PROGRAMS,
    "saves": _saves.PROGRAMS,
    "events": _events.PROGRAMS,
    "neural": _neural.PROGRAMS,
    "derivatives": _derivatives.PROGRAMS,
    "optimistix": _optimistix.PROGRAMS,
    "lineax": _lineax.PROGRAMS,
    "couplax": _couplax.PROGRAMS,
}

PROGRAMS = tuple(program for family in FAMILIES.values() for program in family)
