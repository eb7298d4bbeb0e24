"""Code in: foreign code as differentiable JAX functions."""

from couplax.foreign._check import DerivativeReport as DerivativeReport
from couplax.foreign._check import check_derivatives as check_derivatives
from couplax.foreign._command import foreign_command as foreign_command
from couplax.foreign._differences import AbstractDifferences as AbstractDifferences
from couplax.foreign._differences import Central as Central
from couplax.foreign._differences import ComplexStep as ComplexStep
from couplax.foreign._differences import Forward as Forward
from couplax.foreign._foreign import Foreign as Foreign
from couplax.foreign._foreign import foreign as foreign
from couplax.foreign._foreign import paired as paired
from couplax.foreign._foreign_c import foreign_c as foreign_c
from couplax.foreign._foreign_ffi import foreign_ffi as foreign_ffi
from couplax.foreign._sparsity import detect_sparsity as detect_sparsity
from couplax.foreign._tally import Tally as Tally
