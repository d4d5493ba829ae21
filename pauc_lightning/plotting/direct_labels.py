"""Names beside the ends of lines, in the lines' colours: a reader need not look them up in a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from pauc_lightning.plotting.fitting import fitted_names, length
from pauc_lightning.plotting.print_style import SMALL
from pauc_lightning.plotting.style import as_typed

_LINE_HEIGHT = 1.25
"""Distance of two labels, in sizes of their font."""
_WIDEST = 1.3
"""Width of a label, in inches: a column then leaves as much for the axes."""
_LEADER = 0.04
"""Length of the thin lines from the curves to their labels, in widths of the axes."""


class LineEnd(NamedTuple):
    """The end of a line that gets a label.

    Args:
        y: Where the line ends, in data coordinates.
        text: The label: a name that people may have chosen.
        colour: The line's colour.
        x: Where it ends if that is not at the right edge.
        value: A number that follows the name, and is not shortened.
    """

    y: float
    text: str
    colour: str
    x: float | None = None
    value: str = ""


def label_line_ends(ax: Axes, ends: Sequence[LineEnd], size: float = SMALL) -> None:
    """Write labels to the right of the axes, as near to the lines' ends as they fit without overlap.

    Labels that would leave too little room for the axes have two lines, or one shorter line if there are many.

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
    labels = _labels(ends, size, lines=2)
    texts = [
        ax.text(
            1 + _LEADER + 0.01,
            0.5,
            label,
            color=end.colour,
            fontsize=size,
            va="center",
            ha="left",
            transform=ax.transAxes,
        )
        for end, label in zip(ends, labels, strict=True)
    ]
    figure.draw_without_rendering()
    points = ax.get_window_extent().height / figure.dpi * 72
    heights = _heights(labels, size)
    if heights.sum() > points and any("\n" in label for label in labels):
        labels = _labels(ends, size, lines=1)
        for text, label in zip(texts, labels, strict=True):
            text.set_text(label)
        figure.draw_without_rendering()
        heights = _heights(labels, size)
    right = ax.get_xlim()[1]
    starts = ax.transAxes.inverted().transform(
        ax.transData.transform([(right if end.x is None else end.x, end.y) for end in ends])
    )
    wanted = starts[:, 1].clip(0.0, 1.0)
    beyond = min(0.5, (float(heights.max()) - size * _LINE_HEIGHT) / 2 / points)
    places = spread(wanted, heights / points, low=beyond, high=1.0 - beyond)
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


def _labels(ends: Sequence[LineEnd], size: float, lines: int) -> list[str]:
    """The labels, as typed; those that are too wide are broken into lines and shortened."""
    whole = [f"{end.text} {end.value}".rstrip() for end in ends]
    if all(length(label, size) <= _WIDEST for label in whole):
        return list(map(as_typed, whole))
    is_beside = lines == 1
    room = _WIDEST - max(length(f"x {end.value}", size) if is_beside and end.value else 0.0 for end in ends)
    has_value = any(end.value for end in ends)
    names = fitted_names([end.text for end in ends], room, size, 1 if has_value else lines)
    between = " " if is_beside else "\n"
    return [
        as_typed(
            label if length(label, size) <= _WIDEST else f"{names[end.text]}{between}{end.value}".rstrip()
        )
        for end, label in zip(ends, whole, strict=True)
    ]


def _heights(labels: Sequence[str], size: float) -> NDArray[np.float64]:
    """The heights of labels with the room around them, in points."""
    return np.array([size * _LINE_HEIGHT * (1 + label.count("\n")) for label in labels])


def spread(
    wanted: Sequence[float] | NDArray[np.float64],
    gap: float | NDArray[np.float64],
    low: float,
    high: float,
) -> NDArray[np.float64]:
    """Move numbers apart as little as possible, in the sense of least squares, until they keep a distance.

    Args:
        wanted: Where they would like to be, in any order.
        gap: The smallest distance; less if they do not fit otherwise. With one for each number, the smallest distance
            of two neighbours is the mean of theirs.
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
    order = np.argsort(values, kind="stable")
    gaps = np.broadcast_to(np.asarray(gap, np.float64), n)[order]
    between = (gaps[1:] + gaps[:-1]) / 2
    between = between * min(1.0, (high - low) / max(float(between.sum()), 1e-300))
    # With the gaps taken out, the places only have to ascend: neighbours in the wrong order share their mean.
    steps = np.concatenate([[0.0], np.cumsum(between)])
    blocks: list[tuple[float, int]] = []
    for value in values[order] - steps:
        mean, count = float(value), 1
        while blocks and blocks[-1][0] > mean:
            other, others = blocks.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        blocks.append((mean, count))
    ascending = np.repeat([mean for mean, _ in blocks], [count for _, count in blocks])
    places = np.empty(n)
    places[order] = ascending.clip(low, max(low, high - steps[-1])) + steps
    return places
