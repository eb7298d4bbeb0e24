"""Components, names, cycles and cuts: the structure of a model, without its numbers."""

from ._component import Component as Component
from ._cuts import check_cut as check_cut
from ._cuts import choose_cut as choose_cut
from ._cuts import order as order
from ._cycle import Cycle as Cycle
from ._declare import component as component
from ._declare import output as output
from ._graph import Graph as Graph
from ._names import missing_inputs as missing_inputs
from ._names import shortened as shortened
from ._names import unknown_names as unknown_names
from ._variables import REQUIRED as REQUIRED
from ._variables import Input as Input
from ._variables import Output as Output
from ._variables import Required as Required
