"""Components, names, cycles and cuts: the structure of a model, without its numbers."""

from ._component import REQUIRED as REQUIRED
from ._component import Component as Component
from ._component import Input as Input
from ._component import Output as Output
from ._component import Required as Required
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
