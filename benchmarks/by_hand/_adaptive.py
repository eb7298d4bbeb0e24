"""Steps of the method of Tsitouras, each as long as its error allows."""

import numpy as np
import onnx

from by_hand._fields import LORENZ_MATRICES, lorenz
from by_hand._graph import Arrays, model_of


def tsit5(tableau: list[list[float]], *, end: float, step: float, tolerance: float) -> onnx.ModelProto:
    """Returns the solve of Lorenz' system from 0 to `end`.

    Args:
        tableau: the weights of each stage behind the first, then those of the error; the last stage is the
            next step's first.
        step: how long the first step is.
        tolerance: the relative and the absolute one.
    """
    return model_of(
        f"""(double[3] start) => (double[3] out) {{
            begin = Reshape (start, as_row){lorenz("begin", "slope")}
            at_end, y_end, k_end, to_end = Loop (most, "", none, begin, slope, step) <body = step
                (int64 trip, bool goes, double at, double[1, 3] y, double[1, 3] k_1, double to)
                => (bool goes_on, double at_next, double[1, 3] y_next, double[1, 3] k_next, double to_next) {{
                {_stages(tableau)}
                {_control(len(tableau))}
            }}>
            out = Reshape (y_end, as_given)
        }}""",
        _arrays(tableau, end, step, tolerance),
    )


def _stages(tableau: list[list[float]]) -> str:
    """Returns the nodes of all stages: what they read of the slopes is one product each."""
    names = ", ".join(f"a_{stage}" for stage in range(2, len(tableau) + 2))
    lines = [
        "h = Sub (to, at)",
        "weights = Mul (h, tableau)",
        f"{names} = Split <axis = 1> (weights, counts)",
    ]
    for stage in range(2, len(tableau) + 1):
        lines += [_slopes(stage - 1), f"y_{stage} = Gemm (a_{stage}, {_all(stage - 1)}, y)"]
        lines += [lorenz(f"y_{stage}", f"k_{stage}")]
    return "\n".join([*lines, _slopes(len(tableau))])


def _slopes(count: int) -> str:
    """Returns the node that puts the slopes of `count` stages one below the other."""
    return f"all_{count} = Concat <axis = 0> ({_all(count - 1)}, k_{count})" if count > 1 else ""


def _all(count: int) -> str:
    return "k_1" if count == 1 else f"all_{count}"


def _control(last: int) -> str:
    """Returns the nodes that take or leave a step, and choose the next."""
    return f"""
        error = MatMul (a_{last + 1}, all_{last})
        before = Abs (y)
        after = Abs (y_{last})
        size = Max (before, after)
        scale = Gemm (relative, size, absolute)
        scaled = Div (error, scale)
        squares = ReduceSumSquare <keepdims = 0> (scaled)
        kept = Less (squares, three)
        power = Pow (squares, exponent)
        wanted = Mul (safety, power)
        least = Where (kept, one, fifth)
        raised = Max (least, wanted)
        factor = Min (raised, ten)
        next_h = Mul (h, factor)
        y_next = Where (kept, y_{last}, y)
        k_next = Where (kept, k_{last}, k_1)
        at_next = Where (kept, to, at)
        aim = Add (at_next, next_h)
        to_next = Min (aim, end)
        goes_on = Less (at_next, end)"""


def _arrays(tableau: list[list[float]], end: float, step: float, tolerance: float) -> Arrays:
    exponent = -0.1
    numbers = {"none": 0.0, "end": end, "step": step, "three": 3.0, "exponent": exponent, "one": 1.0}
    numbers |= {"safety": 0.9 * 3.0**-exponent, "fifth": 0.2, "ten": 10.0}
    counts = [len(row) for row in tableau]
    return {
        **{name: array.astype(np.float64) for name, array in LORENZ_MATRICES.items()},
        **{name: np.array(value) for name, value in numbers.items()},
        "linear": np.array([[-10, 0, 0], [10, -1, 0], [0, 0, -8 / 3]]),
        "tableau": np.array([[weight for row in tableau for weight in row]]),
        "counts": np.array(counts),
        "relative": np.array([[tolerance]]),
        "absolute": np.array([[tolerance]]),
        "most": np.array(4096),
        "as_row": np.array([1, 3]),
        "as_given": np.array([3]),
    }
