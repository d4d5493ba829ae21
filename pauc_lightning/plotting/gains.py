"""Gains over a baseline with their intervals: the summary of comparisons on several data sets and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, new_figure, tidy

MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_ROW = 0.34
"""Height of a data set's row, in inches."""


@dataclass(frozen=True)
class Gain:
    """The gain of a method over the baseline on one data set, with one model and one region.

    Args:
        data: The data set.
        panel: The panel that it is drawn in, such as the model or the region.
        method: The method.
        mean: The mean gain.
        low: The lower end of its interval.
        high: The upper end.
    """

    data: str
    panel: str
    method: str
    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of zero."""
        return self.low > 0 or self.high < 0


def plot_gains(
    gains: Sequence[Gain], baseline: str, title: str | None = None, columns: int | None = None
) -> Figure:
    """Draw a panel for each model or region, a row for each data set, a marker with its interval for each method.

    A filled marker has an interval that excludes zero. An interval that leaves the panel ends in an arrow: the panels
    are as wide as the gains, because the widest interval would hide all others.

    Args:
        gains: What to draw; panels, data sets and methods have the order of their first appearance.
        baseline: The name of the method that the gains refer to.
        title: A line above the panels.
        columns: Number of panels beside each other; None puts all of them on one line.
    """
    panels, data, methods = (
        list(dict.fromkeys(getattr(gain, name) for gain in gains)) for name in ("panel", "data", "method")
    )
    columns = min(columns or len(panels), len(panels))
    lines = -(-len(panels) // columns)
    height = (_ROW * len(data) * max(1, len(methods) * 0.55) + 0.5) * lines + 0.7
    figure = new_figure(max(3.3, 1.2 + 2.6 * columns), height)
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
    axes = list(grid.flat)
    for line in range(lines):  # each line has its own scale
        on_line = panels[line * columns : (line + 1) * columns]
        reach = reach_of([gain for gain in gains if gain.panel in on_line])
        for ax, panel in zip(grid[line], on_line, strict=False):
            _draw(ax, [gain for gain in gains if gain.panel == panel], data, methods, reach)
            ax.set_title(panel, fontsize=9, loc="left")
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    figure.supxlabel(f"gain in partial AUC over {baseline}, with its 95 % interval", fontsize=8)
    if len(methods) > 1:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper center", ncols=len(methods), frameon=False, fontsize=8
        )
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure


def reach_of(gains: Sequence[Gain]) -> tuple[float, float]:
    """The ends of the axis of gains: all means with some room, and zero."""
    means = [0.0, *(gain.mean for gain in gains)]
    room = 0.35 * (max(means) - min(means)) or 0.01
    return min(means) - room, max(means) + room


def _draw(
    ax: Axes, gains: Sequence[Gain], data: Sequence[str], methods: Sequence[str], reach: tuple[float, float]
) -> None:
    low, high = reach
    ax.axvline(0, color=EDGE_COLOUR, linewidth=0.8, zorder=1)
    for number, method in enumerate(methods):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        offset = 0.0 if len(methods) == 1 else 0.6 * (number / (len(methods) - 1) - 0.5)
        for gain in (gain for gain in gains if gain.method == method):
            row = data.index(gain.data) + offset
            ends = max(low, gain.low), min(high, gain.high)
            ax.plot(ends, (row, row), color=colour, linewidth=1.2, solid_capstyle="butt", zorder=2)
            for end, is_cut, arrow in ((ends[0], gain.low < low, "<"), (ends[1], gain.high > high, ">")):
                if is_cut:
                    ax.plot(end, row, marker=arrow, color=colour, markersize=3.5, clip_on=False, zorder=2)
            face = colour if gain.excludes_zero else "white"
            ax.plot(gain.mean, row, marker=marker, color=colour, markerfacecolor=face, markersize=5, zorder=3)
        ax.plot([], [], marker=marker, color=colour, linewidth=1.2, markersize=5, label=method)
    ax.set(xlim=reach, ylim=(len(data) - 0.5, -0.5))
    ax.set_yticks(range(len(data)), data, fontsize=8)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.2f}" if value else "0"))
    ax.tick_params(axis="x", labelsize=8)
    for row in range(1, len(data)):
        ax.axhline(row - 0.5, color="#E3E7EB", linewidth=0.5, zorder=0)
    tidy(ax)
