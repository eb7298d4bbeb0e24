"""Programs of `export_programs.py` as graphs written by hand, with as few and as cheap nodes as we could.

A loop carries a row. `y + c k` is one `Gemm`. Lorenz' system is one product of two `Gemm`s and another
`Gemm`. What the programs test for the sake of numbers that are not finite, these graphs leave out; couplax
writes the like, and runs a loop again as JAX has it where a number is not finite.
"""

from by_hand._adaptive import tsit5 as tsit5
from by_hand._fields import STEP as STEP
from by_hand._fields import layers as layers
from by_hand._fixed import LORENZ as LORENZ
from by_hand._fixed import LORENZ_STACKED as LORENZ_STACKED
from by_hand._fixed import NETWORK as NETWORK
from by_hand._fixed import REACTION as REACTION
from by_hand._roots import circle_and_line as circle_and_line
from by_hand._roots import sellar as sellar
