"""Drawings of a model."""

from ._drawing import Drawing as Drawing
from ._driver import Driver as Driver
from ._matrix import matrix as matrix
from ._xdsm import xdsm as xdsm
