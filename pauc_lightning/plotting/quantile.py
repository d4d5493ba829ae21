"""Which share of the negatives a smoothed objective selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pauc_lightning.plotting.bands import Numbers
from pauc_lightning.plotting.direct_labels import LineEnd, label_line_ends
from pauc_lightning.plotting.print_style import SMALL, in_print_style, print_figure
from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, REGION_COLOUR, tidy


@dataclass(frozen=True)
class Selection:
    """The scores of the negatives, and the lowest ones that objectives select.

    Args:
        scores: The scores, shape ``(n,)``.
        lowest: The lowest selected scores by their labels, such as ``κ = 2``; the first is the one that is meant.
    """

    scores: Numbers
    lowest: Mapping[str, float]


@dataclass(frozen=True)
class Shares:
    """The share of the negatives above the threshold, by the setting that smooths the selection.

    Args:
        label: The setting's name and symbol, for the axis.
        settings: Its values from left to right, towards exact selection, shape ``(points,)``.
        shares: For each share that is meant, the one that is selected, shape ``(points,)``.
        marked: Ranges of the setting that are marked, by their names; a range may be a single value.
    """

    label: str
    settings: Numbers
    shares: Mapping[float, Numbers]
    marked: Mapping[str, tuple[float, float]]


@in_print_style
def plot_quantile(selection: Selection, panels: Sequence[Shares]) -> Figure:
    """Draw the scores with the lowest ones that are selected, and below for each setting the share that is selected.

    Args:
        selection: The scores of the negatives.
        panels: The shares; dashed lines are the shares that are meant.

    Returns:
        A figure of a column's width, not registered with pyplot; a notebook shows it.
    """
    figure = print_figure(0.2 + 1.5 * (1 + len(panels)))
    top, *axes = figure.subplots(1 + len(panels), 1)
    _draw_selection(top, selection)
    ends = [_draw_shares(ax, panel) for ax, panel in zip(axes, panels, strict=True)]
    for ax, of_panel in zip(axes, ends, strict=True):
        label_line_ends(ax, of_panel)
    return figure


def _draw_selection(ax: Axes, selection: Selection) -> None:
    edges = np.linspace(0.0, 1.0, 61)
    counts, _ = np.histogram(selection.scores, edges)
    density = counts / len(selection.scores) / np.diff(edges)
    meant = next(iter(selection.lowest.values()))
    ax.stairs(density, edges, fill=True, color=REGION_COLOUR)
    ax.stairs(np.where(edges[:-1] >= meant, density, 0.0), edges, fill=True, color=COLOURS[0], alpha=0.35)
    peak = float(density.max())
    by_score = sorted(selection.lowest.items(), key=lambda item: item[1])
    for number, (name, score) in enumerate(by_score):
        height = peak * (1.0 - 0.17 * number)
        colour = "black" if score == meant else COLOURS[1 + number % (len(COLOURS) - 2)]
        ax.plot([score, score], [0, height], color=colour, linewidth=1.0)
        ax.annotate(
            name,
            (score, height),
            xytext=(3, 0),
            textcoords="offset points",
            color=colour,
            fontsize=SMALL,
            va="top",
        )
    ax.set(xlim=(0.0, 1.0), ylim=(0, peak * 1.05), yticks=[])
    ax.set_xlabel("Score of a negative, and the lowest that is selected")
    ax.set_ylabel("Density")
    tidy(ax)


def _draw_shares(ax: Axes, panel: Shares) -> list[LineEnd]:
    ends = []
    for name, (low, high) in panel.marked.items():
        if low < high:
            ax.axvspan(low, high, color=REGION_COLOUR, linewidth=0, zorder=0)
        else:
            ax.axvline(low, color=EDGE_COLOUR, linewidth=0.7, zorder=0)
        ax.annotate(
            name,
            (low, 1.0),
            xycoords=ax.get_xaxis_transform(),
            xytext=(2, -1),
            textcoords="offset points",
            fontsize=SMALL,
            color=EDGE_COLOUR,
            va="top",
        )
    for number, (meant, selected) in enumerate(panel.shares.items()):
        colour = COLOURS[number]
        ax.axhline(meant, color=colour, linewidth=0.7, linestyle=(0, (3, 2)))
        ax.plot(panel.settings, selected, color=colour)
        ends.append(LineEnd(float(selected[-1]), f"β = {meant:g}", colour))
    ax.set_xscale("log")
    highest = max(float(selected.max()) for selected in panel.shares.values())
    ax.set(xlim=(float(panel.settings[0]), float(panel.settings[-1])), ylim=(0, 1.2 * highest))
    ax.set_xlabel(panel.label)
    ax.set_ylabel("Selected, β̃")
    tidy(ax)
    return ends
