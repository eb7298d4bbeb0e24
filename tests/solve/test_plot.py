"""Histories of residuals as small plots."""

import xml.etree.ElementTree as ET

import numpy as np

from couplax.solve._plot import blocks, sparkline


def heights(svg: str) -> list[float]:
    (line,) = ET.fromstring(svg).iter("polyline")
    return [float(point.split(",")[1]) for point in line.attrib["points"].split()]


def test_decades_are_steps_alike() -> None:
    assert blocks(10.0 ** -np.arange(8.0)) == "█▇▆▅▄▃▂▁"
    ordinates = heights(sparkline(10.0 ** -np.arange(8.0)))
    np.testing.assert_allclose(np.diff(ordinates), np.diff(ordinates)[0], atol=0.1)


def test_a_residual_that_hardly_moves_is_flat() -> None:
    assert blocks(np.array([2.25, 2.1, 2.0])) == "███"


def test_zero_is_lowest_and_what_is_not_finite_is_marked() -> None:
    assert blocks(np.array([1.0, 0.0])) == "█▁"
    assert blocks(np.array([1.0, np.nan, 1.0])) == "█!█"
    assert len(heights(sparkline(np.array([1.0, np.inf, 1e-3])))) == 2


def test_a_long_history_keeps_its_ends() -> None:
    plot = blocks(10.0 ** -np.linspace(0, 7, 500))
    assert (len(plot), plot[0], plot[-1]) == (32, "█", "▁")
    assert list(plot) == sorted(plot, reverse=True)


def test_one_point_is_no_plot() -> None:
    assert blocks(np.array([1.0])) == sparkline(np.array([1.0])) == blocks(np.empty(0)) == ""


def test_a_picture_tells_its_numbers_to_those_who_do_not_see_it() -> None:
    (title,) = ET.fromstring(sparkline(np.array([1.0, 1e-3]))).iter("title")
    assert "1, 0.001" in str(title.text)
