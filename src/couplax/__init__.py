"""couplax: turn the code you already have into models you can couple, differentiate and ship.

Wrap any code as a differentiable JAX function, couple components by name and solve their cycles, take the
result out to ONNX.
"""

from couplax._errors import CouplaxError as CouplaxError
from couplax._errors import DerivativeError as DerivativeError
from couplax._errors import ExportError as ExportError
from couplax._errors import ForeignError as ForeignError
from couplax._errors import GuessError as GuessError
from couplax._errors import MissingExtraError as MissingExtraError
from couplax._errors import MissingRuleError as MissingRuleError
from couplax._errors import ModelError as ModelError
from couplax._errors import OptimiseError as OptimiseError
from couplax._errors import SolveError as SolveError
from couplax._errors import StageError as StageError
from couplax._errors import VerificationError as VerificationError
from couplax._model import Model as Model
from couplax._struct import struct as struct
from couplax.export import VerifyReport as VerifyReport
from couplax.export import from_stablehlo as from_stablehlo
from couplax.export import onnx_session as onnx_session
from couplax.export import save_onnx as save_onnx
from couplax.export import to_onnx as to_onnx
from couplax.export import to_stablehlo as to_stablehlo
from couplax.export import to_tensorflow as to_tensorflow
from couplax.export import verify as verify
from couplax.foreign import Central as Central
from couplax.foreign import ComplexStep as ComplexStep
from couplax.foreign import DerivativeReport as DerivativeReport
from couplax.foreign import Foreign as Foreign
from couplax.foreign import Forward as Forward
from couplax.foreign import check_derivatives as check_derivatives
from couplax.foreign import detect_sparsity as detect_sparsity
from couplax.foreign import foreign as foreign
from couplax.foreign import foreign_c as foreign_c
from couplax.foreign import foreign_command as foreign_command
from couplax.foreign import foreign_ffi as foreign_ffi
from couplax.foreign import paired as paired
from couplax.graph import Component as Component
from couplax.graph import Input as Input
from couplax.graph import Output as Output
from couplax.graph import component as component
from couplax.graph import input as input
from couplax.graph import output as output
from couplax.graph import rate as rate
from couplax.graph import residual as residual
from couplax.optimise import BFGS as BFGS
from couplax.optimise import IDF as IDF
from couplax.optimise import IPOPT as IPOPT
from couplax.optimise import LBFGS as LBFGS
from couplax.optimise import MDF as MDF
from couplax.optimise import SAND as SAND
from couplax.optimise import SLSQP as SLSQP
from couplax.optimise import Optimum as Optimum
from couplax.optimise import TrustConstr as TrustConstr
from couplax.optimise import minimise as minimise
from couplax.solve import Anderson as Anderson
from couplax.solve import Bisection as Bisection
from couplax.solve import Broyden as Broyden
from couplax.solve import GaussSeidel as GaussSeidel
from couplax.solve import Integrate as Integrate
from couplax.solve import Jacobi as Jacobi
from couplax.solve import Newton as Newton
from couplax.solve import Results as Results
from couplax.stage import Staged as Staged
from couplax.stage import stage as stage
