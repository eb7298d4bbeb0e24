"""The ONNX rules, a module a family; importing this fills the table."""

from couplax.export._rules import _bessel as _bessel
from couplax.export._rules import _comparison as _comparison
from couplax.export._rules import _control as _control
from couplax.export._rules import _conversion as _conversion
from couplax.export._rules import _convolution as _convolution
from couplax.export._rules import _cumulative as _cumulative
from couplax.export._rules import _division as _division
from couplax.export._rules import _eigen as _eigen
from couplax.export._rules import _elementwise as _elementwise
from couplax.export._rules import _factorisation as _factorisation
from couplax.export._rules import _functions as _functions
from couplax.export._rules import _gamma as _gamma
from couplax.export._rules import _gather as _gather
from couplax.export._rules import _incomplete as _incomplete
from couplax.export._rules import _indexing as _indexing
from couplax.export._rules import _linear as _linear
from couplax.export._rules import _orthogonal as _orthogonal
from couplax.export._rules import _philox as _philox
from couplax.export._rules import _random as _random
from couplax.export._rules import _reduction as _reduction
from couplax.export._rules import _shape as _shape
from couplax.export._rules import _sorting as _sorting
from couplax.export._rules import _spectral as _spectral
from couplax.export._rules import _wide as _wide
from couplax.export._rules import _windows as _windows
from couplax.export._rules import _zeta as _zeta
