"""Newton's method on two equations, and on the cycle of Sellar's problem."""

import numpy as np
import onnx

from by_hand._graph import model_of


def circle_and_line(tolerance: float) -> onnx.ModelProto:
    """Returns where a circle meets a line, x being its squared radius and the slope; by Cramer's rule."""
    numbers = {"one": 1.0, "two": 2.0, "tolerance": tolerance, "fine": tolerance}
    return model_of(
        """(double[2] x) => (double[2] out) {
            row = Reshape (x, as_row)
            squared, slope = Split <axis = 1> (row, counts)
            against = Neg (slope)
            line = Concat <axis = 0> (one, against)
            normal = Concat <axis = 1> (against, minus_one)
            doubled = Gemm <alpha = 2.0> (against, one)
            steepness = Concat <axis = 0> (doubled, minus_two)
            at, left = Loop (most, "", begin, much) <body = step
                (int64 trip, bool goes, double[1, 2] y, double before)
                => (bool goes_on, double[1, 2] y_next, double rest) {
                circle = Gemm <transB = 1, beta = -1.0> (y, y, squared)
                along = Gemm (y, line)
                turned = Gemm (y, turn)
                first = Mul (circle, normal)
                both = Gemm (along, turned, first)
                determinant = Gemm (y, steepness)
                move = Div (both, determinant)
                y_next = Sub (y, move)
                size = Abs (y)
                scale = Gemm (tolerance, size, tolerance)
                scaled = Div (move, scale)
                all = Concat <axis = 1> (scaled, circle, along)
                weighted = Mul (all, weights)
                sizes = Abs (weighted)
                rest = ReduceMax <keepdims = 0> (sizes)
                goes_on = GreaterOrEqual (rest, unit)
            }>
            found = Less (left, unit)
            reached = Reshape (at, as_given)
            out = Where (found, reached, nan)
        }""",
        {
            **{name: np.array([[value]]) for name, value in numbers.items()},
            **{f"minus_{name}": np.array([[-numbers[name]]]) for name in ("one", "two")},
            "turn": np.array([[0.0, 2.0], [-2.0, 0.0]]),
            "weights": np.array([[1, 1, 1 / tolerance, 1 / tolerance]]),
            "begin": np.ones((1, 2)),
            "much": np.array(np.inf),
            "nan": np.array(np.nan),
            "unit": np.array(1.0),
            "most": np.array(256),
            "counts": np.array([1, 1]),
            "as_row": np.array([1, 2]),
            "as_given": np.array([2]),
        },
    )


_REST = """
    {0}_part = Mul (fifth, {1})
    {0}_y_1 = Sub (inner, {0}_part)
    {0}_size = Abs ({0}_y_1)
    {0}_root = Sqrt ({0}_size)
    {0}_y_2 = Add ({0}_root, shift)
    {0}_rest = Sub ({0}_y_2, {1})
    {0}_far = Abs ({0}_rest)
    {0}_sign = Sign ({0}_y_1)
    {0}_tenth = Mul (tenth, {0}_sign)
    {0}_share = Div ({0}_tenth, {0}_root)
    {0}_slope = Add (one, {0}_share)"""
"""What is left of the cycle's equation, and by how much it falls with `y_2`."""


def sellar(tolerance: float) -> onnx.ModelProto:
    """Returns the objective of Sellar's problem, its cycle closed by Newton's method with backtracking."""
    numbers = {"half": 0.5, "tenth": 0.1, "fifth": 0.2, "one": 1.0, "slack": 1e-4, "nan": np.nan}
    return model_of(
        f"""(double[3] x) => (double out) {{
            x_1 = Gather (x, place_0)
            z_1 = Gather (x, place_1)
            z_2 = Gather (x, place_2)
            square = Mul (z_1, z_1)
            partly = Add (square, z_2)
            inner = Add (partly, x_1)
            shift = Add (z_1, z_2)
            {_REST.format("begin", "one")}
            at, rest_at, slope_at, fraction_at, found = Loop
                (most, "", one, begin_rest, begin_slope, one, no) <body = step
                (int64 trip, bool goes, double y, double rest, double slope, double fraction, bool before)
                => (bool goes_on, double y_next, double rest_next, double slope_next, double next,
                    bool done) {{
                direction = Div (rest, slope)
                move = Mul (fraction, direction)
                trial = Add (y, move)
                {_REST.format("new", "trial")}
                size = Abs (trial)
                relative = Mul (tolerance, size)
                allowed = Add (tolerance, relative)
                done = LessOrEqual (new_far, allowed)
                slackened = Mul (slack, fraction)
                less = Sub (one, slackened)
                far = Abs (rest)
                enough = Mul (less, far)
                falls = LessOrEqual (new_far, enough)
                taken = Or (done, falls)
                y_next = Where (taken, trial, y)
                rest_next = Where (taken, new_rest, rest)
                slope_next = Where (taken, new_slope, slope)
                halved = Mul (half, fraction)
                next = Where (taken, one, halved)
                goes_on = Not (done)
            }}>
            part = Mul (fifth, at)
            y_1 = Sub (inner, part)
            x_squared = Mul (x_1, x_1)
            cost = Add (x_squared, z_2)
            costs = Add (cost, y_1)
            against = Neg (at)
            decay = Exp (against)
            objective = Add (costs, decay)
            out = Where (found, objective, nan)
        }}""",
        {
            **{name: np.array(value) for name, value in numbers.items()},
            **{f"place_{index}": np.array(index) for index in range(3)},
            "tolerance": np.array(tolerance),
            "most": np.array(100),
            "no": np.array(False),
        },
    )
