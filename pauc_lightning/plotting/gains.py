"""Gains over a baseline with their intervals: the summary of comparisons on several data sets and models."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import AutoMinorLocator, FuncFormatter, MaxNLocator

from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, as_typed, new_figure, tidy

MARKERS = ("o", "s", "D", "^", "v", "P", "p")
ARROWS = ("<", ">")
"""The ends of intervals that leave the panel."""
DOTTED = (0.0, (0.9, 0.9))
"""The dashes of an interval whose method returned its start."""
KEPT_START = "start kept on every seed, not due to the loss"
_MOST_DIGITS = 5
"""Digits behind the point of a mark of the axis; smaller gains are written with an exponent."""
_ROW = 0.34
"""Height of a data set's row, in inches."""
_BETWEEN = 0.7
"""The room between two rows, as a share of the height of a method."""
_WIDE = 4
"""An interval is cut if it is wider than this many times the median width."""


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
        kept_start: Whether the method returned the model that it started from on every seed, so that the gain says
            nothing about its loss.
    """

    data: str
    panel: str
    method: str
    mean: float
    low: float
    high: float
    kept_start: bool = field(default=False, kw_only=True)

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of zero."""
        return self.low > 0 or self.high < 0

    @property
    def decides(self) -> bool:
        """Whether the method is ahead or behind: the interval excludes zero, and the gain is that of its loss."""
        return self.excludes_zero and not self.kept_start


@dataclass(frozen=True)
class Look:
    """The colour and the marker of a method."""

    colour: str
    marker: str


def looks_of(methods: Sequence[str]) -> dict[str, Look]:
    """Give each method a colour and a marker of its own; 49 methods are distinguishable."""
    n = len(MARKERS)
    return {
        method: Look(COLOURS[number % len(COLOURS)], MARKERS[(number + number // n) % n])
        for number, method in enumerate(methods)
    }


def handles_of(looks: Mapping[str, Look], size: float) -> list[Line2D]:
    """The entries of a legend: a marker on its interval, for each method."""
    return [
        Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            linewidth=1.2,
            markersize=size,
            label=as_typed(method),
        )
        for method, look in looks.items()
    ]


def plot_gains(
    gains: Sequence[Gain], baseline: str, title: str | None = None, columns: int | None = None
) -> Figure:
    """Draw a panel for each model or region, a row for each data set, a marker with its interval for each method.

    A filled marker has an interval that excludes zero. A dotted interval belongs to a method that returned its start on
    every seed; its marker is hollow. An interval that leaves the panel ends in an arrow: a few very
    wide ones are cut, because they would hide all others.

    Args:
        gains: What to draw; panels, data sets and methods have the order of their first appearance.
        baseline: The name of the method that the gains refer to.
        title: A line above the panels.
        columns: Number of panels beside each other; None puts all of them on one line.
    """
    panels, data, methods = (
        list(dict.fromkeys(getattr(gain, name) for gain in gains)) for name in ("panel", "data", "method")
    )
    looks = looks_of(methods)
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
            draw_gains(ax, [gain for gain in gains if gain.panel == panel], data, looks, reach)
            ax.tick_params(labelsize=8)
            ax.set_title(as_typed(panel), fontsize=9, loc="left")
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    label = f"gain in partial AUC over {as_typed(baseline)}, with its 95 % interval"
    if any(gain.kept_start for gain in gains):
        label += f"\ndotted: {KEPT_START}"
    figure.supxlabel(label, fontsize=8)
    if len(methods) > 1:
        figure.legend(
            handles=handles_of(looks, 5),
            loc="outside upper center",
            ncols=len(methods),
            frameon=False,
            fontsize=8,
        )
    if title is not None:
        figure.suptitle(as_typed(title), fontsize=10)
    return figure


def reach_of(gains: Sequence[Gain]) -> tuple[float, float]:
    """The ends of the axis of gains: zero and all intervals, with some room; intervals far wider than most are cut."""
    widths = [gain.high - gain.low for gain in gains if gain.high > gain.low]
    longest = _WIDE * statistics.median_low(widths) / 2 if widths else 0.0
    low = min([0.0, *(min(gain.mean, max(gain.low, gain.mean - longest)) for gain in gains)])
    high = max([0.0, *(max(gain.mean, min(gain.high, gain.mean + longest)) for gain in gains)])
    room = 0.06 * (high - low) or 0.01
    return low - room, high + room


def draw_gains(
    ax: Axes,
    gains: Sequence[Gain],
    data: Sequence[str],
    looks: Mapping[str, Look],
    reach: tuple[float, float],
    size: float = 5,
    shown: Mapping[str, str] | None = None,
) -> None:
    """Draw one panel.

    Args:
        ax: Where to draw.
        gains: The panel's gains.
        data: The rows, from the top.
        looks: The methods in the order in which they stand below each other in a row.
        reach: The ends of the axis of gains.
        size: Size of the markers, in points.
        shown: What is written for each row; None for its name.
    """
    ax.axvline(0, color=EDGE_COLOUR, linewidth=0.8, zorder=1)
    for number, (method, look) in enumerate(looks.items()):
        offset = (number - (len(looks) - 1) / 2) / (len(looks) + _BETWEEN)
        for gain in gains:
            if gain.method == method:
                _draw_gain(ax, gain, data.index(gain.data) + offset, look, reach, size)
    ax.set(xlim=reach, ylim=(len(data) - 0.5, -0.5))
    ax.set_yticks(range(len(data)), [as_typed((shown or {}).get(name, name)) for name in data])
    for row in range(1, len(data)):
        ax.axhline(row - 0.5, color="#E3E7EB", linewidth=0.5, zorder=0)
    _mark_gains(ax)
    tidy(ax)


def _draw_gain(ax: Axes, gain: Gain, row: float, look: Look, reach: tuple[float, float], size: float) -> None:
    low, high = reach
    ends = max(low, gain.low), min(high, gain.high)
    ax.plot(
        ends,
        (row, row),
        color=look.colour,
        linewidth=1.2,
        linestyle=DOTTED if gain.kept_start else "-",
        solid_capstyle="butt",
        zorder=2,
    )
    for end, arrow, is_cut in zip(reach, ARROWS, (gain.low < low, gain.high > high), strict=True):
        if is_cut:
            ax.plot(end, row, marker=arrow, color=look.colour, markersize=0.7 * size, clip_on=False, zorder=2)
    face = look.colour if gain.decides else "white"
    ax.plot(
        gain.mean, row, marker=look.marker, color=look.colour, markerfacecolor=face, markersize=size, zorder=3
    )


def _mark_gains(ax: Axes) -> None:
    """Set ticks at round numbers, with their sign and all of their digits."""
    locator = MaxNLocator(4, steps=[1, 2, 3, 4, 5, 6, 8, 10])
    first, second, *_ = locator.tick_values(*ax.get_xlim())
    digits = max(2, -math.floor(math.log10(second - first) + 1e-9))
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_minor_locator(AutoMinorLocator(2))
    ax.tick_params(axis="x", which="minor", length=1.5, width=0.4)
    form = f"+.{digits}f" if digits <= _MOST_DIGITS else "+.3g"

    def written(value: float, _: object) -> str:
        return f"{value:{form}}".replace("-", "\u2212") if abs(value) > 1e-6 * (second - first) else "0"

    ax.xaxis.set_major_formatter(FuncFormatter(written))
