"""Lines of several repetitions: their mean, with a band that covers all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def draw_band(ax: Axes, x: Numbers, lines: Sequence[Numbers] | Numbers, look: dict[str, Any]) -> float:
    """Draw the mean of the lines and, behind it, the range between the lowest and the highest.

    Args:
        ax: The axes.
        x: The positions, shape ``(points,)``.
        lines: One line per repetition, shape ``(repetitions, points)``.
        look: Colour and dashes of the mean.

    Returns:
        Where the mean ends.
    """
    values = np.asarray(lines, np.float64)
    mean = values.mean(axis=0)
    ax.plot(x, mean, zorder=3, **look)
    if len(values) > 1:
        low, high = values.min(axis=0), values.max(axis=0)
        ax.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0, zorder=2)
    return float(mean[-1])
