"""The figure of a benchmark."""

from __future__ import annotations

import numpy as np

from pauc_lightning.plotting import plot_timing


def test_lines_are_the_measured_times() -> None:
    figure = plot_timing([2, 8, 32], {"linear": [1.0, 4.0, 16.0], "slow": [2.0, 32.0, None]}, "Times")
    (ax,) = figure.axes
    linear, slow, *guides = ax.lines
    np.testing.assert_array_equal(linear.get_xydata(), [(2, 1), (8, 4), (32, 16)])
    np.testing.assert_array_equal(slow.get_xydata(), [(2, 2), (8, 32)])
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_title()) == ("log", "log", "Times")
    slopes = [np.diff(np.log(np.asarray(line.get_xydata())), axis=0) for line in guides]
    assert [float((slope[:, 1] / slope[:, 0]).mean()) for slope in slopes] == [1.0, 2.0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["linear", "slow"]
