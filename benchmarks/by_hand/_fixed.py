"""Steps of one length by the classical Runge-Kutta method."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from by_hand._fields import (
    LORENZ_MATRICES,
    NETWORK_ARRAYS,
    REACTION_ARRAYS,
    STEP,
    lorenz,
    network,
    number,
    reaction,
)
from by_hand._graph import Arrays, model_of

WEIGHTS = {"half": number(STEP / 2), "whole": number(STEP), "two": number(2), "sixth": number(STEP / 6)}


def _rk4(slope: Callable[[str, str], str]) -> str:
    return f"""{slope("y", "k_1")}
        y_2 = Gemm (half, k_1, y){slope("y_2", "k_2")}
        y_3 = Gemm (half, k_2, y){slope("y_3", "k_3")}
        y_4 = Gemm (whole, k_3, y){slope("y_4", "k_4")}
        sum_2 = Gemm (two, k_2, k_1)
        sum_3 = Gemm (two, k_3, sum_2)
        sum_4 = Add (sum_3, k_4)
        next = Gemm (sixth, sum_4, y)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """A loop of Runge-Kutta steps.

    Attributes:
        slope: from the names of a row and of its slope to the nodes that compute it.
        arrays: the constants that these nodes read.
        stacked: whether it gives all steps, not the last alone.
    """

    slope: Callable[[str, str], str]
    size: int
    trips: int
    arrays: Arrays = field(default_factory=dict[str, Any])
    stacked: bool = False

    def model(self) -> onnx.ModelProto:
        """Returns the model."""
        given = "all" if self.stacked else "end"
        text = f"""
        (float[{self.size}] start) => (float[{"N, " * self.stacked}{self.size}] out) {{
            begin = Reshape (start, as_row)
            end{", all" * self.stacked} = Loop (trips, "", begin) <body = step
                (int64 trip, bool goes, float[1, {self.size}] y)
                => (bool goes_on, float[1, {self.size}] next{", float[1, n] kept" * self.stacked}) {{
                {_rk4(self.slope)}
                goes_on = Identity (goes)
                {"kept = Identity (next)" * self.stacked}
            }}>
            out = Reshape ({given}, as_given)
        }}"""
        shape = [-1, self.size] if self.stacked else [self.size]
        ends = {
            "trips": np.array(self.trips),
            "as_row": np.array([1, self.size]),
            "as_given": np.array(shape),
        }
        return model_of(text, {**WEIGHTS, **self.arrays, **ends})


LORENZ = ByHand(slope=lorenz, size=3, trips=1000, arrays=LORENZ_MATRICES)
LORENZ_STACKED = ByHand(slope=lorenz, size=3, trips=1000, arrays=LORENZ_MATRICES, stacked=True)
REACTION = ByHand(slope=reaction, size=1000, trips=1000, arrays=REACTION_ARRAYS)
NETWORK = ByHand(slope=network, size=2, trips=100, arrays=NETWORK_ARRAYS)
