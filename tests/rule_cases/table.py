"""The cases of every family in one table."""

from rule_cases.complex_numbers import COMPLEX, FOURIER, LINEAR_COMPLEX
from rule_cases.elementwise import CONVERSIONS, ELEMENTWISE
from rule_cases.indexing import INDEXING
from rule_cases.linear import LINEAR
from rule_cases.random import RANDOM
from rule_cases.reductions import REDUCTIONS
from rule_cases.shapes import SHAPES
from rule_cases.special import SPECIAL
from rule_cases.spectral import SPECTRAL
from rule_cases.windows import CONVOLUTIONS, WINDOWS

TABLE = (
    *ELEMENTWISE,
    *CONVERSIONS,
    *SHAPES,
    *REDUCTIONS,
    *LINEAR,
    *INDEXING,
    *RANDOM,
    *CONVOLUTIONS,
    *WINDOWS,
    *COMPLEX,
    *FOURIER,
    *LINEAR_COMPLEX,
    *SPECTRAL,
    *SPECIAL,
)
CASES = {case.name: case for case in TABLE}
