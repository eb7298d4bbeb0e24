"""Components, names, cycles and cuts: the structure of a model, without its numbers."""

from ._component import Component as Component
from ._cuts import check_cut as check_cut
from ._cuts import choose_cut as choose_cut
from ._cuts import order as order
from ._cycle import Cycle as Cycle
from ._cycle import dependencies as dependencies
from ._cycle import joined as joined
from ._declare import component as component
from ._declare import rate as rate
from ._declare import residual as residual
from ._graph import Graph as Graph
from ._names import missing_inputs as missing_inputs
from ._names import shortened as shortened
from ._names import unknown_names as unknown_names
from ._node import TIME as TIME
from ._node import Kind as Kind
from ._node import Naming as Naming
from ._node import Node as Node
from ._node import Run as Run
from ._node import free_inputs as free_inputs
from ._variables import REQUIRED as REQUIRED
from ._variables import Input as Input
from ._variables import Output as Output
from ._variables import Required as Required
from ._variables import input as input
from ._variables import output as output
