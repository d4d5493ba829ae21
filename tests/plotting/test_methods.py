"""The figure of a comparison."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.collections import PolyCollection

from pauc_lightning import Region
from pauc_lightning.metrics.functional import RocCurve
from pauc_lightning.plotting import MethodCurves, plot_methods

STEEP = RocCurve.from_counts(torch.tensor([0, 2]), torch.tensor([4, 0]))  # perfect
FLAT = RocCurve.from_counts(torch.tensor([1]), torch.tensor([1]))  # chance


def test_lines_are_means_over_seeds_and_bands_cover_all_seeds() -> None:
    region = Region(0.3, 0.5)
    methods = {
        "good": MethodCurves([STEEP, FLAT], [1.0, 0.5]),
        "single": MethodCurves([FLAT], [0.25]),
    }
    figure = plot_methods({region: methods, Region(0.1): {"single": methods["single"]}})
    whole, zoom, other, _ = figure.axes
    good, single, _chance = whole.lines
    x, y = np.asarray(good.get_xydata()).T
    assert (x[0], y[0]) == (0, 0)
    # At every rate: the mean of 1, the perfect curve, and the rate itself, the diagonal.
    np.testing.assert_allclose(y[1:], (1 + x[1:]) / 2, atol=1e-12)
    (band,) = (c for c in whole.collections if isinstance(c, PolyCollection))
    inside = np.asarray(band.get_paths()[0].vertices)
    at_half = inside[np.isclose(inside[:, 0], 0.5)][:, 1]
    assert (at_half.min(), at_half.max()) == pytest.approx((0.5, 1.0))
    assert [text.get_text() for text in figure.subfigs[0].legends[0].get_texts()] == [
        "good  0.7500 ± 0.3536",
        "single  0.2500",
        "chance",
    ]
    assert (zoom.get_xlim(), zoom.get_ylim()) == ((0, 0.3), (0.5, 1))
    # A method keeps its colour in the panel where another one is missing.
    assert other.lines[0].get_color() == single.get_color() != good.get_color()


def test_rates_in_a_narrow_region_are_drawn_finely() -> None:
    region = Region(0.001)
    figure = plot_methods({region: {"single": MethodCurves([FLAT], [0.0])}})
    x = np.asarray(figure.axes[0].lines[0].get_xdata())
    assert np.count_nonzero(x < 0.001) > 100


def test_the_whole_square_is_not_enlarged() -> None:
    figure = plot_methods({Region(): {"single": MethodCurves([FLAT], [0.5])}})
    assert len(figure.axes) == 1
