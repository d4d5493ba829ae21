"""Gains of many methods over a baseline as a map of coloured cells."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from pauc_lightning.plotting.gains import KEPT_START, Gain
from pauc_lightning.plotting.style import COLOURS, NotebookFigure, as_typed, new_figure

_CELL = (0.62, 0.24)
"""Width and height of a cell, in inches."""
_LETTER = 0.075
"""Width of a letter of a name, in inches."""
_SLOPE = 0.35
"""The names of data sets rise by this part of their length."""
_LEAST_WIDTH = 4.2
"""Room for the line below the panels, in inches."""
_KEPT = "°"
"""Stands beside the gain of a method that returned its start, as in the tables."""
_PALE = 0.55
"""Share of the scale up to which the text on a cell is dark."""
_BEHIND, _AHEAD = COLOURS[1], COLOURS[0]
_COLOURS = LinearSegmentedColormap.from_list("gains", [_BEHIND, "#FFFFFF", _AHEAD])


def plot_gain_map(gains: Sequence[Gain], baseline: str, title: str | None = None) -> NotebookFigure:
    """Draw a panel for each model and region, in it a row for each method and a column for each data set.

    A cell holds the mean gain, blue where the method gains and orange where it loses; a bold number has an interval
    that excludes zero, and ° marks a method that returned its start on every seed. The last column is the mean over the
    data sets, and the rows are in its order, the best first.

    Args:
        gains: What to draw; panels and data sets have the order of their first appearance.
        baseline: The name of the method that the gains refer to.
        title: A line above the panels.
    """
    panels = list(dict.fromkeys(gain.panel for gain in gains))
    by_panel = [[gain for gain in gains if gain.panel == panel] for panel in panels]
    n_rows = [len({gain.method for gain in some}) for some in by_panel]
    n_columns = max(len({gain.data for gain in some}) for some in by_panel) + 1
    methods, data = (max(len(getattr(gain, name)) for gain in gains) for name in ("method", "data"))
    figure = new_figure(
        max(_LEAST_WIDTH, 0.7 + _LETTER * max(methods, data) + _CELL[0] * n_columns),
        sum(_CELL[1] * n + 0.6 + _LETTER * _SLOPE * data for n in n_rows) + (0.6 if title else 0.35),
    )
    axes = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": n_rows})[:, 0]
    # The largest tenth of the gains has the full colour: a single outlier would make all others pale.
    scale = float(np.quantile([abs(gain.mean) for gain in gains], 0.9)) or 0.01
    for ax, panel, some in zip(axes, panels, by_panel, strict=True):
        _draw(ax, some, scale)
        ax.set_title(as_typed(panel), fontsize=9, loc="left")
    label = f"gain in partial AUC over {as_typed(baseline)}; bold: the 95 % interval excludes zero"
    if any(gain.kept_start for gain in gains):
        label += f"\n{_KEPT} {KEPT_START}"
    figure.supxlabel(label, fontsize=8)
    if title is not None:
        figure.suptitle(as_typed(title), fontsize=10)
    return figure


def _draw(ax: Axes, gains: Sequence[Gain], scale: float) -> None:
    data = list(dict.fromkeys(gain.data for gain in gains))
    means = {
        method: statistics.mean(gain.mean for gain in gains if gain.method == method)
        for method in dict.fromkeys(gain.method for gain in gains)
    }
    methods = sorted(means, key=means.__getitem__, reverse=True)
    values = np.full((len(methods), len(data) + 1), np.nan)
    sure, kept = np.zeros_like(values, dtype=bool), np.zeros_like(values, dtype=bool)
    for gain in gains:
        at = methods.index(gain.method), data.index(gain.data)
        values[at], sure[at], kept[at] = gain.mean, gain.decides, gain.kept_start
    values[:, -1] = [means[method] for method in methods]
    ax.imshow(np.ma.masked_invalid(values), cmap=_COLOURS, vmin=-scale, vmax=scale, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            ax.text(
                column,
                row,
                f"{value:+.3f}{_KEPT if kept[row, column] else ''}",
                ha="center",
                va="center",
                fontsize=7,
                weight="bold" if sure[row, column] else "normal",
                color="white" if abs(value) > _PALE * scale else "black",
            )
    ax.axvline(len(data) - 0.5, color="black", linewidth=0.8)
    ax.set_xticks(range(len(data) + 1), [*map(as_typed, data), "mean"], fontsize=8, rotation=20, ha="right")
    ax.set_yticks(range(len(methods)), list(map(as_typed, methods)), fontsize=8)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
