"""Drawings of a model."""

from ._xdsm import Drawing as Drawing
from ._xdsm import xdsm as xdsm
