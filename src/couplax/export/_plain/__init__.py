"""Plain numbers only: random keys become integers, complex numbers pairs of real ones."""

from couplax.export._plain import _complex as _complex
from couplax.export._plain import _control as _control
from couplax.export._plain import _foreign as _foreign
from couplax.export._plain import _fourier as _fourier
from couplax.export._plain import _keys as _keys
from couplax.export._plain._pass import plain as plain
from couplax.export._plain._values import generator_of as generator_of
from couplax.export._plain._values import is_key as is_key
from couplax.export._plain._values import part_structs as part_structs
from couplax.export._plain._values import parted as parted
from couplax.export._plain._values import parts_of as parts_of
