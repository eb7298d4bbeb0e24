"""Taking a function out: to ONNX, without JAX where it runs.

Importing this loads none of the packages of the extra `onnx`; the first export does.
"""

from couplax.export import _rules as _rules
from couplax.export._context import Context as Context
from couplax.export._from_stablehlo import StableHLO as StableHLO
from couplax.export._from_stablehlo import from_stablehlo as from_stablehlo
from couplax.export._onnx_session import onnx_session as onnx_session
from couplax.export._report import VerifyReport as VerifyReport
from couplax.export._table import ONNX_RULES as ONNX_RULES
from couplax.export._table import rule_for as rule_for
from couplax.export._to_onnx import save_onnx as save_onnx
from couplax.export._to_onnx import to_onnx as to_onnx
from couplax.export._to_onnx import verify as verify
from couplax.export._to_stablehlo import to_stablehlo as to_stablehlo
from couplax.export._to_tensorflow import save_tensorflow as save_tensorflow
from couplax.export._to_tensorflow import to_tensorflow as to_tensorflow
