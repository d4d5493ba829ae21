"""The figure of the advice: gains with their intervals, and the gap between the parts."""

from __future__ import annotations

import statistics

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pauc_lightning.advice.evidence import Evidence
from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, new_figure, tidy

_PARTS = ("train", "validation", "test")


def plot_advice(evidence: Evidence, title: str) -> Figure:
    """Draw the gains over cross-entropy on the left and every method's values on the three parts on the right.

    Args:
        evidence: What was measured.
        title: The title, such as the first words of the advice.

    Returns:
        A figure that is not registered with pyplot; a notebook shows it.
    """
    rows = len(evidence.methods) + 1
    figure = new_figure(9.6, 1.6 + 0.55 * rows)
    figure.suptitle(title, fontsize=11)
    left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.0])
    _draw_gains(left, evidence)
    _draw_parts(right, evidence)
    return figure


def _draw_gains(ax: Axes, evidence: Evidence) -> None:
    ax.axvline(0.0, color=EDGE_COLOUR, linewidth=1)
    for row, of in enumerate(evidence.methods):
        gains = evidence.gains(of)
        interval = evidence.interval(of)
        ax.plot(gains, [row + 0.2] * len(gains), "o", color=EDGE_COLOUR, markersize=4, fillstyle="none")
        if interval is not None:
            ax.plot([interval.low, interval.high], [row, row], color=COLOURS[0], linewidth=2.5)
        ax.plot([statistics.mean(gains)], [row], "o", color=COLOURS[0], markersize=7)
    ax.set_yticks(range(len(evidence.methods)), [of.method for of in evidence.methods])
    ax.set_ylim(len(evidence.methods) - 0.5, -0.5)
    ax.set_xlabel(f"gain over {evidence.baseline.method} on the test part, {evidence.region.title}")
    ax.set_title("Gain: mean and 95 % interval; below it each split", fontsize=10)
    tidy(ax)


def _draw_parts(ax: Axes, evidence: Evidence) -> None:
    everyone = (evidence.baseline, *evidence.methods)
    markers = dict(zip(_PARTS, ("^", "s", "o"), strict=True))
    for row, of in enumerate(everyone):
        values = {part: statistics.mean(getattr(of, part)) for part in _PARTS}
        ax.plot(
            [min(values.values()), max(values.values())], [row, row], color="#C9D1DA", linewidth=2, zorder=1
        )
        for number, part in enumerate(_PARTS):
            label = part if row == 0 else None
            ax.plot([values[part]], [row], markers[part], color=COLOURS[number], markersize=7, label=label)
    ax.set_yticks(range(len(everyone)), [of.method for of in everyone])
    ax.set_ylim(len(everyone) - 0.5, -0.5)
    ax.set_xlabel(evidence.region.title)
    ax.set_title("Training, validation and test part: a wide gap is overfitting", fontsize=10)
    ax.legend(fontsize=8, loc="best", frameon=False)
    tidy(ax)
