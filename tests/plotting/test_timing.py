"""The figure of a benchmark."""

from __future__ import annotations

import numpy as np

from pauc_lightning.plotting import plot_timing


def test_lines_are_the_measured_times_in_milliseconds() -> None:
    lines = {
        "linear": [(2, 1.0), (8, 4.0), (32, 16.0)],
        "slow": [(2, 2.0), (8, 32.0)],
        "slow (other)": [(2, 1.0)],
    }
    figure = plot_timing({"Times": lines, "Others": {"linear": lines["linear"]}})
    ax, other = figure.axes
    linear, slow, slow_other, *guides = ax.lines
    np.testing.assert_array_equal(linear.get_xydata(), [(2, 1e3), (8, 4e3), (32, 16e3)])
    np.testing.assert_array_equal(slow.get_xydata(), [(2, 2e3), (8, 32e3)])
    assert slow.get_color() == slow_other.get_color() != linear.get_color()
    assert slow.get_linestyle() != slow_other.get_linestyle()
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_title(loc="left")) == ("log", "log", "Times")
    slopes = [np.diff(np.log(np.asarray(line.get_xydata())), axis=0) for line in guides[:2]]
    np.testing.assert_allclose([(slope[:, 1] / slope[:, 0]).mean() for slope in slopes], [1.0, 2.0])
    assert {"linear", "slow", "slow (other)"} <= {text.get_text() for text in ax.texts}
    assert other.lines[0].get_color() == linear.get_color()
