"""Names beside the ends of lines, in the lines' colours: a reader need not look them up in a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from pauc_lightning.plotting.print_style import SMALL

_LINE_HEIGHT = 1.25
"""Distance of two labels, in sizes of their font."""
_LEADER = 0.04
"""Length of the thin lines from the curves to their labels, in widths of the axes."""


class LineEnd(NamedTuple):
    """The end of a line that gets a label.

    Args:
        y: Where the line ends, in data coordinates.
        text: The label.
        colour: The line's colour.
        x: Where it ends if that is not at the right edge.
    """

    y: float
    text: str
    colour: str
    x: float | None = None


def label_line_ends(ax: Axes, ends: Sequence[LineEnd], size: float = SMALL) -> None:
    """Write labels to the right of the axes, as near to the lines' ends as they fit without overlap.

    Call it when the axes' limits and all other axes of the figure are final: it measures the height of the axes.

    Args:
        ax: The axes.
        ends: The lines' ends; they may be in any order, and outside the axes' limits.
        size: Font size in points.
    """
    if not ends:
        return
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    # The words take their room before the layout is computed, which fixes the height of the axes.
    texts = [
        ax.text(
            1 + _LEADER + 0.01,
            0.5,
            end.text,
            color=end.colour,
            fontsize=size,
            va="center",
            ha="left",
            transform=ax.transAxes,
        )
        for end in ends
    ]
    figure.draw_without_rendering()
    points = ax.get_window_extent().height / figure.dpi * 72
    right = ax.get_xlim()[1]
    starts = ax.transAxes.inverted().transform(
        ax.transData.transform([(right if end.x is None else end.x, end.y) for end in ends])
    )
    wanted = starts[:, 1].clip(0.0, 1.0)
    places = spread(wanted, size * _LINE_HEIGHT / points, low=0.0, high=1.0)
    for end, text, x, y, place in zip(ends, texts, starts[:, 0], wanted, places, strict=True):
        text.set_y(place)
        leader = Line2D(
            (x, 1.0, 1 + _LEADER),
            (y, y, place),
            color=end.colour,
            linewidth=0.5,
            alpha=0.5,
            clip_on=False,
            transform=ax.transAxes,
        )
        leader.set_in_layout(False)
        ax.add_artist(leader)


def spread(
    wanted: Sequence[float] | NDArray[np.float64], gap: float, low: float, high: float
) -> NDArray[np.float64]:
    """Move numbers apart as little as possible, in the sense of least squares, until they keep a distance.

    Args:
        wanted: Where they would like to be, in any order.
        gap: The smallest distance; less if they do not fit otherwise.
        low: The lowest place.
        high: The highest place.

    Returns:
        The places, in the order of ``wanted``.

    Example:
        >>> spread([0.5, 0.5, 0.9], gap=0.2, low=0.0, high=1.0).round(3).tolist()
        [0.4, 0.6, 0.9]
    """
    values = np.asarray(wanted, np.float64)
    n = len(values)
    gap = min(gap, (high - low) / max(n - 1, 1))
    order = np.argsort(values, kind="stable")
    # With the gaps taken out, the places only have to ascend: neighbours in the wrong order share their mean.
    steps = gap * np.arange(n)
    blocks: list[tuple[float, int]] = []
    for value in values[order] - steps:
        mean, count = float(value), 1
        while blocks and blocks[-1][0] > mean:
            other, others = blocks.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        blocks.append((mean, count))
    ascending = np.repeat([mean for mean, _ in blocks], [count for _, count in blocks])
    places = np.empty(n)
    places[order] = ascending.clip(low, max(low, high - gap * (n - 1))) + steps
    return places
